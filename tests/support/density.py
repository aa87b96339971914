"""How dense the modules of a folder are: what a reader has to take apart, per line.

`python tests/support/density.py` writes the list of modules that are above the limits, which may only shrink.
"""

import ast
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

PACKAGE = Path(__file__).parents[2] / "ndcg_spark"
OFFENDERS = Path(__file__).parents[1] / "density.json"
#: What every module has at most, unless it is listed: constructs per line of its functions, comprehensions
#: within comprehensions, lines over 100 characters, and lines of its longest function.
LIMITS = {"constructs": 0.48, "nested": 0, "long": 0, "longest": 45}
#: In fewer lines than this, one comprehension is already too many constructs per line.
_FEW_LINES = 20
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_STATEMENTS = (ast.If, ast.For, ast.While, ast.Try, ast.With, ast.Match)
_EXPRESSIONS = (ast.IfExp, ast.BoolOp, ast.NamedExpr, ast.Starred, ast.Lambda)
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def measure_package() -> dict[str, dict[str, float]]:
    """The measures of each module, by its path within the package."""
    measured = {}
    for path in sorted(PACKAGE.rglob("*.py")):
        # A link leads to a template, which is no module.
        if path.is_symlink():
            continue
        measured[str(path.relative_to(PACKAGE))] = measure(path.read_text(encoding="utf-8"))
    return measured


def measure(text: str) -> dict[str, float]:
    """The measures that LIMITS names, of the text of a module."""
    lines = text.splitlines()
    functions = list(_outer_functions(ast.parse(text)))
    constructs = sum(_count_constructs(function) for function in functions)
    lengths = [_count_lines(function, lines) for function in functions]
    total = sum(lengths)
    return {
        "constructs": round(constructs / total, 2) if total >= _FEW_LINES else 0,
        "nested": sum(_count_nested(function) for function in functions),
        "long": sum(len(line) > 100 for line in lines),
        "longest": max(lengths, default=0),
    }


def over_limits(measured: dict[str, float]) -> dict[str, float]:
    return {name: measured[name] for name, limit in LIMITS.items() if measured[name] > limit}


def listed_offenders() -> dict[str, dict[str, float]]:
    listed: dict[str, dict[str, float]] = json.loads(OFFENDERS.read_text(encoding="utf-8"))
    return listed


def offenders() -> dict[str, dict[str, float]]:
    """The modules that are over a limit now."""
    found = {}
    for module, measured in measure_package().items():
        over = over_limits(measured)
        if over:
            found[module] = over
    return found


def _outer_functions(node: ast.AST) -> Iterator[Any]:
    """The functions that are in no other function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _FUNCTIONS):
            yield child
        else:
            yield from _outer_functions(child)


def _count_constructs(function: ast.AST) -> int:
    return sum(_is_construct(node) for node in ast.walk(function))


def _is_construct(node: ast.AST) -> bool:
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple):
        return any(isinstance(target, ast.Tuple) for target in node.targets)
    return isinstance(node, _COMPREHENSIONS + _STATEMENTS + _EXPRESSIONS)


def _count_lines(function: Any, lines: list[str]) -> int:
    """Lines of the body without its docstring, comments and blank lines."""
    body = function.body[1:] if ast.get_docstring(function) is not None else function.body
    if not body:
        return 0
    texts = [line.strip() for line in lines[body[0].lineno - 1 : body[-1].end_lineno]]
    return sum(1 for text in texts if text and not text.startswith("#"))


def _count_nested(function: ast.AST) -> int:
    """Comprehensions that have another one within."""
    count = 0
    for node in ast.walk(function):
        if isinstance(node, _COMPREHENSIONS):
            within = [inner for inner in ast.walk(node) if isinstance(inner, _COMPREHENSIONS)]
            count += len(within) > 1
    return count


if __name__ == "__main__":
    OFFENDERS.write_text(json.dumps(offenders(), indent=1) + "\n", encoding="utf-8")
