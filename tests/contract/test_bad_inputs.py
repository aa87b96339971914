"""Generated bad inputs end in scores that account for every row, or are refused with a reason; see fuzz_inputs.py."""

import fuzz_inputs
import pytest

KINDS = ("scored", "scored with rejects", "refused")


@pytest.mark.slow
@pytest.mark.embedded
def test_bad_inputs_end_in_scores_or_a_reason_and_no_row_is_lost(engine, tmp_path, thorough):
    inputs = 1000 if thorough else 32
    endings, failures = fuzz_inputs.endings(engine, range(inputs), tmp_path)
    assert failures == {}
    assert sum(endings.values()) == inputs
    assert min(endings[kind] for kind in KINDS) > inputs / 20
