"""Language models in place of people on TREC-COVID and TREC DL 2019: few grades of people find what they hide."""

import collections
import gzip
import math

import judges
import numpy as np
import pytest

from ndcg_spark.comparison.human_sample import probabilities

DRAWS = 300


def read_qrels(path):
    grades = {}
    for line in path.read_text(encoding="utf-8").splitlines():
        query, _, document, grade = line.split()
        grades[query, document] = max(int(grade), 0)
    return grades


def read_run(path, queries):
    scored = collections.defaultdict(list)
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        for line in lines:
            query, _, document, _, score, _ = line.split()
            if query in queries:
                scored[query].append((float(score), document))
    ranked = {}
    for query, rows in scored.items():
        ranked[query] = [document for _, document in sorted(rows, reverse=True)[:30]]
    return ranked


def machine_grades(human, model, rng):
    grades = judges.graded(np.array(list(human.values())), judges.MODELS[model], rng)
    return dict(zip(human, grades.tolist(), strict=True))


def liked_by_the_judge(lists, human, machine, rng):
    """The rankings after a change: what the judge grades too high moves up."""
    changed = {}
    for query, listed in lists.items():
        first, rest = listed[:15], listed[15:]
        keys = {}
        for place, document in enumerate(first):
            key = query, document
            liked = machine.get(key, 0) - human.get(key, 0)
            keys[document] = place - liked + rng.normal()
        changed[query] = sorted(first, key=keys.get) + rest
    return changed


def check(population, many, rng):
    """Many samples: their mean is the truth, and their intervals cover it."""
    pi = probabilities(population.moved, many)
    found = [population.estimate(pi, rng) for _ in range(DRAWS)]
    means = np.array([one.difference for one in found])
    assert abs(means.mean() - population.truth) < 4 * means.std() / math.sqrt(DRAWS)
    ends = [one.these_queries[1:3] for one in found]
    covered = sum(low <= population.truth <= high for low, high in ends)
    assert covered / DRAWS > 0.935 - 3 * math.sqrt(0.05 * 0.95 / DRAWS)
    return found


@pytest.mark.parametrize("model", judges.MODELS)
def test_on_deep_learning_2019_people_find_a_change_that_only_the_judge_likes(shared_data, model):
    folder = shared_data / "trec-dl-2019"
    human = read_qrels(folder / "qrels.txt")
    before = read_run(folder / "bm25.run.gz", {query for query, _ in human})
    rng = np.random.default_rng(1)
    machine = machine_grades(human, model, rng)
    after = liked_by_the_judge(before, human, machine, rng)
    population = judges.of_lists(human, machine, before, after)
    found = check(population, 50, rng)
    assert found[0].machine > 0.01
    assert population.truth < -0.02
    right = [one.difference < 0 for one in found]
    assert sum(right) > 0.95 * DRAWS
    # Nobody is told with confidence that the change is an improvement.
    wrong = [one.these_queries.low > 0 for one in found]
    assert sum(wrong) == 0
    known = [one.these_queries.high < 0 for one in found]
    assert sum(known) > 0.6 * DRAWS


@pytest.mark.parametrize("model", judges.MODELS)
@pytest.mark.parametrize(
    "runs", [("bm25_baseline", "sab20.1.meta.docs"), ("IRIT_marked_base", "BBGhelani2")]
)
def test_on_trec_covid_people_correct_the_judge_of_two_real_runs(shared_data, runs, model):
    folder = shared_data / "trec-covid-round1"
    human = read_qrels(folder / "qrels.txt")
    queries = {query for query, _ in human}
    before, after = (read_run(folder / "runs" / f"{run}.gz", queries) for run in runs)
    rng = np.random.default_rng(2)
    population = judges.of_lists(human, machine_grades(human, model, rng), before, after)
    for many in (50, 100):
        check(population, many, rng)
