"""The same text evaluated twice: parsed anew by every plan, and parsed once."""

import dataclasses
import json
import sys
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import Any
from unittest import mock

from ndcg_spark.contract.held import held
from plain_cases import DAMAGED, ODD, PLAIN, ending
from pyarrow import dataset
from pyspark.sql import Column, DataFrame

from ndcg_spark import Convention, config, rules
from ndcg_spark.config import JudgmentsConfig, ResultsConfig
from ndcg_spark.conforming import conform_rows
from ndcg_spark.contract import counting
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.errors import NdcgSparkError
from ndcg_spark.inputs import parsed_once
from ndcg_spark.inputs.read import read_judgments, read_results
from ndcg_spark.job.clock import Clock
from ndcg_spark.job.evaluating import run_on
from ndcg_spark.schemas import JUDGMENTS, RESULTS

QUERIES, DEEP = 12, 9
#: The files that the engine reads though most of them are plain, as there are many and none has many lines.
SMALL = "small files"
#: For each format, lines that are uncommon and good, then lines that are bad.
UNCOMMON = {
    "trec": ["q1\tQ0\td91\t 1 \t7.50\tb  more", " q1  Q0 d92 2\t7.25 b\t\r", "q1 Q0 d93 3 best b", "q1 Q0 d94"],
    "csv": ['b,q1,"d""91",7.50,1', "b,q1,d92,+7.25,2\r", "b,q1,d93,best,3", "b,q1"],
    "jsonl": [
        '{"run": "b", "query_id": "q1", "doc_id": "d\\u00e991", "score": "7.50", "rank": 1}',
        ' {"rank": 2, "run": "b", "query_id": "q1", "doc_id": "d92", "score": 725e-2}',
        '{"run": "b", "query_id": "q1", "doc_id": "d93", "score": "best", "rank": 3}',
        '{"run": "b", "query_id": ["q1"], "doc_id": "d94", "score": 1, "rank": 4}',
    ],
}


def written(folder: Path, kind: str) -> dict[str, Any]:
    """The settings of an evaluation of a run whose ranks are right in all lists but one, and of a few odd lines."""
    rows = [
        {"run": "a", "query_id": f"q{query}", "doc_id": f"d{at}", "score": at if query == 3 else -at, "rank": at}
        for query in range(QUERIES)
        for at in range(1, DEEP)
    ]
    lines = {
        "trec": ["{query_id} Q0 {doc_id} {rank} {score} {run}".format(**row) for row in rows],
        "csv": [
            "run,query_id,doc_id,score,rank",
            *("{run},{query_id},{doc_id},{score},{rank}".format(**r) for r in rows),
        ],
        "jsonl": [json.dumps(row) for row in rows],
    }
    results, judgments = folder / f"results.{kind}", folder / "judgments.qrels"
    results.write_text("\n".join([*lines[kind], *UNCOMMON[kind]]) + "\n", encoding="utf-8")
    judged = [f"q{query} 0 d{at} {at % 3}" for query in range(QUERIES - 2) for at in range(1, DEEP)]
    judgments.write_text("\n".join([*judged, "q1 0 d91 high"]) + "\n", encoding="utf-8")
    return {
        "judgments": {"path": str(judgments)},
        "results": {"path": str(results)},
        "max_rejected_fraction": 0.1,
        "cutoffs": [2, 5],
        "date": "2026-11-20",
    }


def outcome(engine: Engine, settings: dict[str, Any], output: Path) -> dict[str, Any]:
    """What an evaluation prints and publishes, without what differs from one evaluation to the next."""
    found = run_on(engine, config.validate({**settings, "output": str(output)}, "test"), lambda *_: None, Clock())
    engine.scratch.remove()
    kept = {}
    for name in ("query_scores", "rejected_rows"):
        rows = dataset.dataset(output / name, partitioning="hive").to_table().to_pylist()
        rows = [{key: str(value) for key, value in row.items() if key != "evaluation_id"} for row in rows]
        kept[name] = sorted(rows, key=str)
    (record,) = output.glob("_evaluations/**/*.json")
    fingerprints = [table["fingerprint"] for table in json.loads(record.read_text(encoding="utf-8"))["inputs"].values()]
    return {"counts": found.counts, "rejected": found.rejected, "fingerprints": fingerprints, **kept}


