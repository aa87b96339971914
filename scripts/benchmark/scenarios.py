"""What is measured, by name, and the targets it is held to."""

from collections.abc import Callable, Mapping
from typing import Any

from scripts.benchmark import paired
from scripts.benchmark.data import QUERIES, in_folders
from scripts.benchmark.programs import (
    AS_AT_SCALE,
    PEER_PROGRAMS,
    PROJECT,
    advised,
    both,
    case,
    counted,
    gunzip,
    inputs,
    module,
    ours,
    peer,
    script,
)
from scripts.benchmark.setting import Scenario, Setting, Target
from scripts.benchmark.trec_text import make_large, make_text

PYTREC_EVAL, BINARY = ("--convention", "pytrec_eval"), ("--convention", "mllib_binary")
#: Results that the sizing is measured at.
SIZES = (1_000_000, 9_600_000, 96_000_000)
#: Every measure that needs no more of a list than its first ranks.
AT_CUTOFFS = ("ndcg", "precision", "recall", "ap", "rr", "success", "rbp", "err", "judged")


def peers(setting: Setting) -> Scenario:
    """Ours and every peer, on the same files; ours once more for every preset that a peer has, and without ranks.

    No peer reads ranks. Ours leaves out what ranks prove to be too deep; without them it sorts as the peers do.
    """
    data = setting.data()
    programs, presets = both("embedded", data), {"standard": "embedded"}
    for name, (_, _, preset) in PEER_PROGRAMS.items():
        if preset not in presets:
            presets[preset] = f"embedded, {preset}"
            programs.append(ours(presets[preset], data.ranked, "--convention", preset))
        programs.append(peer(name, data.ranked, presets[preset]))
    programs.append(ours("classic", data.ranked, engine="spark", like="embedded"))
    programs += both("classic, mllib_binary", data, *BINARY, engine="spark", like=presets["mllib_binary"])
    targets = [
        Target("embedded", 1.2, "duckdb"),
        Target("embedded, no ranks", 1.6, "duckdb"),
        Target("embedded", 1.0, "duckdb, checked"),
        Target("embedded, no ranks", 1.0, "duckdb, checked"),
        Target("embedded, ir_measures", 1 / 12, "ir_measures"),
        Target("embedded, pytrec_eval", 1 / 12, "pytrec_eval"),
        Target("classic, mllib_binary", 0.9, "mllib"),
        Target("classic, mllib_binary, no ranks", 1.0, "mllib"),
    ]
    return Scenario("Peers", programs, targets)


def text(setting: Setting) -> Scenario:
    """The same TREC runs in every shape that text has, against pytrec_eval and against gunzipping."""
    of = make_text(setting.scaled(143, 3), 30, setting.seed, setting.cache)
    programs = [ours(shape, files, *PYTREC_EVAL, like="gzipped") for shape, files in of.items()]
    programs.append(gunzip("zcat", of["gzipped"].results))
    programs += [peer("pytrec_eval", of[shape], shape, f"pytrec_eval, {shape}") for shape in ("gzipped", "plain")]
    programs.append(ours("classic, gzipped", of["gzipped"], *PYTREC_EVAL, engine="spark", like="gzipped"))
    limits = {"aligned.txt": 1.3, "crlf.txt": 1.3, "one.csv": 1.3, "one.tsv": 1.3, "one.jsonl": 2.5}
    targets = [
        Target("gzipped", 2.6, "zcat"),
        Target("gzipped", 0.45, "pytrec_eval, gzipped"),
        Target("plain", 0.5, "pytrec_eval, plain"),
        *(Target(shape, limit, "one.txt") for shape, limit in limits.items()),
        Target("one.txt", 0.75, figure="busy"),
    ]
    return Scenario("TREC text, 143 runs with lists of 1,000", programs, targets)


