"""Generated bad inputs end in scores that account for every row, or are refused with a reason; see fuzz_inputs.py."""

import json

import fuzz_inputs
import pytest
from programs import forked

KINDS = ("scored", "scored with rejects", "refused")


@pytest.mark.slow
def test_bad_inputs_end_in_scores_or_a_reason_and_no_row_is_lost(tmp_path, thorough):
    inputs = 1000 if thorough else 32
    # Three rows need no second partition.
    done = forked(fuzz_inputs.main, 0, inputs, cwd=tmp_path, SAIL_EXECUTION__DEFAULT_PARALLELISM="1")
    assert done.returncode == 0, done.stderr[-2000:]
    found = json.loads(done.stdout)
    assert found["failures"] == {}
    endings = {kind: found["endings"].get(kind, 0) for kind in KINDS}
    assert sum(endings.values()) == inputs
    assert min(endings.values()) > inputs / 20
