"""A falling level is told beside the verdict, and decides nothing."""

import pytest
from gates import evaluate, gate, spread
from kept_nights import date

from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.gate.decide import rehearse
from ndcg_spark.nights.log import committed

BASE = 0.6 + spread(0, 0.1)
NIGHTS, LEVEL = 20, 12


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Nights of two runs, one of which falls by 0.001 a night after the twelfth; and what was said."""
    output = tmp_path_factory.mktemp("falling")
    said = []
    for day in range(NIGHTS):
        fall = 0.001 * max(0, day + 1 - LEVEL)
        scores = {"ltr": BASE - fall, "bm25": BASE + spread(0, 0.001 * (day % 2))}
        accepted = "first" if day == 0 else None
        said.append(
            evaluate(output, gate({"max_drop": 0.05}), date(day), scores, accepted=accepted)["web"]
        )
    return output, said


def test_a_pass_says_which_run_falls_and_since_when(nights):
    _, said = nights
    last = said[-1]
    assert (last.verdict, last.exit_code) == ("pass", 0)
    (fall,) = last.falls
    assert (fall["run"], fall["measure"], fall["cutoff"], fall["since"]) == (
        "ltr",
        "ndcg",
        "10",
        date(LEVEL),
    )
    assert fall["difference"] == pytest.approx(-0.001 * (NIGHTS - LEVEL), abs=1e-4)
    # Until five nights are lower, nothing is known.
    assert [len(one.falls) for one in said[: LEVEL + 4]] == [0] * (LEVEL + 4)


def test_a_pass_says_the_scores_and_their_changes(nights):
    _, said = nights
    sentence = said[1].sentence
    assert sentence.startswith("ndcg@10: bm25 0.6000 (+0.0000), ltr 0.6000 (+0.0000)")
    assert "results pass" not in "".join(one.sentence for one in said)


def test_a_rehearsal_says_the_same(nights):
    output, said = nights
    rehearsed = rehearse(
        gate({"max_drop": 0.05}), committed(str(output)), ComparisonOptions(only_losses=True)
    )
    assert [(one.sentence, one.falls) for one in rehearsed] == [
        (one.sentence, one.falls) for one in said
    ]
