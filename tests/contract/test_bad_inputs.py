"""Generated bad inputs end in scores that account for every row, or are refused with a reason; see fuzz_inputs.py."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = Path(__file__).parents[1] / "support" / "fuzz_inputs.py"
KINDS = ("scored", "scored with rejects", "refused")


def test_bad_inputs_end_in_scores_or_a_reason_and_no_row_is_lost(thorough):
    inputs = 1000 if thorough else 60
    half = str(inputs // 2)
    halves = [
        subprocess.Popen([sys.executable, str(PROGRAM), *numbers], stdout=subprocess.PIPE, text=True)
        for numbers in (("0", half), (half, str(inputs)))
    ]
    found = [json.loads(program.communicate()[0]) for program in halves]
    assert [program["failures"] for program in found] == [{}, {}]
    endings = {kind: sum(program["endings"].get(kind, 0) for program in found) for kind in KINDS}
    assert sum(endings.values()) == inputs
    assert min(endings.values()) > inputs / 20
