"""Nights of new judgments, evaluated from files: copies are made before the verdict, and the log keeps the change."""

import json

import pytest
from gated_nights import QUERIES, evaluated, settings
from logged import logged_steps

from ndcg_spark.nights.copies import has_copy
from ndcg_spark.nights.log import committed

#: The typographic one.
APOSTROPHE = "\u2019"


def nights(folder):
    return {night.evaluated_on: night for night in committed(str(folder / "out"))}


@pytest.fixture
def folder(tmp_path):
    evaluated(tmp_path, {**settings(tmp_path, "2026-11-01"), "accepted": "first"})
    return tmp_path


@pytest.mark.parametrize(("worse", "verdict"), [(0, ("pass", None)), (30, ("fail", "dropped"))])
def test_a_night_of_new_judgments_has_a_verdict(folder, worse, verdict):
    (night,) = evaluated(folder, settings(folder, "2026-11-02", worse=worse, regraded=20))
    assert (night["verdict"], night["reason"]) == verdict
    by_baseline = {result["baseline"]: result for result in night["results"]}
    sides = {side["side"]: side for side in by_baseline["good"]["sides"]}
    assert sides.keys() == {"old", "new"}
    if worse:
        # The sides are further apart than a chain may cross.
        assert "accepted" not in by_baseline
        assert any("hybrid" in note for note in night["notes"])
    else:
        # With the night before as the reference, the chain is these two sides.
        chain = [side for side in by_baseline["accepted"]["sides"] if side["reading"] == 1]
        ends = sorted(side["difference"] for side in chain)
        assert ends == pytest.approx(
            sorted(side["difference"] for side in sides.values()), abs=1e-12
        )
    first, second = nights(folder).values()
    assert has_copy(first, second.row["judgments_fingerprint"])
    assert has_copy(second, first.row["judgments_fingerprint"])
    links = {link["run"]: link for link in second.record["links"]}
    assert links.keys() == {"hybrid", "bm25"}
    assert (links["hybrid"]["before"], links["hybrid"]["queries_in_both"]) == (
        "2026-11-01",
        QUERIES,
    )
    assert links["hybrid"]["old"] == pytest.approx(sides["old"]["difference"])
    assert len(night["changes"]) == 2
    json.dumps(night, allow_nan=False)


def test_a_copy_that_cannot_be_made_is_a_warning(folder):
    # Ties that grades break cannot be scored again from the order that was kept.
    gain = {"convention": {"ties": "worst"}}
    (night,) = evaluated(
        folder, {**settings(folder, "2026-11-02", **gain), "accepted": "other ties"}
    )
    with logged_steps() as told:
        (night,) = evaluated(folder, settings(folder, "2026-11-03", regraded=20, **gain))
    assert (night["verdict"], night["reason"]) == ("none", "other_judgments")
    assert any(step == "warning" for step, *_ in told)


def rename(path, old, new):
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")


def test_a_run_of_which_no_document_id_is_judged_has_no_verdict(folder):
    given = settings(folder, "2026-11-02", worse=1)
    results = folder / given["results"]["path"]
    lines = results.read_text(encoding="utf-8").splitlines()
    odd = [line.replace(" Q0 ", " Q0 sku-") if line.endswith("hybrid") else line for line in lines]
    results.write_text("\n".join(odd) + "\n", encoding="utf-8")
    (night,) = evaluated(folder, given)
    assert (night["verdict"], night["reason"], night["run"]) == ("none", "not_measured", "hybrid")
    assert "sku-" in night["sentence"]


def test_queries_that_are_written_in_two_ways_are_named(folder):
    given = settings(folder, "2026-11-02", worse=1)
    results = folder / given["results"]["path"]
    for number in range(10, 16):
        rename(results, f"q{number} ", f"q{APOSTROPHE}{number} ")
    with logged_steps() as told:
        evaluated(folder, given)
    (warning,) = [
        sentence for step, sentence, *_ in told if step == "warning" and APOSTROPHE in sentence
    ]
    assert "lacks 6 judged queries and has as many that nobody judged" in warning