def both_ways(engine: Engine, folder: Path, kinds: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """The outcome of each of these formats, parsed by every plan and parsed once."""
    found: dict[str, list[dict[str, Any]]] = {}
    for kind in kinds:
        settings = written(folder, kind)
        for least in (parsed_once.LEAST_BYTES, 0):
            found.setdefault(kind, []).append(parsed(engine, settings, folder / f"{kind}-{least}", least=least))
    return found


def parsed(engine: Engine, settings: dict[str, Any], output: Path, *, least: int) -> dict[str, Any]:
    """The outcome where text of so many bytes, and longer text, is parsed once."""
    with mock.patch.multiple(parsed_once, LEAST_BYTES=least, LEAST_MEAN=0):
        return outcome(engine, settings, output)


def rounded(found: dict[str, Any]) -> dict[str, Any]:
    """An outcome whose scores are rounded, as engines add them up in another order."""
    scores = [{key: _rounded(value) for key, value in row.items()} for row in found["query_scores"]]
    return {**found, "query_scores": sorted(scores, key=str)}


def _rounded(text: str) -> str:
    try:
        return f"{float(text):.12g}"
    except ValueError:
        return text


def files(folder: Path, texts: Mapping[str, bytes]) -> Path:
    """The folder with a file of each of these texts, by its name."""
    folder.mkdir()
    for name, text in texts.items():
        (folder / f"{name.replace('/', ' ')}{ending(name)}").write_bytes(text)
    return folder


def in_files(engine: Engine, folder: Path) -> list[dict[str, Any]]:
    """The outcome of one evaluation of all plain and odd TREC runs, a file each, parsed by every plan and once."""
    judgments = folder / "some.qrels"
    judgments.write_text("q1 0 d1 1\nq2 0 d2 2\n", encoding="utf-8")
    settings = {
        "judgments": {"path": str(judgments)},
        "results": {"path": str(files(folder / "runs", {**PLAIN, **ODD})), "run_from": "file"},
        "max_rejected_fraction": 0.9,
        "cutoffs": [1, 5],
        "date": "2026-11-20",
    }
    return [
        parsed(engine, settings, folder / f"in-files-{least}", least=least) for least in (parsed_once.LEAST_BYTES, 0)
    ]


def refusals(engine: Engine, folder: Path) -> dict[str, list[str]]:
    """By each text that no evaluation accepts, what is said of it among plain text, parsed by every plan and once."""
    said: dict[str, list[str]] = {}
    for name, text in DAMAGED.items():
        path = files(folder / f"damaged {name}", {**PLAIN, name: text})
        settings = {"judgments": {"path": str(folder / "some.qrels")}, "results": {"path": str(path)}}
        for least in (parsed_once.LEAST_BYTES, 0):
            try:
                parsed(engine, settings, folder / "refused", least=least)
            except NdcgSparkError as error:
                said.setdefault(name, []).append(f"{type(error).__name__}: {error}")
    return said


def rows(engine: Engine, folder: Path) -> dict[str, list[list[Any]]]:
    """By where the columns come from: whether plain files are looked for, and types and rows, kept in each way."""
    runs = files(folder / "some runs", {**PLAIN, **ODD})
    for name in ("run=1", "run=a%2Fb", "run=__HIVE_DEFAULT_PARTITION__"):
        (folder / "folders").mkdir(exist_ok=True)
        files(folder / "folders" / name, {name: text for name, text in PLAIN.items() if "gzip" not in name})
        files(folder / "folders" / name / "more", {"two blanks": ODD["two blanks"]})
    grades = files(folder / "grades", {"plain": b"q1 d1 1\nq1 d2 -0\n", "odd": b"q1  d1 1\nq1 d2 high\n"})
    # The engine alone would find no columns in a file without a byte.
    empty = files(folder / "one empty", {"blanks": PLAIN["blanks"], "nothing": b""})
    configs = {
        "a file beside an empty one": ResultsConfig(path=[str(empty)]),
        "fields": ResultsConfig(path=[str(runs)]),
        "files": ResultsConfig(path=[str(runs)], run_from="file"),
        "the configuration": ResultsConfig(path=[str(runs)], run="x"),
        "folders": ResultsConfig(path=[str(folder / "folders")]),
        "three fields": JudgmentsConfig(path=[str(grades)], format="trec"),
        "three fields and the configuration": JudgmentsConfig(path=[str(grades)], format="trec", relevance=-0.0),
    }
    with mock.patch.multiple(parsed_once, LEAST_BYTES=0, LEAST_MEAN=0):
        found = {name: [*_rows_both_ways(engine, config)] for name, config in configs.items()}
    with mock.patch.object(parsed_once, "LEAST_BYTES", 0):
        found[SMALL] = [*_rows_both_ways(engine, configs["fields"])]
    return found


def _rows_both_ways(engine: Engine, config: ResultsConfig | JudgmentsConfig) -> Iterator[list[Any]]:
    of_results = isinstance(config, ResultsConfig)
    source = read_results(engine, config, config.path) if of_results else read_judgments(engine, config, config.path)
    schema = RESULTS if of_results else JUDGMENTS
    for text in (dataclasses.replace(source.text, layout=None), source.text):
        with mock.patch.object(parsed_once, "write_plain", wraps=parsed_once.write_plain) as plain:
            kept = text.kept(source.table, partial(conform_rows, schema=schema, where=source.name)).rows
        found = sorted(repr(tuple(row.values())) for row in kept.toArrow().to_pylist())
        yield [plain.call_count, kept.dtypes, found]
    engine.scratch.remove()


def bad_rows(engine: Engine, folder: Path) -> dict[str, Any]:
    """The documents of bad rows, in an odd file alone and in a plain one too; of the former the plain one is gone."""
    found = {}
    for name, plain in {"odd": "q1 Q0 d1 1 7.5 a\n", "both": "q1 Q0 d1 0 7.5 a\nq1 Q0 d2 2 7 a\n"}.items():
        place = folder / f"bad-{name}"
        place.mkdir()
        (place / "plain.run").write_text(plain, encoding="utf-8")
        (place / "odd.run").write_text("q1 Q0  d3 1 nan b\nq1 Q0 d4 2 7 b\n", encoding="utf-8")
        config = ResultsConfig(path=[str(place)])
        with mock.patch.multiple(parsed_once, LEAST_BYTES=0, LEAST_MEAN=0):
            rows = held(read_results(engine, config, config.path), RESULTS, _reason)
        counts = rows.with_breaches(counting.count_results(rows.rows, rows.reason, rows.rows.select("query_id")))
        if name == "odd":
            (place / "plain.run").unlink()
        documents = [row["doc_id"] for table in rows.rejected(counts) for row in table.collect()]
        found[name] = [[(breach.reason, breach.rows) for breach in counts.breaches], sorted(documents)]
    engine.scratch.remove()
    return found


def _reason(table: DataFrame) -> Column:
    return rules.reason_of(rules.broken_results(dict(table.dtypes), Convention(ties="rank")))


def on_embedded(folder: str) -> None:
    """Print the outcomes as JSON; the embedded engine needs a process of its own."""
    with open_engine("embedded") as opened:
        place = Path(folder)
        found = {
            "formats": both_ways(opened, place, UNCOMMON),
            "files": in_files(opened, place),
            "refusals": refusals(opened, place),
            "rows": rows(opened, place),
            "bad rows": bad_rows(opened, place),
        }
        sys.stdout.write(json.dumps(found))
