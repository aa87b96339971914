"""What a rehearsal computes, which must not grow with the square of its nights."""

import numpy as np
from gates import N, evaluate, gate, spread

from ndcg_spark.comparison import chain
from ndcg_spark.comparison.differences import ComparisonOptions
from ndcg_spark.gate import against_reference
from ndcg_spark.gate.decide import rehearse
from ndcg_spark.nights.log import committed

BASE = 0.6 + spread(0, 0.1)
LANGUAGE = {"language": ["de"] * 20 + ["en"] * (N - 20)}
#: The judgments change after this many nights.
PERIOD = 3
GATE = gate({}, {"slice": "language=de", "min_queries": 10}, baseline="accepted")


def judgments(at):
    """The hashes of the judgments of a night."""
    return (at // PERIOD + 1,) * N


def write(output, nights):
    """Nights whose judgments change, each with copies under the judgments before and after."""
    for at in range(nights):
        level = BASE + spread(0, 0.001 * (at % 5 + 1))
        others = {judgments(max(at - PERIOD, 0)), judgments(at + PERIOD)} - {judgments(at)}
        evaluate(
            output,
            None,
            f"2026-11-{at + 1:02}",
            {"r": level},
            hashes=judgments(at),
            attributes=LANGUAGE,
            under={other: {"r": level} for other in others},
        )


def computed(monkeypatch, output, nights):
    """How often a rehearsal of nights compares two matrices, and computes slices."""
    write(output, nights)
    calls = {"differences": 0, "masks": 0}
    differences, masks = chain.RunScores.differences, against_reference.masks

    def counted_differences(*arguments):
        calls["differences"] += 1
        return differences(*arguments)

    def counted_masks(*arguments):
        calls["masks"] += 1
        return masks(*arguments)

    with monkeypatch.context() as patch:
        patch.setattr(chain.RunScores, "differences", counted_differences)
        patch.setattr(against_reference, "masks", counted_masks)
        verdicts = list(rehearse(GATE, committed(str(output)), ComparisonOptions()))
    assert len(verdicts) == nights
    # The first night is the accepted state, which later nights reach across every change.
    assert {verdict.verdict for verdict in verdicts[1:]} == {"pass"}
    return np.array([calls["differences"], calls["masks"]])


def test_twice_the_nights_need_no_four_times_the_comparisons(tmp_path, monkeypatch):
    few = computed(monkeypatch, tmp_path / "few", 10)
    many = computed(monkeypatch, tmp_path / "many", 20)
    assert (few > 0).all()
    # A little more than twice as many: the first nights need fewer, as they have no change behind them.
    assert (many <= 3 * few).all()
