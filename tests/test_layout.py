"""The import table of the design: data flows one way, and each module imports only what is before it."""

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "ndcg_spark"

#: In the order of the flow: what each module may import of the package.
MAY_IMPORT = {
    "errors": set(),
    "presets": set(),
    "formulas": set(),
    "conventions": {"errors", "presets", "formulas"},
    "schemas": {"errors"},
    "config": {"errors", "conventions"},
    "engine": {"errors", "config"},
    "files": {"errors"},
    "formats": {"errors", "engine", "files"},
    "reading": {"errors", "schemas", "config", "engine", "files", "formats"},
    "ranking": {"conventions"},
    "pruning": {"conventions", "schemas", "ranking"},
    "checking": {"errors", "schemas", "pruning"},
    "rejecting": {"schemas", "checking"},
    "udfs": {"errors"},
    "refusals": set(),
    "gains": {"conventions", "udfs"},
    "scoring": {"refusals", "ranking", "gains", "conventions"},
    "aggregation": {"schemas"},
    "evaluation": {"errors", "conventions", "schemas", "refusals", "ranking", "pruning", "gains", "scoring"}
    | {"aggregation"},
    "limits": {"errors", "checking"},
    "contract": {"errors", "schemas", "config", "reading", "pruning", "checking", "rejecting", "limits", "gains"}
    | {"evaluation"},
    "store": {"errors", "files"},
    "claims": {"errors", "store"},
    "moves": {"errors", "store"},
    "recovery": {"errors", "store", "claims", "moves"},
    "publishing": {"errors", "schemas", "store", "claims", "moves", "recovery"},
    "nights": {"errors", "schemas", "store", "recovery"},
}
#: What brings the steps together: the whole evaluation, what a person sees of it, the command line, the library.
ON_TOP = ["record", "blame", "job", "comparison", "reporting", "cli", "__main__", "__init__"]
STEPS = ["refusals", "ranking", "pruning", "gains", "udfs", "scoring", "aggregation", "evaluation"]
ACTIONS = {"collect", "count", "show", "toPandas", "toArrow", "write", "first", "head", "take", "isEmpty", "foreach"}


def imports(module: str) -> set[str]:
    """The modules of the package that a module imports, wherever in its text."""
    found: set[str] = set()
    for node in ast.walk(ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module == "ndcg_spark":
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("ndcg_spark."):
            found.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            found.update(alias.name.split(".")[1] for alias in node.names if alias.name.startswith("ndcg_spark."))
    return found


def test_every_module_stands_in_the_table():
    assert {path.stem for path in PACKAGE.glob("*.py")} == {*MAY_IMPORT, *ON_TOP}


@pytest.mark.parametrize("module", MAY_IMPORT)
def test_a_module_imports_only_what_the_table_allows(module):
    assert imports(module) <= MAY_IMPORT[module]


def test_the_table_allows_only_what_comes_before():
    order = list(MAY_IMPORT)
    assert all(order.index(used) < order.index(module) for module in order for used in MAY_IMPORT[module])


@pytest.mark.parametrize("module", STEPS)
def test_a_step_triggers_no_action(module):
    tree = ast.parse((PACKAGE / f"{module}.py").read_text(encoding="utf-8"))
    calls = {n.func.attr for n in ast.walk(tree) if isinstance(n, ast.Call) and isinstance(n.func, ast.Attribute)}
    # F.count is an aggregate; nothing else of the name is called in a step.
    assert calls & ACTIONS <= {"count"}


def test_only_what_all_engines_share_is_used():
    banned = (".rdd", "sparkContext", "_jvm", "_jdf", ".observe(", '"overwrite"', "partitionOverwriteMode")
    texts = {path.name: path.read_text(encoding="utf-8") for path in PACKAGE.glob("*.py")}
    assert [(name, word) for name, text in texts.items() for word in banned if word in text] == []
