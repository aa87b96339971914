"""Waits for inputs that do not exist yet when a night begins, and refuses the night if they do not arrive.

An input is late if its path has no file with content: a folder without files or with unfinished copies only, a pattern
without a match, empty files. A file that is still being written exists, so its writer should move it into place when it
is complete. Catalog tables are not waited for.
"""

import time

from ndcg_spark.config import TABLES, EvaluationConfig
from ndcg_spark.config_values import seconds_of
from ndcg_spark.engine import Engine
from ndcg_spark.errors import InputError, MissingInputError
from ndcg_spark.inputs import discover
from ndcg_spark.job.progress import ReportStep

#: The maximum number of seconds between two checks, and the number of checks in a short wait.
_SECONDS, _PARTS = 10.0, 20

#: A table's name and one of its paths.
_Path = tuple[str, str]


def wait_for_inputs(engine: Engine, config: EvaluationConfig, report_step: ReportStep) -> None:
    """Return when all inputs exist; immediately if the configuration sets no time to wait.

    Raises
    ------
    MissingInputError
        An input is still late after `wait_for_input`.
    """
    if config.wait_for_input is None:
        return
    most, begin, reported = seconds_of(config.wait_for_input), time.monotonic(), None
    tables = {name: table for name in TABLES if (table := getattr(config, name)) is not None}
    late = [(name, config.dated(path)) for name, table in tables.items() for path in table.path]
    while True:
        problems = {place: problem for place in late if (problem := _lateness(engine, *place))}
        late = list(problems)
        waited = time.monotonic() - begin
        if not late:
            if reported:
                report_step("waited", f"{_duration(waited)}; all inputs are there")
            return
        left = most - waited
        if left <= 0:
            raise MissingInputError(f"{problems[late[0]]}; waited for {config.wait_for_input}")
        if late != reported:
            report_step("waiting", f"at most {_duration(left)} for {_named(late)}")
            reported = late
        time.sleep(min(left, _SECONDS, most / _PARTS))


def _lateness(engine: Engine, name: str, path: str) -> str | None:
    """Why an input is late; None if it exists. Reading reports whatever else is wrong with it."""
    if path.startswith("table:"):
        return None
    try:
        files, _ = discover.without_backups(discover.find(engine, path, name), [path], name)
    except MissingInputError as error:
        return str(error)
    except InputError:
        return None
    if any(file.size for file in files):
        return None
    return f"{name}: only empty files in {path}, e.g. {files[0].path}; check the job that writes them"


def _named(late: list[_Path]) -> str:
    more = f" and {len(late) - 1} more" if len(late) > 1 else ""
    return f"{late[0][0]} in {late[0][1]}{more}"


def _duration(seconds: float) -> str:
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"
