"""Converts results that are text, and does nothing else: python -m scripts.benchmark.conversion JUDGMENTS RESULTS."""

import json
import sys

from ndcg_spark.config import validate
from ndcg_spark.engine import open_engine
from ndcg_spark.inputs.read import read_judgments, read_results


def main(judgments: str, results: str) -> None:
    """Convert both tables, for the embedded engine."""
    config = validate({"judgments": {"path": judgments}, "results": {"path": results}}, "arguments")
    with open_engine("embedded") as engine:
        judged = read_judgments(engine, config.judgments, [judgments])
        returned = read_results(engine, config.results, [results])
    sys.stdout.write(json.dumps({"judgments": judged.expected_rows, "results": returned.expected_rows}) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
