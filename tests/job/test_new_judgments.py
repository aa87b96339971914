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


def warnings_of(folder, renamed):
    """The warnings about query ids, if the results have some queries under other ids."""
    given = settings(folder, "2026-11-02", worse=1)
    path = folder / "renamed.csv"
    rows = ["run,query_id,doc_id,score"]
    for line in (folder / given["results"]["path"]).read_text(encoding="utf-8").splitlines():
        query, _, document, _, score, run = line.split()
        rows.append(f'{run},"{renamed.get(query, query)}",{document},{score}')
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")
    given["results"] = {"path": str(path)}
    given["max_missing_fraction"] = 1.0
    with logged_steps() as told:
        evaluated(folder, given)
    found = [text for step, text, *_ in told if step == "warning"]
    return [text for text in found if "lacks" in text or "writes" in text]


@pytest.mark.parametrize("other", ["Q1", " q1", "q1 ", f"q{APOSTROPHE}1", "q'1"])
def test_queries_that_are_written_in_two_ways_are_named(folder, other):
    (warning,) = warnings_of(folder, {"q1": other, "q2": other.replace("1", "2")})
    assert "writes 2 query ids" in warning
    assert repr(other) in warning


def test_a_single_other_query_is_not_looked_for(folder):
    assert not warnings_of(folder, {"q1": "Q1"})


def test_an_id_with_decomposed_characters_is_named(folder):
    given = settings(folder, "2026-11-02", worse=1)
    for number in (1, 2):
        rename(folder / given["judgments"]["path"], f"q{number} ", f"qu\u00fc{number} ")
        rename(folder / given["results"]["path"], f"q{number} ", f"quu\u0308{number} ")
    with logged_steps() as told:
        evaluated(folder, given)
    (warning,) = [text for step, text, *_ in told if step == "warning" and "query id" in text]
    assert r"qu\xfc" in warning
    assert r"quu\u0308" in warning


@pytest.mark.parametrize(
    ("number", "advice"),
    [
        (2, None),
        (8, "if these are the same queries, check"),
        (QUERIES - 1, "'S-1000'; check"),
    ],
)
def test_as_many_other_queries_may_be_a_coincidence_unless_they_are_nearly_all(
    folder, number, advice
):
    renamed = {f"q{at}": f"S-{1000 + at}" for at in range(number)}
    warnings = warnings_of(folder, renamed)
    assert len(warnings) == (advice is not None)
    for warning in warnings:
        assert advice in warning