def large_text(setting: Setting) -> Scenario:
    """One gzipped file of 100 M lines: what reading it holds in memory, and what the conversion alone does."""
    files = make_large(setting.scaled(100_000_000, 10_000), setting.seed, setting.cache)
    programs = [
        module("check", "ndcg_spark", "check", *inputs(files), "--engine", "embedded"),
        module("conversion", "scripts.benchmark.conversion", *map(str, files)),
        gunzip("zcat", files.results.parent),
    ]
    targets = [Target(name, 1.0, figure="peak_gb") for name in ("conversion", "check")]
    return Scenario("A large gzipped file", programs, targets)


def deep(setting: Setting) -> Scenario:
    """Lists of 1,000 and of 10,000 against lists of 100, all of as many results."""
    lengths = (100, 1_000, 10_000)
    datasets = {f"lists of {of:,}": setting.data(QUERIES * 100 // of, results=of) for of in lengths}
    programs = [program for name, data in datasets.items() for program in both(name, data)]
    longer = [program.name for program in programs[2:]]
    targets = [Target(name, 1.2, programs[at % 2].name) for at, name in enumerate(longer)]
    return Scenario("Deep lists", programs, targets)


def skew(setting: Setting) -> Scenario:
    """One query of ten million results, and one run with 99 % of the rows, against as many rows without skew."""
    datasets = {
        "even": setting.data(),
        # Three runs that answer one query in 300 have 1 % of the rows of the first.
        "one run of 99 %": setting.data(runs=4, thin=300),
        "one query of 10 M": setting.data(1, results=setting.scaled(10_000_000, 1_000), judgments=1_000),
    }
    programs, cases = [], {}
    for name, data in datasets.items():
        programs += both(name, data)
        cases |= {f"classic, {name}": case(data.ranked), f"classic, {name}, no ranks": case(data.unranked)}
    programs.append(counted("classic", "spark", cases, AS_AT_SCALE))
    targets = [
        Target(f"{name}{extra}", 1.5, f"even{extra}")
        for name in ("one run of 99 %", "one query of 10 M")
        for extra in ("", ", no ranks")
    ]
    return Scenario("Skew", programs, targets)


def growth(setting: Setting) -> Scenario:
    """Ten times the queries, also in a memory pool of 4 GiB, against the peers that write the same tables."""
    one, ten = setting.data(), setting.data(10 * QUERIES)
    pool = {"SAIL_RUNTIME__MEMORY_POOL__TYPE": "fair", "SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE": str(4 * 2**30)}
    more, without, pooled = "embedded, 10 times", "embedded, 10 times, no ranks", "embedded, 10 times, 4 GiB pool"
    programs = [ours("embedded", one.ranked), *both(more, ten), ours(pooled, ten.ranked, env=pool, like=more)]
    programs += [peer(name, ten.ranked, more, f"{name}, 10 times") for name in ("duckdb", "duckdb, checked", "polars")]
    targets = [
        Target(more, 11.0, "embedded"),
        Target(more, 0.8, "duckdb, checked, 10 times"),
        Target(without, 0.9, "duckdb, checked, 10 times"),
        Target(more, 0.6, "duckdb, checked, 10 times", "peak_gb"),
        Target(without, 0.6, "duckdb, checked, 10 times", "peak_gb"),
        Target(pooled, 5.0, figure="peak_gb"),
        Target(pooled, 2.2, more),
    ]
    return Scenario("Growth and memory", programs, targets)


def runs(setting: Setting) -> Scenario:
    """Ten runs and a hundred in folders of their own, with the memory pool of a machine of 8 GiB."""
    pool = {"SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE": str(int(0.6 * 8 * 2**30))}
    programs, targets = [], []
    for number in (10, 100):
        data, name, checked = in_folders(setting.data(), number), f"{number} runs", f"duckdb, checked, {number} runs"
        programs += [*both(name, data, env=pool), peer("duckdb, checked", data.unranked, name, checked)]
        for of, limit in ((name, 0.8), (f"{name}, no ranks", 0.9)):
            targets += [Target(of, limit, checked), Target(of, 8.0, figure="peak_gb")]
    return Scenario("Many runs", programs, targets)


def warm(setting: Setting) -> Scenario:
    """Classic Spark, second and later evaluations of a session, against MLlib and a sort of the same results."""
    data = setting.data()
    tables = (*data.ranked, data.unranked.results)
    rounds = str(setting.rounds + 1)
    programs = [script("warm", "classic_warm.py", *map(str, tables), rounds, once=True, needs="java")]
    targets = [
        *(Target(f"{name}, unchecked", 1.2, "mllib") for name in ("evaluation", "evaluation, no ranks")),
        Target("evaluation", 1.3, "sort"),
        Target("evaluation, no ranks", 1.3, "sort"),
    ]
    return Scenario("Warm", programs, targets)


def library(_: Setting) -> Scenario:
    """The library as a notebook calls it, twenty times in a session of each engine; only the later calls count."""
    programs = [
        script(engine, "library_warm.py", engine, "20", once=True, needs="java" if engine == "spark" else "")
        for engine in ("embedded", "spark")
    ]
    limits = {"embedded, evaluate": 0.2, "embedded, compare": 0.5, "spark, evaluate": 1.5, "spark, compare": 2.0}
    return Scenario("The library in a warm session", programs, [Target(name, limit) for name, limit in limits.items()])


def small(setting: Setting) -> Scenario:
    """100,000 results on classic Spark, where starting and compiling are all there is, against MLlib."""
    files = setting.data(1_000).ranked
    programs = [ours("classic", files, *BINARY, engine="spark", like="mllib"), peer("mllib", files, None)]
    targets = [Target("classic", 0.9, "mllib")]
    return Scenario("100,000 results on classic Spark", programs, targets)


def example(_: Setting) -> Scenario:
    """The example of the README, as scripts/run-example.sh runs it once it is installed."""
    of = str(PROJECT / "conf" / "example.toml")
    program = module("example", "ndcg_spark", "evaluate", "--config", of, "--engine", "embedded")
    targets = [Target("example", 1.3)]
    return Scenario("Example", [program], targets)


def cases_of(setting: Setting) -> dict[str, dict[str, Any]]:
    """The settings of an evaluation with ranks, without, of TREC text, and with all measures; their data is made."""
    data = setting.data(20_000)
    text = make_text(setting.scaled(20, 2), setting.scaled(30, 20), setting.seed, setting.cache)
    return {
        "with ranks": case(data.ranked),
        "no ranks": case(data.unranked),
        "text": case(text["gzipped"]),
        "measures": {**case(data.ranked), "measures": AT_CUTOFFS},
    }


def cost(setting: Setting) -> Scenario:
    """Plans, scans, exchanges and bytes of the evaluations of `cases_of`."""
    cases = cases_of(setting)
    programs = [
        counted(word, engine, {f"{word}, {name}": of for name, of in cases.items()}, AS_AT_SCALE)
        for word, engine in (("embedded", "embedded"), ("classic", "spark"))
    ]
    targets = [
        Target(f"classic, {name}", limit, figure=figure)
        for name in cases
        for figure, limit in (("scans_of_results", 2), ("exchanges_of_results", 1), ("bytes_spilled", 0))
    ]
    return Scenario("Cost", programs, targets)


def sizing(setting: Setting) -> Scenario:
    """Classic Spark at three sizes, and what the growth between them says for a cluster."""
    programs = []
    for results in SIZES:
        data = setting.data(results // 100)
        cases = {f"{results:,}": case(data.ranked), f"{results:,}, no ranks": case(data.unranked)}
        programs.append(counted(f"classic, {results:,}", "spark", cases, advised()))
    largest = [f"{SIZES[-1]:,}{extra}" for extra in ("", ", no ranks")]
    return Scenario("Sizing", programs, [Target(name, 0, figure="bytes_spilled") for name in largest])


_OF_DATA = (peers, text, large_text, deep, skew, growth, runs)
_ALL = (*_OF_DATA, paired.compare, warm, library, small, example, cost, sizing)
SCENARIOS: Mapping[str, Callable[[Setting], Scenario]] = {of.__name__.replace("_", "-"): of for of in _ALL}
