"""Spark started by us: on this machine, silent, and gone with the last engine that needs it."""

import os
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from typing import Any

from discreet.engines.base.execution import check_process, silently
from discreet.engines.spark.silence import quiet
from discreet.errors import PolicyError

_SETTINGS = {
    "spark.master": "local[*]",
    "spark.app.name": "discreet",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Failed tasks are logged with the cell that they failed on.
    "spark.log.level": "OFF",
    "spark.eventLog.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.filesourceTableRelationCacheSize": "0",
}


_SECONDS_TO_END = 30


class LocalSpark:
    """The one Spark that a process can have, for as long as an engine needs it."""

    def __init__(self) -> None:
        self._lock = threading.RLock()  # an engine that nobody closed may be collected while it is held
        self._users = 0
        self._process = os.getpid()
        self._context: Any = None
        self._gateway: Any = None
        self._folder = ""

    def session(self) -> Any:
        """A new session, with views and settings of its own. Each must be given back."""
        from pyspark.sql import SparkSession

        with self._lock:
            if self._users:
                check_process(self._process)
            self._users += 1
            try:
                if self._users == 1:
                    self._process = os.getpid()
                    self._start()
                opened = silently(lambda: SparkSession(self._context).newSession())
                if opened is None:
                    raise PolicyError(
                        "The Spark of this process was stopped by something else.",
                        remedy="Close everything that uses it, and open the policy again.",
                    )
            except BaseException:
                self.give_back()
                raise
            return opened

    def give_back(self) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._stop()

    def _start(self) -> None:
        from pyspark import SparkContext

        if SparkContext._active_spark_context is not None:
            raise PolicyError(
                "This process has a Spark session already, and there can be only one.",
                remedy="Hand it in, with sources such as spark://session#visits, or stop it first.",
            )
        java = Path(os.environ["JAVA_HOME"], "bin", "java") if os.environ.get("JAVA_HOME") else "java"
        if shutil.which(java) is None:
            raise PolicyError(
                "Spark needs Java, and there is none.",
                remedy="Install Java 17 or later, such as openjdk-17-jre-headless; or set JAVA_HOME to it.",
            )
        self._folder = tempfile.mkdtemp(prefix="discreet-spark-")
        # In a thread, or Spark would take over Ctrl-C, and stop everybody's questions.
        starting = threading.Thread(target=lambda: silently(self._launch))
        starting.start()
        starting.join()
        if self._context is None:
            raise PolicyError(
                "Spark does not start.",
                remedy="Check that “java -version” is 17 or later, and SPARK_HOME if it is set.",
            )

    def _launch(self) -> None:
        from pyspark import SparkConf, SparkContext
        from pyspark.java_gateway import launch_gateway

        conf = SparkConf(loadDefaults=False)
        for name, value in _SETTINGS.items():
            conf.set(name, value)
        conf.set("spark.local.dir", self._folder)
        conf.set("spark.sql.warehouse.dir", f"{self._folder}/warehouse")
        with quiet():
            nowhere = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            if SparkContext._gateway is None:
                self._gateway = launch_gateway(conf, nowhere)
            self._context = SparkContext(gateway=self._gateway, conf=conf)

    def _stop(self) -> None:
        """Ends the JVM too, if it was started here: it holds memory, and its output goes nowhere."""
        from pyspark import SparkContext
        from pyspark.sql import SparkSession

        context, self._context = self._context, None
        gateway, self._gateway = self._gateway, None
        with quiet():
            if context is not None:
                silently(lambda: SparkSession(context).stop())
            if gateway is not None:
                SparkContext._gateway = SparkContext._jvm = None
                silently(gateway.shutdown)
                silently(gateway.proc.stdin.close)
                silently(lambda: gateway.proc.wait(_SECONDS_TO_END))
                gateway.proc.kill()
        shutil.rmtree(self._folder, ignore_errors=True)


local_spark = LocalSpark()
