"""Asks questions of a Spark with executors of its own, and kills them meanwhile; prints what came of it.

Run as a process of its own, as there can be one Spark in each:
`python -m tests.engines.losing_executors FOLDER`.
"""

import json
import os
import signal
import sys
import threading
from contextlib import contextmanager, suppress
from pathlib import Path

import discreet
from discreet.errors import DiscreetError
from tests.engines.conftest import everything_in

WARDS = ("north", "south")
PEOPLE, ROWS, FILES = 12, 48, 2
PROGRAM = b"org.apache.spark.executor.CoarseGrainedExecutorBackend"
MOST_FAILURES = 2
SECONDS_INTO_A_TASK = 1
"""One whose executor is lost before it has begun is not counted as failed."""
SETTINGS = {
    "spark.master": "local-cluster[2,1,512]",
    "spark.executor.memory": "512m",
    # They live for seconds: compiled once, and collected without threads, they start in half the time.
    "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.executor.extraJavaOptions": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.log.level": "OFF",
    "spark.sql.shuffle.partitions": "2",
    "spark.sql.files.minPartitionNum": str(FILES),
    "spark.task.maxFailures": str(MOST_FAILURES),
    "spark.deploy.maxExecutorRetries": "-1",
}
POLICY = """
[dataset]
name = "clinic"
neighbours = "add_remove"
budget = { epsilon = 1000, delta = 0 }

[tables.visits]
source = "spark://session#visits"
person = "patient"
max_rows = 4

[tables.visits.columns.ward]
keys = ["north", "south"]
"""
QUESTION = "SELECT ward, count(*) AS n FROM visits WHERE patient >= {} GROUP BY ward"
EPSILON = 200


def start(folder):
    """Workers write below SPARK_HOME, which therefore is a folder of the test, with Spark's programs."""
    import pyspark
    from pyspark.sql import SparkSession

    home, installed = folder / "home", Path(pyspark.__file__).parent
    home.mkdir()
    for name in ("bin", "jars"):
        (home / name).symlink_to(installed / name)
    os.environ |= {"SPARK_HOME": str(home), "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": str(folder)}
    builder = SparkSession.builder
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def write_visits(session, folder):
    """Each row takes a while to read, so that a task lasts for two seconds."""
    import pyarrow.parquet

    rows = [(i % PEOPLE, WARDS[i // PEOPLE % 2]) for i in range(ROWS)]
    files = folder / "visits"
    files.mkdir()
    for i in range(FILES):
        columns = zip(*rows[i::FILES], strict=True)
        table = pyarrow.table(dict(zip(("patient", "ward"), map(list, columns), strict=True)))
        pyarrow.parquet.write_table(table, files / f"{i}.parquet")
    slow = session.read.parquet(str(files)).where("reflect('java.lang.Thread', 'sleep', 80L) IS NOT NULL")
    slow.createOrReplaceTempView("visits")
    return rows


class Executors:
    """The processes that compute for one Spark."""

    def __init__(self, session):
        self._tracker = session._jsc.sc().statusTracker()
        self._application = session.sparkContext.applicationId

    def alive(self):
        found = []
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                words = (folder / "cmdline").read_bytes().split(b"\0")
                if {PROGRAM, self._application.encode()} <= set(words):
                    found.append(int(folder.name))
        return sorted(found)

    def running(self):
        """How many tasks the executors that Spark knows have at this moment."""
        return sum(each.numRunningTasks() for each in self._tracker.getExecutorInfos())

    def lost(self):
        """How many tasks have failed, in stages that have not ended."""
        stages = [self._tracker.getStageInfo(each) for each in self._tracker.getActiveStageIds()]
        return sum(each.get().numFailedTasks() for each in stages if each.isDefined())


class Killer(threading.Thread):
    """Kills executors while they compute: the first one once, or all that ever come."""

    def __init__(self, executors, *, all_of_them):
        super().__init__(daemon=True)
        self.executors, self.all_of_them = executors, all_of_them
        self.killed, self.lost = [], 0
        self.over = threading.Event()

    def run(self):
        while not self.over.wait(0.05):
            self.lost = max(self.lost, self.executors.lost())
            if (self.all_of_them or not self.killed) and self.executors.running():
                self.over.wait(SECONDS_INTO_A_TASK)
                for process in self.executors.alive()[: None if self.all_of_them else 1]:
                    with suppress(ProcessLookupError):
                        os.kill(process, signal.SIGKILL)
                    self.killed.append(process)


@contextmanager
def killing(executors, *, all_of_them):
    killer = Killer(executors, all_of_them=all_of_them)
    killer.start()
    try:
        yield killer
    finally:
        killer.over.set()
        killer.join()


def asked(curator, first):
    """What came of a question about patients from `first` on: the answer, or the whole error."""
    found, before = {"error": None, "answer": None}, float(curator.budget().left.epsilon)
    try:
        answer = curator.ask(QUESTION.format(first), epsilon=EPSILON)
        found["answer"] = {row["ward"]: row["n"] for row in answer.rows()}
    except DiscreetError as error:
        found["error"] = [type(error).__name__, str(error)]
        found["everything"] = everything_in(error)
    return found | {"left": [before, float(curator.budget().left.epsilon)]}


def main(folder):
    session = start(folder)
    report = {"rows": write_visits(session, folder)}
    policy = folder / "discreet.toml"
    policy.write_text(POLICY)
    executors = Executors(session)
    with discreet.open(policy, spark=session) as curator:
        report["executors"] = len(executors.alive())
        for name, first, all_of_them in (("one", 1, False), ("all", 2, True)):
            with killing(executors, all_of_them=all_of_them) as killer:
                report[name] = asked(curator, first)
            report[name] |= {"killed": len(set(killer.killed)), "lost": killer.lost}
        report["again"] = asked(curator, 2)
        report["next"] = asked(curator, 3)
        report["entries"] = [each.kind.value for each in curator._ledger.entries("clinic")]
        session.stop()
        report["stopped"] = asked(curator, 4)
    print(json.dumps(report))  # noqa: T201


if __name__ == "__main__":
    main(Path(sys.argv[1]))
