"""What import-linter cannot see: steps trigger no action, and only what all engines share is used."""

import ast
import re
from collections import Counter
from pathlib import Path

import density
import pytest
from mutations import MUTATIONS

PACKAGE = Path(__file__).parents[1] / "ndcg_spark"
# A link leads to a template, which is no module.
FILES = [path for path in sorted(PACKAGE.rglob("*.py")) if not path.is_symlink()]
MODULES = {str(path.relative_to(PACKAGE)): path.read_text(encoding="utf-8") for path in FILES}
STEPS = [name for name in MODULES if name.startswith("scoring/")]
ACTIONS = {
    "collect",
    "count",
    "show",
    "toPandas",
    "toArrow",
    "write",
    "first",
    "head",
    "take",
    "isEmpty",
    "foreach",
}
BANNED = (
    ".rdd",
    "sparkContext",
    "_jvm",
    "_jdf",
    ".observe(",
    '"overwrite"',
    "partitionOverwriteMode",
)


@pytest.mark.parametrize("module", STEPS)
def test_a_step_triggers_no_action(module):
    tree = ast.parse(MODULES[module])
    calls = {
        n.func.attr
        for n in ast.walk(tree)
        if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)
    }
    # F.count is an aggregate; nothing else of the name is called in a step.
    assert calls & ACTIONS <= {"count"}


def test_only_a_voice_names_options():
    """`--option` is written in `cli`, and made in `voices`, which also names it as an argument or a key."""
    named = {name for name, text in MODULES.items() if re.search(r"(?<![\w-])--[a-z{]", text)}
    assert {name for name in named if not name.startswith("cli/")} == {"voices.py"}


def test_a_table_is_named_at_its_boundary_and_not_by_every_function():
    """What is raised names no table: `about` adds it, once, where the table is read."""
    takes = []
    for name, text in MODULES.items():
        takes += [name] * len(re.findall(r"\bwhere: str\b", text))
    # The sentence of refuse_value is built within a plan, where an engine raises it.
    assert takes == ["scoring/refusals.py"]


def test_only_what_all_engines_share_is_used():
    uses = [(name, word) for name, text in MODULES.items() for word in BANNED if word in text]
    # deltalake has a mode of this name, which takes a condition; no engine is involved.
    assert uses == [("nights/export.py", '"overwrite"')]


def test_no_pattern_is_possessive():
    """Python 3.11 before 3.11.5, which Debian 12 has, does not match possessive groups as it should."""
    constants = []
    for name, text in MODULES.items():
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                constants.append((name, node.value))
    possessive = re.compile(r"[*+?}]\+|\(\?>")
    assert [found for found in constants if possessive.search(found[1])] == []


def test_no_two_modules_have_one_name():
    names = Counter(Path(module).name for module in MODULES if not module.endswith("__init__.py"))
    assert [name for name, modules in names.items() if modules > 1] == []


def test_no_module_is_denser_than_the_limits_or_than_it_was():
    listed = density.listed_offenders()
    denser = {}
    for module, over in density.offenders().items():
        allowed = listed.get(module, {})
        worse = {
            name: value
            for name, value in over.items()
            if value > allowed.get(name, density.LIMITS[name])
        }
        if worse:
            denser[module] = worse
    assert denser == {}


def test_the_list_of_dense_modules_shrinks_with_them():
    # Write it again with tests/support/density.py.
    assert density.listed_offenders() == density.offenders()


def test_density_counts_what_a_reader_takes_apart():
    text = '''
def f(rows):
    """Not a line."""
    # Nor this.
    a, b = 1, 2
    return [[x for x in row if x] for row in rows] or {**rows}
'''
    # The tuple, two comprehensions and the `or`; the star within a dictionary is none.
    assert density.measure(text) == {"constructs": 0, "nested": 1, "long": 0, "longest": 2}
    assert density.measure(text * 10)["constructs"] == 4 / 2
    assert density.measure("x = 1  # " + "y" * 100)["long"] == 1


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.name)
def test_a_mutation_changes_one_place(mutation):
    assert MODULES[mutation.file].count(mutation.before) == 1
