"""What is measured, by name: ndcg_spark on each engine and its peers, each a whole process that prints its NDCG."""

import dataclasses
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from scripts.benchmark.data import Files, Setting, link_runs
from scripts.benchmark.measure import PROJECT

EXAMPLE = PROJECT / "conf/example"
_CLIENT = "import pandas, pyarrow, pyspark.sql.connect.session, pysail.spark"
#: The number of queries of the usual data, with 9.5 million results, and the rank at which every program cuts lists.
QUERIES, CUTOFF = 96_000, "10"


@dataclasses.dataclass(frozen=True)
class Program:
    """A command to measure; OUTPUT in it stands for a new folder."""

    name: str
    command: Sequence[str]
    #: The program whose NDCG it must reproduce.
    like: str | None = None
    env: Mapping[str, str] = dataclasses.field(default_factory=dict)


def module(name: str, module: str, *arguments: str, **changes: Any) -> Program:
    """A module with these arguments."""
    return Program(name, [sys.executable, "-m", module, *arguments], **changes)


def ours(
    name: str, files: Files, preset: str = "standard", engine: str = "embedded", **changes: Any
) -> Program:
    """`ndcg-spark evaluate` with its output kept."""
    options = [
        "--judgments",
        str(files.judgments),
        "--results",
        str(files.results),
        "--cutoffs",
        CUTOFF,
    ]
    options += [
        "--convention",
        preset,
        "--engine",
        engine,
        "--output",
        "OUTPUT",
        "--format",
        "json",
    ]
    return module(name, "ndcg_spark", "evaluate", *options, **changes)


def peer(name: str, files: Files, like: str, called: str = "") -> Program:
    """A function of `peers` on the same files, under its own name or a different one."""
    return module(
        called or name,
        "scripts.benchmark.peers",
        name,
        *map(str, files),
        "OUTPUT",
        CUTOFF,
        like=like,
    )


def peers(setting: Setting) -> list[Program]:
    """ndcg_spark and every peer on the same files; ndcg_spark once more for every preset of a peer, and without ranks.

    No peer reads ranks. ndcg_spark leaves out results that are too deep by their ranks; without ranks it sorts as the peers do.
    """
    ranked, unranked = setting.parquet(QUERIES)
    return [
        ours("embedded", ranked),
        ours("embedded, no ranks", unranked, like="embedded"),
        peer("duckdb", ranked, "embedded"),
        peer("duckdb_checked", ranked, "embedded"),
        ours("embedded, pytrec_eval", ranked, "pytrec_eval"),
        peer("pytrec_eval", ranked, "embedded, pytrec_eval"),
        ours("embedded, mllib_binary", ranked, "mllib_binary"),
        ours(
            "classic, mllib_binary", ranked, "mllib_binary", "spark", like="embedded, mllib_binary"
        ),
        ours(
            "classic, mllib_binary, no ranks",
            unranked,
            "mllib_binary",
            "spark",
            like="embedded, mllib_binary",
        ),
        peer("mllib", ranked, "embedded, mllib_binary"),
    ]


def text(setting: Setting) -> list[Program]:
    """The same TREC runs in every text format, against pytrec_eval and against gunzip only."""
    shapes = setting.text(143, 30)
    return [
        *(ours(shape, files, "pytrec_eval", like="gzipped") for shape, files in shapes.items()),
        *(
            peer("pytrec_eval", shapes[of], "gzipped", f"pytrec_eval, {of}")
            for of in ("gzipped", "plain")
        ),
        Program("zcat", ["sh", "-c", 'zcat "$0"/*.gz | wc -l', str(shapes["gzipped"].results)]),
    ]


def runs(setting: Setting) -> list[Program]:
    """Ten and a hundred runs in their own folders, with the memory pool of an 8 GiB machine."""
    pool = {"SAIL_RUNTIME__MEMORY_POOL__FAIR__MAX_SIZE": str(int(0.6 * 8 * 2**30))}
    programs = []
    for number in (10, 100):
        name, (ranked, unranked) = (
            f"{number} runs",
            (link_runs(files, number) for files in setting.parquet(QUERIES)),
        )
        programs += [
            ours(name, ranked, env=pool),
            ours(f"{name}, no ranks", unranked, env=pool, like=name),
            peer("duckdb_checked", unranked, name, f"duckdb_checked, {name}"),
        ]
    return programs


def library(setting: Setting) -> list[Program]:
    """The library as a notebook calls it, twenty times in a session of each engine."""
    calls = max(1, round(20 * setting.scale))
    return [
        module(engine, "scripts.benchmark.library", engine, str(calls))
        for engine in ("embedded", "spark")
    ]


def commands(setting: Setting) -> list[Program]:
    """What people wait for: the commands on the example and its nights, as multiples of an import of pandas."""
    nights = str(setting.nights())
    evaluate = ["--judgments", str(EXAMPLE / "judgments.qrels"), "--results", str(EXAMPLE / "runs")]
    evaluate += ["--slices", str(EXAMPLE / "queries.csv"), "--cutoffs", "1,3,10,all"]
    evaluate += ["--engine", "embedded"]
    return [
        Program("import pandas, pyarrow", [sys.executable, "-c", "import pandas, pyarrow"]),
        # The minimum that an evaluation on the embedded engine imports.
        Program("import Spark's client", [sys.executable, "-c", _CLIENT]),
        module("evaluate", "ndcg_spark", "evaluate", *evaluate),
        module("evaluate, published", "ndcg_spark", "evaluate", *evaluate, "--output", "OUTPUT"),
        module("compare", "ndcg_spark", "compare", nights, "--baseline", "bm25"),
        module("trend", "ndcg_spark", "trend", nights),
        module("nights", "ndcg_spark", "nights", nights),
        module("help", "ndcg_spark", "--help"),
    ]


def cases_of(setting: Setting) -> dict[str, dict[str, Any]]:
    """The settings of evaluations for `cost`: with ranks, without ranks, TREC text, all measures, and the example."""
    ranked, unranked = setting.parquet(20_000)
    files = {
        "with ranks": ranked,
        "no ranks": unranked,
        "text": setting.text(20, 20)["gzipped"],
        "measures": ranked,
        "catalog": ranked,
        "catalog, no ranks": unranked,
    }
    cases: dict[str, dict[str, Any]] = {
        name: {
            "judgments": {"path": str(of.judgments)},
            "results": {"path": str(of.results)},
            "cutoffs": CUTOFF,
        }
        for name, of in files.items()
    }
    # Every measure that needs only the first ranks of a list.
    cases["measures"]["measures"] = (
        "ndcg",
        "precision",
        "recall",
        "ap",
        "rr",
        "success",
        "rbp",
        "err",
        "judged",
    )
    for name in ("catalog", "catalog, no ranks"):
        cases[name]["measures"] = f"nDCG@{CUTOFF} Items@{CUTOFF} Personalization@{CUTOFF}"
    cases["example"] = {
        "judgments": {"path": str(EXAMPLE / "judgments.qrels")},
        "results": {"path": str(EXAMPLE / "runs")},
        "query_attributes": {"path": str(EXAMPLE / "queries.csv")},
    }
    return cases


SCENARIOS = {scenario.__name__: scenario for scenario in (peers, text, runs, library, commands)}
