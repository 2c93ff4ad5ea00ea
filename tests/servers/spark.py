"""A real Spark for the tests, on one core of this machine."""

import shutil
from contextlib import contextmanager

from tests.servers import missing

INSTALL = "apt-get install openjdk-17-jre-headless"


@contextmanager
def running_spark(folder):
    """A session whose files are in the folder; stopped at the end."""
    if shutil.which("java") is None:
        missing("Java 17", INSTALL)
    from pyspark.sql import SparkSession

    settings = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.memory": "2g",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.sql.session.timeZone": "UTC",
    }
    builder = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("OFF")
    yield session
    session.stop()
