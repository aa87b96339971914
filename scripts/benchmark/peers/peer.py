"""What the peer programs share: their arguments and the line of JSON they print."""

import json
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

#: What a peer is given: the folders of judgments, results and output, the cutoffs, and options of its own as text.
Peer = Callable[..., Mapping[int, float]]


def main(peer: Peer) -> None:
    """Run the peer as a whole process that prints the mean NDCG at every cutoff.

    PEER JUDGMENTS RESULTS OUTPUT CUTOFFS [OPTION]...
    """
    judgments, results, output, cutoffs, *options = sys.argv[1:]
    ndcg = peer(judgments, results, output, [int(cutoff) for cutoff in cutoffs.split(",")], *options)
    sys.stdout.write(json.dumps({"ndcg": {str(cutoff): float(value) for cutoff, value in ndcg.items()}}) + "\n")


def night(output: str, table: str) -> str:
    """The file of a table, made where ours would be: partitioned by dataset and date."""
    folder = Path(output) / table / "dataset=default" / "evaluated_on=2026-11-20"
    folder.mkdir(parents=True)
    return str(folder / "part-00000.parquet")


def discount(rank: int) -> float:
    """What a gain at a rank is multiplied by."""
    return 1.0 / math.log2(rank + 1)
