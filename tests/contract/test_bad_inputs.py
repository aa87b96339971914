"""Generated bad inputs end in scores that account for every row, or are refused with a reason; see fuzz_inputs.py."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "support" / "fuzz_inputs.py"


def test_a_thousand_bad_inputs_end_in_scores_or_a_reason_and_no_row_is_lost():
    halves = [
        subprocess.Popen([sys.executable, str(PROGRAM), *numbers], stdout=subprocess.PIPE, text=True)
        for numbers in (("0", "500"), ("500", "1000"))
    ]
    found = [json.loads(half.communicate()[0]) for half in halves]
    assert [half["failures"] for half in found] == [{}, {}]
    for half in found:
        assert sum(half["endings"].values()) == 500
        assert min(half["endings"][kind] for kind in ("scored", "scored with rejects", "refused")) > 25
