"""Scenarios that count: what an evaluation costs whatever the machine is doing, and how large a cluster it needs."""

from collections.abc import Callable, Mapping
from typing import Any

from scripts.benchmark import tables
from scripts.benchmark.programs import AS_AT_SCALE, AT_CUTOFFS, counted, has_java
from scripts.benchmark.setting import Scenario, Setting, Target
from scripts.benchmark.shapes import case
from scripts.benchmark.trec_text import TextSize, make_text

#: Results that the sizing is measured at.
SIZES = (1_000_000, 3_000_000, 10_000_000)


def cases_of(setting: Setting) -> dict[str, dict[str, Any]]:
    """The settings of an evaluation with ranks, without, of TREC text, and with all measures; their data is made."""
    data = setting.with_unranked(queries=setting.scaled(20_000, 100))
    size = TextSize(setting.scaled(20, 2), queries=setting.scaled(30, 20), seed=setting.size.seed)
    text = make_text(size, setting.cache)
    return {
        "with ranks": case(data, setting.cutoffs),
        "no ranks": case(data, setting.cutoffs, ranks=False),
        "text": {
            "judgments": {"path": [str(text.judgments)]},
            "results": {"path": [str(text.results)]},
            "cutoffs": setting.cutoffs,
        },
        "measures": {**case(data, setting.cutoffs), "measures": AT_CUTOFFS},
    }


def cost(setting: Setting) -> Scenario:
    """Plans, scans, exchanges and bytes of the evaluations of `cases_of`."""
    cases = cases_of(setting)
    engines = {"embedded": "embedded", **({"classic": "spark"} if has_java() else {})}
    programs = [
        counted(word, engine, {f"{word}, {name}": of for name, of in cases.items()}, AS_AT_SCALE)
        for word, engine in engines.items()
    ]
    targets = [
        Target(f"classic, {name}: {figure.replace('_', ' ')}", f"classic, {name}", limit, figure=figure)
        for name in ("with ranks", "no ranks", "text", "measures")
        for figure, limit in (("scans_of_results", 2), ("exchanges_of_results", 1), ("bytes_spilled", 0))
    ]
    return Scenario("Cost", programs, targets, "embedded", tables=tables.costs)


def sizing(setting: Setting) -> Scenario:
    """Classic Spark at three sizes, and what the growth between them says for a cluster."""
    if not has_java():
        return Scenario("Sizing", [], [], "", {"classic": "needs Java 17"})
    programs = []
    for results in SIZES:
        data = setting.with_unranked(queries=setting.scaled(results // setting.size.results, 20))
        cases = {
            f"{results:,}": case(data, setting.cutoffs),
            f"{results:,}, no ranks": case(data, setting.cutoffs, ranks=False),
        }
        programs.append(counted(f"classic, {results:,}", "spark", cases, AS_AT_SCALE))
    return Scenario("Sizing", programs, [], programs[0].name, tables=tables.sizing)


SCENARIOS: Mapping[str, Callable[[Setting], Scenario]] = {"cost": cost, "sizing": sizing}
