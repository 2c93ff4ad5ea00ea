"""Settings for all tests: timings are never a reason to fail. And servers, one for each worker of pytest."""

import atexit
import gc
import importlib.util
import os
import shutil
import sys
from pathlib import Path

import pytest
from hypothesis import settings

from discreet.engines.spark.session import local_session
from discreet.engines.spark.silence import load_pyspark
from tests.servers import missing
from tests.servers.postgres import running_postgres
from tests.slow import SLOW

# Some virtual machines announce matrix units that they do not have, and torch would end by using them.
os.environ.setdefault("ONEDNN_MAX_CPU_ISA", "AVX512_CORE_BF16")

# Tests write to disk, and wait for it, all the time. In memory that takes nothing.
MEMORY, ROOM = Path("/dev/shm"), 4 << 30  # noqa: S108
if MEMORY.is_dir() and shutil.disk_usage(MEMORY).free > ROOM:
    os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", str(MEMORY))

# No test asks a service that whoever runs it is signed in to.
os.environ["XDG_CONFIG_HOME"] = os.devnull
os.environ.pop("DISCREET_TOKEN", None)

settings.register_profile("discreet", deadline=None)
settings.load_profile("discreet")


@atexit.register
def _end_silently():
    """DuckDB's binding prints a page about what Python had not yet let go of, after everything else."""
    sys.stderr.flush()
    os.dup2(os.open(os.devnull, os.O_WRONLY), 2)


def is_slow(item):
    path = item.path.relative_to(item.config.rootpath / "tests").as_posix()
    kind = getattr(item, "callspec", None) and item.callspec.params.get("kind")
    needs_a_server = kind == "postgres" or {"postgres_server", "spark"} & set(item.fixturenames)
    return bool(needs_a_server) or path.startswith(tuple(SLOW))


@pytest.hookimpl(tryfirst=True)
def pytest_itemcollected(item):
    if is_slow(item):
        item.add_marker("slow")


@pytest.hookimpl(wrapper=True)
def pytest_collection():
    """What is collected stays to the end: to look for garbage among it takes a third of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.collect()
        gc.freeze()
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items):
    """Tests of one `xdist_group` stay on one worker, so that Spark is started once.

    xdist 3.8 adds the group to `_nodeid`, which pytest 9.2 no longer reads (pytest-xdist issue 1386).
    """
    for item in items:
        grouped = getattr(item, "_nodeid", item.nodeid)
        if grouped != item.nodeid:
            item._id = type(item._id).parse(grouped)


@pytest.fixture(scope="session")
def postgres_server():
    """A PostgreSQL of our own; without one, the tests that need it are skipped."""
    with running_postgres() as server:
        yield server


JAVA = "apt-get install openjdk-17-jre-headless"
SPARK = 'pip install "discreet[spark]"'


@pytest.fixture(scope="session")
def spark_programs():
    """What Spark needs; without it, the tests that need it are skipped."""
    if importlib.util.find_spec("pyspark") is None:
        missing("Spark", SPARK)
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        missing("Java", JAVA)


@pytest.fixture(scope="session")
def spark(spark_programs, tmp_path_factory):  # noqa: ARG001
    """One Spark for all tests of a process, as an engine starts it; this is a session of its owner."""
    load_pyspark()
    settings = tmp_path_factory.mktemp("spark-conf")
    (settings / "spark-defaults.conf").write_text(
        # No code that is compiled to be fast later: a third of the time would go into that.
        "spark.driver.memory 2g\nspark.driver.extraJavaOptions -XX:TieredStopAtLevel=1 -XX:+UseSerialGC\n"
        "spark.sql.files.openCostInBytes 1024\n"  # small files, too, are read by two tasks
        "spark.sql.shuffle.partitions 2\nspark.connect.grpc.binding.port 0\n"
        "spark.connect.grpc.binding.address 127.0.0.1\n"
    )
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SPARK_CONF_DIR", str(settings))
        session = local_session()
    yield session.frames.newSession()
    session.close()
