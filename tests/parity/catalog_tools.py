"""What is shown of random shops, and what the tools of recommenders say of it: thirty cases each.

It needs nothing but the tools, which pin packages of their own. Run it in the environment of each,
and it adds what that tool says to the file: python tests/parity/catalog_tools.py FILE
"""

import importlib.util
import json
import random
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

CUTOFFS = [1, 3, 5]
#: Every list is at least so long.
SHORTEST = 3
SHOPS, RUNS = 3, 10


class Case(NamedTuple):
    #: (user, item) of the training, some more than once.
    used: list[tuple[int, int]]
    catalog: list[int]
    #: By item.
    category: dict[int, str]
    #: (user, item, rank).
    shown: list[tuple[int, int, int]]


def cases(*, only_known: bool = False) -> dict[str, Case]:
    """Thirty runs by name: ten in each of three shops, `only_known` with items of the catalog."""
    found = {}
    for shop in range(SHOPS):
        chance = random.Random(7_000 + shop)  # noqa: S311  # cases that repeat are what is wanted
        catalog = list(range(1, 41))
        category = {item: chance.choice("abcde") for item in range(1, 46)}
        used = []
        for user in range(1, 31):
            for item in chance.sample(catalog[:30], chance.randint(1, 12)):
                used += [(user, item)] * chance.choice([1, 1, 2])
        pool = catalog if only_known else list(range(1, 46))
        for run in range(RUNS):
            shown = []
            for user in range(1, 21):
                own = chance.sample(pool, chance.randint(SHORTEST, 8))
                shown += [(user, item, rank) for rank, item in enumerate(own, start=1)]
            found[f"{shop}-{run}"] = Case(used, catalog, category, shown)
    return found


def frames(case: Case) -> tuple[Any, Any]:
    """The training and what is shown, as RecTools calls their columns."""
    import pandas as pd

    used = pd.DataFrame(case.used, columns=["user_id", "item_id"])
    return used, pd.DataFrame(case.shown, columns=["user_id", "item_id", "rank"])


def rectools(case: Case, k: int) -> dict[str, float]:
    from rectools.metrics import AvgRecPopularity, CatalogCoverage, MeanInvUserFreq

    used, shown = frames(case)
    used = used.assign(weight=1, datetime="2026-01-01")
    return {
        "items": CatalogCoverage(k).calc(shown, case.catalog),
        "coverage": CatalogCoverage(k, normalize=True).calc(shown, case.catalog),
        "novelty": MeanInvUserFreq(k).calc(shown, used),
        "popularity": AvgRecPopularity(k).calc(shown, used),
        "popularity(scale=share)": AvgRecPopularity(k, normalize=True).calc(shown, used),
    }


def replay(case: Case, k: int) -> dict[str, float]:
    from replay.metrics import CategoricalDiversity, Coverage, Surprisal

    used, shown = frames(case)
    shown = shown.assign(score=-shown["rank"].astype(float))
    shown["category"] = shown["item_id"].map(case.category)
    columns = {"query_column": "user_id", "rating_column": "score"}
    items = {"item_column": "item_id", **columns}
    diversity = CategoricalDiversity(k, category_column="category", **columns)
    return {
        "coverage": Coverage(k, **items)(shown, used)[f"Coverage@{k}"],
        "novelty": Surprisal(k, **items)(shown, used)[f"Surprisal@{k}"],
        "categories": diversity(shown)[f"CategoricalDiversity@{k}"],
    }


def evidently(case: Case, k: int) -> dict[str, float]:
    from evidently.legacy.metrics import NoveltyMetric, PersonalizationMetric, PopularityBias
    from evidently.legacy.pipeline.column_mapping import ColumnMapping, RecomType
    from evidently.legacy.report import Report

    used, shown = frames(case)
    shown = shown.rename(columns={"rank": "prediction"}).assign(target=1)
    columns = ColumnMapping(
        recommendations_type=RecomType.RANK,
        user_id="user_id",
        item_id="item_id",
        prediction="prediction",
        target="target",
    )
    metrics = [
        NoveltyMetric(k),
        PopularityBias(k),
        PopularityBias(k, normalize_arp=True),
        PersonalizationMetric(k),
    ]
    report = Report(metrics)
    report.run(
        reference_data=None,
        current_data=shown,
        column_mapping=columns,
        additional_data={"current_train_data": used},
    )
    novelty, bias, normalized, personal = (metric.get_result() for metric in metrics)
    said = {
        "coverage": bias.current_coverage,
        "gini": bias.current_gini,
        "novelty": novelty.current_value,
        "popularity": bias.current_apr,
        "popularity(scale=max)": normalized.current_apr,
    }
    # Of shorter lists it divides by k all the same.
    return said | ({"personalization": personal.current_value} if k <= SHORTEST else {})


def lenskit(case: Case, k: int) -> dict[str, float]:
    from lenskit.data import ItemList
    from lenskit.metrics.ranking import ExposureGini, ListGini

    lists: dict[int, list[int]] = {}
    for user, item, _ in case.shown:
        lists.setdefault(user, []).append(item)
    said = {}
    size = len(case.catalog)
    for name, metric in (
        ("gini", ListGini(k, items=size)),
        ("gini(p=0.85)", ExposureGini(k, items=size)),
    ):
        values = []
        for own in lists.values():
            values.append(metric.compute_list_data(ItemList(own, ordered=True), None))
        said[name] = metric.global_aggregate(values)
    return said


def recommenders(case: Case, k: int) -> dict[str, float]:
    from recommenders.evaluation.python_evaluation import catalog_coverage, novelty

    used, shown = frames(case)
    shown = shown[shown["rank"] <= k]
    # It refuses to be shown what a user has used, and asks for no more of a user.
    shown = shown.assign(user_id=shown["user_id"] + 1_000)
    columns = {"col_user": "user_id", "col_item": "item_id"}
    said = {"coverage": catalog_coverage(used, shown, **columns)}
    # Over rows and not over lists, which is the same where all are as long.
    return said | ({"novelty": novelty(used, shown, **columns)} if k <= SHORTEST else {})


#: By preset, the package, the module that shows that it is there, and what it is asked.
TOOLS: dict[str, tuple[str, str, Callable[[Case, int], dict[str, float]]]] = {
    "rectools": ("rectools", "rectools", rectools),
    "replay": ("replay-rec", "replay", replay),
    "evidently": ("evidently", "evidently", evidently),
    "lenskit": ("lenskit", "lenskit", lenskit),
    "recommenders": ("recommenders", "recommenders", recommenders),
}


def ask(preset: str) -> dict[str, Any]:
    """What a tool says of every case, by measure, cutoff and run."""
    package, _, function = TOOLS[preset]
    said: dict[str, Any] = {"tool": f"{package} {version(package)}"}
    for run, case in cases(only_known=preset == "lenskit").items():
        for k in CUTOFFS:
            for measure, value in function(case, k).items():
                said.setdefault(measure, {}).setdefault(str(k), {})[run] = float(value)
    return said


def is_installed(preset: str) -> bool:
    return importlib.util.find_spec(TOOLS[preset][1]) is not None


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    path = Path(sys.argv[1])
    golden = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    golden |= {preset: ask(preset) for preset in TOOLS if is_installed(preset)}
    path.write_text(json.dumps(dict(sorted(golden.items())), indent=1) + "\n", encoding="utf-8")
