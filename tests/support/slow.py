"""Slow tests, marked `slow`, wait for --slow, so that the tests without Java are a loop of a minute and a half."""

from pathlib import Path

import pytest
import sessions

#: A test that takes longer and is not marked is told: mark it, or make it faster.
SECONDS = 2.0


class SlowTests:
    """Leaves slow tests out of a run, and says how many.

    They stay with --slow, with `-m slow`, and where their file is named on the command line, as who names a file wants
    it. A test that needs Java is left out by `-m "not spark"` alone, and with --engine spark all do.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._all = config.getoption("--slow") or "slow" in config.getoption("-m")
        paths = (argument.partition("::")[0] for argument in config.args)
        self._named = {(config.invocation_params.dir / path).resolve() for path in paths if path.endswith(".py")}
        self._left_out = 0
        self._seconds: dict[str, float] = {}

    # Last, so that those are counted that -k and -m have chosen.
    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        left_out = [item for item in items if self._is_left_out(item)]
        self._left_out = len(left_out)
        if left_out:
            items[:] = [item for item in items if not self._is_left_out(item)]
            self._config.hook.pytest_deselected(items=left_out)

    def _is_left_out(self, item: pytest.Item) -> bool:
        slow = item.get_closest_marker("slow") and not item.get_closest_marker("spark")
        return bool(slow) and not self._all and Path(item.path).resolve() not in self._named

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        # What a fixture takes is shared.
        if report.when == "call" and not {"slow", "spark", "cluster"} & set(report.keywords):
            self._seconds[report.nodeid] = report.duration

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        # With xdist, a worker knows how many, and the process that prints does not.
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["left_out"] = self._left_out

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: object) -> None:
        self._left_out = getattr(node, "workeroutput", {}).get("left_out", 0)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self._left_out:
            terminalreporter.write_line(f"{self._left_out} slow test(s) were left out; scripts/check.sh runs them")
        long = [(seconds, test) for test, seconds in self._seconds.items() if seconds > SECONDS]
        if long and sessions.choice == "embedded":
            terminalreporter.write_line(
                f"{len(long)} of the tests took more than {SECONDS:.0f} s and are not marked slow, e.g. {max(long)[1]}"
            )
