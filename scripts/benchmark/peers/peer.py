"""Runs a peer: a module of this folder whose `scores` gives the mean NDCG of folders of judgments and results.

python peer.py MODULE JUDGMENTS RESULTS OUTPUT CUTOFF prints it as JSON.
"""

import importlib
import json
import sys
from pathlib import Path


def main(module: str, judgments: str, results: str, output: str, cutoff: str) -> None:
    """Run the peer to its end and print."""
    ndcg = importlib.import_module(module).scores(judgments, results, output, int(cutoff))
    sys.stdout.write(json.dumps({"ndcg": {cutoff: float(ndcg)}}) + "\n")


def night(output: str, table: str) -> str:
    """The file of a table, made where ours would be: partitioned by dataset and date."""
    folder = Path(output) / table / "dataset=default" / "evaluated_on=2026-11-20"
    folder.mkdir(parents=True)
    return str(folder / "part-00000.parquet")


if __name__ == "__main__":
    main(*sys.argv[1:])
