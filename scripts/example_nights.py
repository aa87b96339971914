"""Evaluates the example as four weeks of nights, as data for trend, explain and report.

python scripts/example_nights.py OUTPUT : scripts/run-example.sh --nights calls it.

The scores of the rankers vary a little from night to night. From the third week on, more documents are judged, and on one
night the ranker `hybrid` is broken for German queries. Every run makes the same nights.
"""

import csv
import datetime
import random
import sys
import tempfile
from pathlib import Path

from ndcg_spark.config import EvaluationConfig, load
from ndcg_spark.engine import Engine, open_engine
from ndcg_spark.job.evaluate_inputs import evaluate

ROOT = Path(__file__).resolve().parents[1]
FIRST, NIGHTS = datetime.date(2026, 10, 24), 28
#: The first night with more judgments, and the night on which a ranker is broken for German queries, from 0.
MORE_JUDGED, BROKEN = 14, 24


def main(output: str) -> None:
    """Evaluate every night and print what to do with them."""
    with open_engine("embedded") as engine, tempfile.TemporaryDirectory() as folder:
        for number in range(NIGHTS):
            _evaluate(engine, Path(folder), output, number)
            if sys.stderr.isatty():
                sys.stderr.write(
                    f"\rnight    {number + 1} of {NIGHTS}" + "\n" * (number + 1 == NIGHTS)
                )
    sys.stderr.write(f"wrote    {output}\n")
    for command in (
        f"ndcg-spark compare {output} --baseline bm25",
        f"ndcg-spark trend {output}",
        f"ndcg-spark explain {output} --query wireless-mouse --run dense --baseline bm25",
        f"ndcg-spark compare {output} --date 2026-11-17 --baseline-date 2026-11-16 --measures ndcg@10 "
        "--slices conf/example/queries.csv",
        f"ndcg-spark report {output} --baseline bm25 --html report.html",
    ):
        sys.stdout.write(f"{command}\n")


def _evaluate(engine: Engine, folder: Path, output: str, number: int) -> None:
    chance = random.Random(number)  # noqa: S311  # it makes an example
    judgments = folder / "judgments.qrels"
    judgments.write_text(_judgments(number), encoding="utf-8")
    german = _german() if number == BROKEN else set()
    for file in sorted((ROOT / "conf/example/runs").glob("*.run")):
        broken = german if file.stem == "hybrid" else set()
        lines = [
            _varied(line, broken, chance) for line in file.read_text(encoding="utf-8").splitlines()
        ]
        (folder / file.name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    settings = {
        "judgments": {"path": str(judgments)},
        "results": {"path": [str(file) for file in sorted(folder.glob("*.run"))]},
        "output": output,
        "documents": "all",
        "date": (FIRST + datetime.timedelta(days=number)).isoformat(),
    }
    config: EvaluationConfig = load(ROOT / "conf/example.toml", settings)
    evaluate(config, engine=engine)


def _judgments(number: int) -> str:
    """The judgments, from a certain night on with two more for each query."""
    text = (ROOT / "conf/example/judgments.qrels").read_text(encoding="utf-8")
    if number < MORE_JUDGED:
        return text
    judged = {(line.split()[0], line.split()[2]) for line in text.splitlines()}
    more: dict[str, list[str]] = {}
    for line in (ROOT / "conf/example/runs/dense.run").read_text(encoding="utf-8").splitlines():
        query, _, document = line.split()[:3]
        known = any(line.startswith(f"{query} ") for line in text.splitlines())
        if known and (query, document) not in judged and len(more.setdefault(query, [])) < 2:
            more[query].append(f"{query} 0 {document} {len(more[query])}\n")
    return text + "".join(line for lines in more.values() for line in lines)


def _german() -> set[str]:
    """The German queries."""
    with (ROOT / "conf/example/queries.csv").open(encoding="utf-8", newline="") as file:
        return {row["query_id"] for row in csv.DictReader(file) if row["language"] == "de"}


def _varied(line: str, broken: set[str], chance: random.Random) -> str:
    """A result whose score varies a little; the scores of a broken query are reversed."""
    query, zero, document, rank, score, run = line.split()
    value = float(score) * (1 + chance.uniform(-0.005, 0.005))
    return f"{query} {zero} {document} {rank} {-value if query in broken else value:.6f} {run}"


if __name__ == "__main__":
    main(sys.argv[1])
