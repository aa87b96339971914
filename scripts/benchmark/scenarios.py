"""What is measured, by name, and the targets it is held to."""

import dataclasses
from collections.abc import Callable, Mapping

from scripts.benchmark import paired, shapes, sizing
from scripts.benchmark.programs import AT_CUTOFFS, OF_TEXT, PEER_PROGRAMS, example, has_java, missing, ours, peer, warm
from scripts.benchmark.setting import Scenario, Setting, Target

POOL = 4 * 2**30


def peers(setting: Setting) -> Scenario:
    """Ours and every peer, on the same files; ours once more for every preset that a peer has, and without ranks.

    No peer reads ranks. Ours leaves out what ranks prove to be too deep; without them it sorts as the peers do.
    """
    data, cutoffs = setting.with_unranked(), setting.cutoffs
    of_parquet = [name for name in PEER_PROGRAMS if name not in OF_TEXT]
    skipped = missing(of_parquet)
    there = [name for name in of_parquet if name not in skipped]
    programs, presets = [ours("embedded", "embedded", data, cutoffs)], {"standard": "embedded"}
    programs.append(ours("embedded, no ranks", "embedded", data, cutoffs, like="embedded", results=data.unranked))
    for name in there:
        preset = PEER_PROGRAMS[name][2]
        if preset not in presets:
            presets[preset] = f"embedded, {preset}"
            programs.append(ours(presets[preset], "embedded", data, cutoffs, ["--convention", preset]))
        programs.append(peer(name, data, cutoffs, presets[preset]))
    if has_java():
        binary = ["--convention", "mllib_binary"]
        programs.append(ours("classic", "spark", data, cutoffs, like="embedded"))
        alike = presets.get("mllib_binary")
        programs.append(ours("classic, mllib_binary", "spark", data, cutoffs, binary, like=alike))
        without = "classic, mllib_binary, no ranks"
        programs.append(ours(without, "spark", data, cutoffs, binary, like=alike, results=data.unranked))
    targets = [
        Target("embedded against DuckDB writing the same two outputs", "embedded", 1.2, "duckdb"),
        Target("the same, no ranks in the results", "embedded, no ranks", 1.6, "duckdb"),
        Target("embedded against DuckDB that checks its input too", "embedded", 1.2, "duckdb, checked"),
        Target("the same, no ranks in the results", "embedded, no ranks", 1.6, "duckdb, checked"),
        Target("embedded against ir_measures", presets.get("ir_measures", ""), 1 / 12, "ir_measures"),
        Target("embedded against pytrec_eval", presets.get("pytrec_eval", ""), 1 / 12, "pytrec_eval"),
        Target("classic, whole process, against MLlib RankingMetrics", "classic, mllib_binary", 0.9, "mllib"),
        Target("the same, no ranks in the results", "classic, mllib_binary, no ranks", 1.0, "mllib"),
    ]
    return Scenario("Peers", programs, targets, "duckdb" if "duckdb" in there else "embedded", skipped)


def cutoffs(setting: Setting) -> Scenario:
    """Five cutoffs against one as deep."""
    data = setting.data(runs=1)
    programs = [ours("one", "embedded", data, "100"), ours("five", "embedded", data, "1,3,5,10,100")]
    shallow = [ours("one, 10", "embedded", data, "10"), ours("five, 10", "embedded", data, "1,2,3,5,10")]
    targets = [
        Target("cutoffs 1, 3, 5, 10, 100 against 100", "five", 1.15, "one"),
        Target("cutoffs 1, 2, 3, 5, 10 against 10", "five, 10", 1.15, "one, 10"),
    ]
    return Scenario("Cutoffs", [*programs, *shallow], targets, "one")


def measures(setting: Setting) -> Scenario:
    """All measures at five cutoffs against NDCG alone, there and at one of them."""
    data, five = setting.with_unranked(), "1,2,3,5,10"
    all_of_them = ["--measures", ",".join(AT_CUTOFFS)]
    programs, targets = [ours("NDCG, 10", "embedded", data, "10")], []
    for words, of in (("", data.results), (", no ranks", data.unranked)):
        alone, beside = f"NDCG{words}", f"measures{words}"
        programs.append(ours(alone, "embedded", data, five, results=of))
        programs.append(ours(beside, "embedded", data, five, all_of_them, like=alone, results=of))
        targets.append(Target(f"all measures at five cutoffs against NDCG alone{words}", beside, 1.3, alone))
    whole = [*all_of_them[:1], "AP R RR Bpref"]
    programs.append(ours("measures of the whole list", "embedded", data, five, whole))
    return Scenario("Measures", programs, targets, "NDCG")


