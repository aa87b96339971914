"""One evaluation per day for Airflow 2.9 and later, and Airflow 3: copy it into the DAG folder.

Rerunning a date replaces that whole date (conf/README.md, Nights), so retries, clears and backfills are safe. Failures
that a retry can fix are retried. Wrong arguments and refused input fail until somebody fixes them. If a gate fails or
comes to no verdict, the task fails at once: the night is published, and somebody has to look at it.
"""

import contextlib
import datetime
import logging
import os
import signal
import subprocess

from airflow.timetables.interval import CronDataIntervalTimetable

try:
    from airflow.sdk import dag, task
except ImportError:  # Airflow 2
    from airflow.decorators import dag, task
try:
    from airflow.sdk.exceptions import AirflowException, AirflowFailException
except ImportError:  # Airflow 2 and 3.0
    from airflow.exceptions import AirflowException, AirflowFailException

#: Where this project is on the Airflow worker, and its configuration; set these variables there.
PROJECT = os.environ.get("NDCG_SPARK_PROJECT", "/opt/ndcg_spark")
CONFIG = os.environ.get("NDCG_SPARK_CONFIG", f"{PROJECT}/conf/nightly.toml")
#: The Spark to use, such as yarn, or the options of scripts/submit.sh. Without either, the worker computes with the
#: embedded engine, and needs no Java.
MASTER = os.environ.get("NDCG_SPARK_MASTER")
SUBMIT = os.environ.get("NDCG_SPARK_SUBMIT")
if MASTER and SUBMIT:
    raise ValueError(
        f"NDCG_SPARK_MASTER is {MASTER}, and NDCG_SPARK_SUBMIT is {SUBMIT}; leave one of them out: "
        f"NDCG_SPARK_SUBMIT may begin with '--master {MASTER}'"
    )
#: How long a job has to end after it is asked to; Airflow waits a minute before it ends the task itself.
SECONDS_TO_END = 30

#: The exit codes that no retry can fix (REFERENCE.md). After 5 and 6 the night is published anyway.
HOPELESS = {
    1: "a bug in the program; report it with the log",
    2: "the arguments or the configuration are wrong",
    3: "the input is refused",
    5: "the night is published, and its gate failed",
    6: "the night is published, and its gate came to no verdict",
}


def command(night: str) -> list[str]:
    """The command line that evaluates a date and copies it to the tables in NDCG_SPARK_EXPORT, if any."""
    line = [f"{PROJECT}/scripts/nightly.sh", night, CONFIG]
    # nightly.sh inherits this process's variables: with NDCG_SPARK_SUBMIT it submits to a cluster.
    if SUBMIT:
        return line
    if MASTER:
        return ["env", f"NDCG_SPARK_SUBMIT=--master {MASTER}", *line]
    return [*line, "--engine", "embedded"]


def show(text: str) -> None:
    """Write what the job says into the task's log."""
    for said in text.splitlines():
        logging.getLogger("airflow.task").info("%s", said.rstrip())


def end(process: subprocess.Popen[str]) -> None:
    """End the job with all of its processes: ask them, so that the script says how it ended, then make them."""
    tell_group(process, signal.SIGTERM)
    try:
        said, _ = process.communicate(timeout=SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        tell_group(process, signal.SIGKILL)
        said, _ = process.communicate()
    else:
        # The script has ended, but one of its processes may have ignored the request.
        tell_group(process, signal.SIGKILL)
    show(said)


def tell_group(process: subprocess.Popen[str], how: signal.Signals) -> None:
    """Send a signal to the job and all of its processes that still run."""
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, how)


def run(line: list[str]) -> None:
    """Run the command and log its output; an exit code becomes a failure with or without retries."""
    # Our own script, in a process group of its own, so that all of its processes end with the task.
    with subprocess.Popen(  # noqa: S603
        line,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        errors="replace",
        start_new_session=True,
    ) as process:
        try:
            for said in process.stdout or ():
                show(said)
        except BaseException:
            # The task took too long, or somebody has ended it.
            end(process)
            raise
    code = process.returncode
    if code in HOPELESS:
        raise AirflowFailException(
            f"ndcg-spark ended with {code}: {HOPELESS[code]}; no retry, see the log above"
        )
    if code:
        raise AirflowException(f"ndcg-spark ended with {code}; it is tried again")


# The interval is explicit, not only the hour: otherwise Airflow 3 would give a run the day on which it starts.
@dag(
    schedule=CronDataIntervalTimetable("30 2 * * *", timezone="UTC"),
    start_date=datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC),
    # Days before the DAG was switched on are evaluated only by an explicit backfill.
    catchup=False,
    # One night at a time, so a backfill of a month does not start a month of Spark jobs at once.
    max_active_runs=1,
    tags=["ndcg"],
)
def ndcg_spark() -> None:
    """NDCG of the previous day."""

    # If the engine or the storage fails (4), or the machine: three more tries, 10, 20 and 40 minutes apart.
    @task(
        retries=3,
        retry_delay=datetime.timedelta(minutes=10),
        retry_exponential_backoff=True,
        execution_timeout=datetime.timedelta(hours=3),
    )
    def evaluate(ds: str | None = None) -> None:
        """Evaluate the night {{ ds }}: the date at which the interval starts, or the date of a triggered run.

        Airflow 2 triggers a run with today unless a date is given, and today is not over.
        """
        if ds is None:
            raise AirflowFailException(
                "this run has no logical date, so no night: trigger it with one"
            )
        run(command(ds))

    evaluate()


ndcg_spark()
