"""What import-linter cannot see: steps trigger no action, and only what all engines share is used."""

import ast
import re
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "ndcg_spark"
MODULES = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in sorted(PACKAGE.rglob("*.py"))}
STEPS = [name for name in MODULES if name.startswith("scoring/")]
ACTIONS = {"collect", "count", "show", "toPandas", "toArrow", "write", "first", "head", "take", "isEmpty", "foreach"}
BANNED = (".rdd", "sparkContext", "_jvm", "_jdf", ".observe(", '"overwrite"', "partitionOverwriteMode")


@pytest.mark.parametrize("module", STEPS)
def test_a_step_triggers_no_action(module):
    tree = ast.parse(MODULES[module])
    calls = {n.func.attr for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
    # F.count is an aggregate; nothing else of the name is called in a step.
    assert calls & ACTIONS <= {"count"}


def test_only_a_voice_names_options():
    """`--option` stands in `cli`, in `__main__`, and in `voices`, which says it as an argument or a key, too."""
    named = {name for name, text in MODULES.items() if re.search(r"(?<![\w-])--[a-z{]", text)}
    assert {name for name in named if not name.startswith(("cli/", "__main__"))} == {"voices.py"}


def test_only_what_all_engines_share_is_used():
    uses = [(name, word) for name, text in MODULES.items() for word in BANNED if word in text]
    # deltalake has a mode of this name, which takes a condition; no engine is involved.
    assert uses == [("nights/export.py", '"overwrite"')]
