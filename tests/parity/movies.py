"""Ratings and predictions as MovieLens has them, ids that are whole numbers and scores that tie, and the tools' NDCG.

Run it with the tools' own Python to write what they say: python tests/parity/movies.py > tests/golden/movies.json
"""

import json
import random
import sys
from importlib.metadata import version
from typing import Any

import pandas as pd

CUTOFFS = [1, 3, 10]
USERS, ITEMS = 120, 60

Row = tuple[int, int, float]
#: By measure and cutoff.
Measures = dict[str, dict[str, float]]


def ratings() -> list[Row]:
    """(user, item, rating) of the users that rated something in the test period."""
    chance = random.Random(100)  # noqa: S311  # data that repeats is what is wanted
    return [
        (user, item, float(chance.randint(1, 5)))
        for user in range(1, USERS + 1)
        if user % 17
        for item in sorted(chance.sample(range(1, ITEMS + 1), chance.randint(1, 12)))
    ]


def predictions() -> list[Row]:
    """(user, item, score), by user and item: few distinct scores, so that most lists have ties across the cutoffs."""
    chance = random.Random(1000)  # noqa: S311  # the same
    return [
        (user, item, chance.choice([0.25, 0.5, 0.5, 0.75, 1.0]))
        for user in range(1, USERS + 1)
        if user % 13
        for item in sorted(chance.sample(range(1, ITEMS + 1), chance.randint(1, 40)))
    ]


def ranks() -> list[tuple[int, int, int]]:
    """(user, item, rank): the predictions by falling score, items in their order where scores tie."""
    ranked: dict[int, list[Row]] = {}
    for row in sorted(predictions(), key=lambda row: (row[0], -row[2], row[1])):
        ranked.setdefault(row[0], []).append(row)
    return [
        (user, item, rank)
        for user, rows in ranked.items()
        for rank, (_, item, _) in enumerate(rows, start=1)
    ]


def replay() -> dict[str, float]:
    from replay.metrics import NDCG

    columns = {"query_column": "user", "item_column": "item", "rating_column": "score"}
    truth = pd.DataFrame(ratings(), columns=["user", "item", "score"])
    returned = pd.DataFrame(predictions(), columns=["user", "item", "score"])
    means = NDCG(CUTOFFS, **columns)(returned, truth)
    return {str(k): float(means[f"NDCG@{k}"]) for k in CUTOFFS}


def recommenders() -> dict[str, float]:
    from recommenders.evaluation.python_evaluation import ndcg_at_k

    # It leaves out the users of only one of the tables, and users without a hit score 0.
    truth = pd.DataFrame(ratings(), columns=["userID", "itemID", "rating"])
    returned = pd.DataFrame(predictions(), columns=["userID", "itemID", "prediction"])
    return {str(k): float(ndcg_at_k(truth, returned, k=k, score_type="raw")) for k in CUTOFFS}


def rectools(*, achievable: bool) -> dict[str, float]:
    from rectools.metrics import NDCG

    truth = pd.DataFrame([row[:2] for row in ratings()], columns=["user_id", "item_id"])
    returned = pd.DataFrame(ranks(), columns=["user_id", "item_id", "rank"])
    return {
        str(k): float(NDCG(k, divide_by_achievable=achievable).calc(returned, truth))
        for k in CUTOFFS
    }


def replay_measures() -> Measures:
    from replay.metrics import MRR, HitRate, Precision, Recall

    columns = {"query_column": "user", "item_column": "item", "rating_column": "score"}
    truth = pd.DataFrame(ratings(), columns=["user", "item", "score"])
    returned = pd.DataFrame(predictions(), columns=["user", "item", "score"])
    asked = {"precision": Precision, "recall": Recall, "rr": MRR, "success": HitRate}
    means = {
        name: metric(CUTOFFS, **columns)(returned, truth).values() for name, metric in asked.items()
    }
    return {
        name: {str(k): float(v) for k, v in zip(CUTOFFS, values, strict=True)}
        for name, values in means.items()
    }


def recommenders_measures() -> Measures:
    from recommenders.evaluation import python_evaluation as tool

    truth = pd.DataFrame(ratings(), columns=["userID", "itemID", "rating"])
    returned = pd.DataFrame(predictions(), columns=["userID", "itemID", "prediction"])
    asked = {"precision": tool.precision_at_k, "recall": tool.recall_at_k, "ap": tool.map}
    return {
        name: {str(k): float(of(truth, returned, k=k)) for k in CUTOFFS}
        for name, of in asked.items()
    }


def rectools_measures() -> Measures:
    from rectools import metrics as tool

    truth = pd.DataFrame([row[:2] for row in ratings()], columns=["user_id", "item_id"])
    returned = pd.DataFrame(ranks(), columns=["user_id", "item_id", "rank"])
    asked = {"precision": tool.Precision, "recall": tool.Recall, "ap": tool.MAP, "rr": tool.MRR}
    asked["success"] = tool.HitRate
    return {
        name: {str(k): float(of(k).calc(returned, truth)) for k in CUTOFFS}
        for name, of in asked.items()
    }


#: The same of the measures beside NDCG.
MEASURES: dict[str, Any] = {
    "replay": replay_measures,
    "recommenders": recommenders_measures,
    "rectools": rectools_measures,
}
#: What each preset's tool is asked, and the package that has it.
TOOLS: dict[str, tuple[str, Any]] = {
    "replay": ("replay-rec", replay),
    "recommenders": ("recommenders", recommenders),
    "rectools": ("rectools", lambda: rectools(achievable=False)),
    "rectools_achievable": ("rectools", lambda: rectools(achievable=True)),
}

if __name__ == "__main__":
    said: dict[str, dict[str, Any]] = {
        preset: {"tool": f"{package} {version(package)}", **ask()}
        for preset, (package, ask) in TOOLS.items()
    }
    for preset, ask in MEASURES.items():
        said[preset]["measures"] = ask()
    json.dump(said, sys.stdout, indent=2)
    print()  # noqa: T201
