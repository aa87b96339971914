"""Scenarios with data of other shapes than lists of 100: text, depth, many queries or runs, grades, ranks, skew."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

from scripts.benchmark import giant, tables
from scripts.benchmark.data import Data, make_unranked, warm_up
from scripts.benchmark.programs import (
    AS_AT_SCALE,
    OF_TEXT,
    PEER_PROGRAMS,
    Program,
    counted,
    gunzip,
    has_java,
    missing,
    ours,
    peer,
)
from scripts.benchmark.setting import Scenario, Setting, Target
from scripts.benchmark.trec_text import Text, TextSize, make_text, real_text

#: Results of a list that no partition divides.
GIANT = 10_000_000


def text(setting: Setting) -> Scenario:
    """Gzipped TREC text in the shape of TREC-COVID's first round, against the tools one would use for it."""
    shape = TextSize(runs=setting.scaled(143, 3), seed=setting.size.seed)
    return _of_text("TREC text, 143 runs with lists of 1,000", make_text(shape, setting.cache), setting)


def trec_covid(setting: Setting) -> Scenario:
    """The real first round, where it is there. It has one size, whatever the scale."""
    real = real_text()
    title = "TREC-COVID round 1"
    if real is None:
        return Scenario(title, [], [], "pytrec_eval_text", {"all": "the data is not part of the project"})
    return _of_text(title, real, setting)


def _of_text(title: str, of: Text, setting: Setting) -> Scenario:
    warm_up(of.folder)
    skipped = missing(OF_TEXT)
    programs = [gunzip("zcat", of)]
    for name in (name for name in OF_TEXT if name not in skipped):
        preset = PEER_PROGRAMS[name][2]
        programs.append(ours(f"embedded, {preset}", "embedded", of, setting.cutoffs, ["--convention", preset]))
        programs.append(peer(name, of, setting.cutoffs, f"embedded, {preset}"))
    if len(programs) == 1:
        programs.append(ours("embedded, pytrec_eval", "embedded", of, setting.cutoffs, ["--convention", "pytrec_eval"]))
    if has_java():
        classic = ["--convention", "pytrec_eval"]
        programs.append(
            dataclasses.replace(ours("classic, pytrec_eval", "spark", of, setting.cutoffs, classic), slow=True)
        )
    targets = [
        Target("embedded against pytrec_eval", "embedded, pytrec_eval", 0.45, "pytrec_eval_text"),
        Target("embedded against ir_measures", "embedded, ir_measures", 0.45, "ir_measures_text"),
        Target("embedded against gunzipping alone", "embedded, pytrec_eval", 6.0, "zcat"),
    ]
    return Scenario(title, programs, targets, "pytrec_eval_text", skipped)