def runs(setting: Setting) -> Scenario:
    """Twenty runs against one of as many rows."""
    one, many = setting.data(runs=1), setting.data(runs=20, queries=setting.size.queries // 20)
    programs = [
        ours("1 run", "embedded", one, setting.cutoffs),
        ours("20 runs", "embedded", many, setting.cutoffs),
    ]
    targets = [Target("20 runs against one run of as many rows", "20 runs", 1.2, "1 run")]
    return Scenario("Runs", programs, targets, "1 run")


def judged(setting: Setting) -> Scenario:
    """One query in 100 judged, against all."""
    data = setting.data(runs=1)
    few = ours("1 % judged", "embedded", data, setting.cutoffs, judgments=data.few_judgments)
    programs = [ours("all judged", "embedded", data, setting.cutoffs), few]
    targets = [Target("results for 1 % judged queries, against all judged", "1 % judged", 0.35, "all judged")]
    return Scenario("Judged queries", programs, targets, "all judged")


def rank(setting: Setting) -> Scenario:
    """A rank column given, against the order by score of results without one."""
    data = setting.with_unranked()
    programs, targets = [], []
    for engine, word in (("embedded", "embedded"), ("spark", "classic")):
        if engine == "spark" and not has_java():
            continue
        by_score, by_rank = f"{word}, by score", f"{word}, by rank"
        both = [
            ours(by_score, engine, data, setting.cutoffs, results=data.unranked),
            ours(by_rank, engine, data, setting.cutoffs, ["--set", "order=rank"], like=by_score),
        ]
        programs += [dataclasses.replace(program, slow=engine == "spark") for program in both]
        targets.append(Target(f"order=rank against sorting by score, {word}", by_rank, 0.6, by_score))
    return Scenario("Rank column", programs, targets, "embedded, by score")


def memory(setting: Setting) -> Scenario:
    """Ten times the queries in a pool of 4 GiB, against no limit."""
    data = setting.data(runs=1, queries=setting.size.queries * 10)
    pool = {"SAIL_RUNTIME__MEMORY_POOL__TYPE": "fair", "SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE": str(POOL)}
    free = {"SAIL_RUNTIME__MEMORY_POOL__TYPE": "unbounded"}
    programs = [
        ours("unbounded", "embedded", data, setting.cutoffs, env=free),
        ours("4 GiB pool", "embedded", data, setting.cutoffs, env=pool, like="unbounded"),
    ]
    targets = [
        Target("10 times the queries in a 4 GiB pool: resident GB", "4 GiB pool", 5.0, figure="peak_gb"),
        Target("10 times the queries in a 4 GiB pool, against no limit", "4 GiB pool", 2.2, "unbounded"),
    ]
    return Scenario("Memory", programs, targets, "unbounded")


def growth(setting: Setting) -> Scenario:
    """Ten times the queries: embedded and classic, and the fastest peers."""
    one, ten = setting.data(runs=1), setting.with_unranked(queries=setting.size.queries * 10)
    skipped = missing(["duckdb", "polars"])
    engines = {"embedded": "embedded", **({"classic": "spark"} if has_java() else {})}
    programs, targets = [], []
    for word, engine in engines.items():
        for name, data in ((word, one), (f"{word}, 10 times", ten)):
            both = ours(name, engine, data, setting.cutoffs)
            programs.append(dataclasses.replace(both, slow=engine == "spark"))
        targets.append(Target(f"10 times the queries, {word}", f"{word}, 10 times", 11.0, word))
    without = "embedded, 10 times, no ranks"
    programs.append(ours(without, "embedded", ten, setting.cutoffs, like="embedded, 10 times", results=ten.unranked))
    for name in ("duckdb", "polars"):
        if name not in skipped:
            programs.append(peer(name, one, setting.cutoffs, "embedded"))
            more = peer(name, ten, setting.cutoffs, "embedded, 10 times")
            programs.append(dataclasses.replace(more, name=f"{name}, 10 times", slow=name == "polars"))
    targets += [
        Target("10 times the queries, against DuckDB", "embedded, 10 times", 0.9, "duckdb, 10 times"),
        Target("the same, no ranks in the results", without, 1.3, "duckdb, 10 times"),
        Target("the same, peak memory", "embedded, 10 times", 0.6, "duckdb, 10 times", "peak_gb"),
        Target("the same, peak memory, no ranks", without, 0.6, "duckdb, 10 times", "peak_gb"),
    ]
    return Scenario("Growth", programs, targets, "embedded", skipped)


def warm_session(setting: Setting) -> Scenario:
    """Classic Spark, second and later evaluations of a session, against MLlib and a sort of the same results."""
    if not has_java():
        return Scenario("Warm", [], [], "sort", {"classic": "needs Java 17"})
    programs = [warm("warm", setting.with_unranked(), setting.cutoffs, setting.rounds + 1)]
    targets = [
        Target("classic, warm, against MLlib's RankingMetrics, warm", "evaluation", 0.5, "mllib"),
        Target("classic, warm, against repartition and sortWithinPartitions", "evaluation", 1.3, "sort"),
        Target("the same, no ranks in the results", "evaluation, no ranks", 1.3, "sort"),
    ]
    return Scenario("Warm", programs, targets, "sort")


def small(setting: Setting) -> Scenario:
    """100,000 results on classic Spark, where starting and compiling are all there is, against MLlib."""
    if not has_java():
        return Scenario("Small", [], [], "mllib", {"classic": "needs Java 17"})
    data = setting.data(runs=1, queries=setting.scaled(1_000, 20))
    binary = ["--convention", "mllib_binary"]
    programs = [
        ours("classic", "spark", data, setting.cutoffs, binary, like="mllib"),
        peer("mllib", data, setting.cutoffs, None),
    ]
    targets = [Target("classic, 100,000 results, whole process, against MLlib", "classic", 0.9, "mllib")]
    return Scenario("100,000 results on classic Spark", programs, targets, "mllib")


def example_run(_: Setting) -> Scenario:
    """The example of the README."""
    targets = [Target("the example, embedded, whole process: seconds", "example", 1.3)]
    return Scenario("Example", [example()], targets, "example")


SCENARIOS: Mapping[str, Callable[[Setting], Scenario]] = {
    "peers": peers,
    "cutoffs": cutoffs,
    "measures": measures,
    "runs": runs,
    "judged": judged,
    "rank": rank,
    **shapes.SCENARIOS,
    **sizing.SCENARIOS,
    "compare": paired.compare,
    "small": small,
    "warm": warm_session,
    "growth": growth,
    "memory": memory,
    "example": example_run,
}