def deep(setting: Setting) -> Scenario:
    """Lists of 1,000 and of 10,000 against lists of 100, all of as many results."""
    rows = setting.size.queries * setting.size.results
    programs, targets = [], []
    for length in (100, 1_000, 10_000):
        data = setting.with_unranked(queries=max(1, rows // length), results=length)
        name = f"lists of {length:,}"
        programs += _both(name, data, setting)
        if length > 100:
            targets.append(Target(f"{name} against lists of 100", name, 1.2, "lists of 100"))
            targets.append(Target("the same, no ranks", f"{name}, no ranks", 1.2, "lists of 100, no ranks"))
    return Scenario("Deep lists", programs, targets, "lists of 100")


def short(setting: Setting) -> Scenario:
    """A million queries with lists of 10."""
    data = setting.with_unranked(queries=setting.scaled(1_000_000, 100), results=10)
    return _against_duckdb("A million lists of 10", data, setting)


def many_runs(setting: Setting) -> Scenario:
    """A thousand runs."""
    runs = setting.scaled(1_000, 3)
    data = setting.with_unranked(queries=setting.scaled(96, 50), runs=runs)
    return _against_duckdb("A thousand runs", data, setting)


def grades(setting: Setting) -> Scenario:
    """Grades from 0 to 100 with a linear gain."""
    return _against_duckdb("Grades from 0 to 100", setting.with_unranked(best=100), setting, "linear")


def broken_ranks(setting: Setting) -> Scenario:
    """Ranks that are not the order of the scores in 1 list of 100, against ranks that always are."""
    good, broken = setting.with_unranked(), setting.data(runs=1, broken=1)
    programs = [
        ours("all ranks in order", "embedded", good, setting.cutoffs),
        ours("1 % broken", "embedded", broken, setting.cutoffs, like="all ranks in order"),
        ours("no ranks", "embedded", good, setting.cutoffs, like="all ranks in order", results=good.unranked),
    ]
    targets = [Target("ranks broken in 1 % of the lists, against ranks in order", "1 % broken", 1.2, programs[0].name)]
    return Scenario("Broken ranks", programs, targets, "all ranks in order")


def skew(setting: Setting) -> Scenario:
    """One query of ten million results, and one run with 99 % of the rows, against as many rows without skew."""
    small = dataclasses.replace(setting.size, runs=1, queries=setting.scaled(960, 20))
    one_query = giant.make_giant(setting.scaled(GIANT, 1_000), small, setting.cache)
    # Three runs that answer one query in 300 have 1 % of the rows of the first.
    one_run = setting.with_unranked(runs=4, thin=300)
    even = setting.with_unranked()
    make_unranked(one_query)
    warm_up(one_query.folder)
    programs, cases = [], {}
    for name, data in (("even", even), ("one run of 99 %", one_run), ("one query of 10 M", one_query)):
        programs += _both(name, data, setting)
        cases[f"classic, {name}"] = case(data, setting.cutoffs)
        cases[f"classic, {name}, no ranks"] = case(data, setting.cutoffs, ranks=False)
    if has_java():
        programs.append(dataclasses.replace(counted("classic", "spark", cases, AS_AT_SCALE), slow=True))
    targets = [
        Target(f"{name} against as many rows without skew{extra}", f"{name}{extra}", 1.5, f"even{extra}")
        for name in ("one run of 99 %", "one query of 10 M")
        for extra in ("", ", no ranks")
    ]
    return Scenario("Skew", programs, targets, "even", tables=tables.skew)


def case(data: Data, cutoffs: str, ranks: bool = True) -> dict[str, Any]:
    """The settings of an evaluation of this data, with the ranks of its results or without."""
    results = data.results if ranks else data.unranked
    return {"judgments": {"path": [str(data.judgments)]}, "results": {"path": [str(results)]}, "cutoffs": cutoffs}


def _both(name: str, data: Data, setting: Setting) -> list[Program]:
    """Ours with the ranks and without."""
    return [
        ours(name, "embedded", data, setting.cutoffs),
        ours(f"{name}, no ranks", "embedded", data, setting.cutoffs, like=name, results=data.unranked),
    ]


def _against_duckdb(title: str, data: Data, setting: Setting, gain: str = "exp2") -> Scenario:
    skipped = missing(["duckdb"])
    options = ["--set", f"gain={gain}"]
    programs = [
        ours("embedded", "embedded", data, setting.cutoffs, options),
        ours("embedded, no ranks", "embedded", data, setting.cutoffs, options, like="embedded", results=data.unranked),
    ]
    if not skipped:
        programs.append(peer("duckdb", data, setting.cutoffs, "embedded", gain))
    targets = [
        Target("embedded against DuckDB", "embedded", 1.2, "duckdb"),
        Target("the same, no ranks in the results", "embedded, no ranks", 1.6, "duckdb"),
    ]
    return Scenario(title, programs, targets, "embedded" if skipped else "duckdb", skipped)


SCENARIOS: Mapping[str, Callable[[Setting], Scenario]] = {
    "text": text,
    "trec-covid": trec_covid,
    "deep": deep,
    "short": short,
    "many-runs": many_runs,
    "grades": grades,
    "broken-ranks": broken_ranks,
    "skew": skew,
}
