"""Gains and discounts that users write in Python, in a module of their own."""

import importlib
import math
import sys
import types
import uuid

import pandas as pd
import pytest
from pyspark.sql import functions as F
from tables import assert_table, of_tuples

from ndcg_spark import evaluate, user_modules
from ndcg_spark.errors import ConventionError
from ndcg_spark.ml import NdcgEvaluator
from ndcg_spark.scoring.ideal import user_function
from ndcg_spark.user_functions import call_function, load_function, replaced

LOG3 = math.log2(3)
MODULE = """
import sys
import numpy as np
import pandas as pd

def exits(grades): sys.exit(0)
def tripled(grades): return grades * 3
def whole(grades): return pd.Series([7] * len(grades))
def array(grades): return np.sqrt(grades.to_numpy())
def unknown_above_one(grades): return grades.where(grades <= 1)
def words(grades): return pd.Series(["high"] * len(grades))
def nothing(grades): return pd.Series([], dtype="float64")
def fails(grades): raise KeyError("grade 9")
not_callable = 5
"""


@pytest.fixture(scope="module", autouse=True)
def house_gains(tmp_path_factory):
    """A user's module on the path of this process, not of Spark's workers."""
    file = tmp_path_factory.mktemp("user") / "house_gains.py"
    file.write_text(MODULE, encoding="utf-8")
    file.with_name("script.py").write_text("raise SystemExit(0)", encoding="utf-8")
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(file.parent)
        yield


#: The values of each function, for the grades 0, 1 and 4.
GAINS = {
    "tripled": [0.0, 3.0, 12.0],
    "whole": [7.0, 7.0, 7.0],
    "array": [0.0, 1.0, 2.0],
    "unknown_above_one": [0.0, 1.0, None],
}


def test_a_users_function_is_applied_to_each_row_and_gives_doubles(session):
    grades = of_tuples(session, [(0.0,), (1.0,), (4.0,)], "grade double")
    gains = {name: user_function(f"python:house_gains.{name}", F.col("grade")) for name in GAINS}
    gains["of int"] = user_function("python:house_gains.tripled", F.col("grade").cast("int"))
    columns = ", ".join(f"`{name}` double" for name in gains)
    expected = [*GAINS.values(), GAINS["tripled"]]
    assert_table(grades.withColumns(gains), columns, *zip(*expected, strict=True))


def test_a_function_is_found_by_its_dotted_name():
    assert load_function("python:house_gains.tripled")(pd.Series([2.0])).tolist() == [6.0]
    assert load_function("python:os.path.basename")("folder/file") == "file"
    assert call_function("python:house_gains.tripled", [2.5, 1.0]) == [2.5 * 3, 1.0 * 3]
    assert call_function("python:house_gains.whole", [2.5]) == [7.0]


@pytest.mark.parametrize("use", [load_function, lambda name: user_function(name, F.col("x"))])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no_such_package.gains.cubed", "cannot be imported, ModuleNotFoundError"),
        ("house_gains.cubed", "cannot be imported, .*no attribute 'cubed'"),
        ("script.gain", "cannot be imported, SystemExit"),
        ("house_gains.not_callable", "cannot be imported, .*not_callable is not a function"),
    ],
)
def test_a_function_that_cannot_be_had_is_told_before_any_row_is_read(use, name, reason):
    with pytest.raises(ConventionError, match=reason):
        use(f"python:{name}")


@pytest.mark.parametrize("function", ["fails", "words", "nothing", "exits"])
def test_a_function_that_gives_no_number_is_a_convention_error(function):
    with pytest.raises(ConventionError, match=f"house_gains.{function} .* for 9 to 9"):
        call_function(f"python:house_gains.{function}", [9.0])


def test_a_function_that_ends_the_process_fails_in_an_engine(session):
    with replaced({"python:house.ends": lambda grades: sys.exit(len(grades))}):
        ended = user_function("python:house.ends", F.col("id"))
    with pytest.raises(Exception, match=r"calls sys\.exit"):
        session.range(1).select(ended).collect()


JUDGED = {"q": {"a": 1, "b": 2}}
RETURNED = {"q": {"a": 0.9, "b": 0.1}}
ROWS = [("q", "a", 1.0, 0.9), ("q", "b", 2.0, 0.1)]
COLUMNS = "user string, item string, rating double, prediction double"


class Module:
    """A user's module `name`, and a module beside it whose factor it multiplies by."""

    def __init__(self, folder, name):
        self.folder, self.name = folder, name
        self.write(f"{name}_beside", "def power(): return 1")
        lines = f"import functools, threading\nimport {name}_beside\n"
        cached = f"@functools.lru_cache\ndef power(): return {name}_beside.power()\n"
        self.write(
            name,
            f"{lines}{cached}def gain(grades): return grades ** power()\nlock = threading.Lock()\n",
        )
        self.convention = f"standard gain=python:{name}.gain"

    def write(self, name, text):
        (self.folder / f"{name}.py").write_text(f"{text}\n", encoding="utf-8")

    def set_power(self, power):
        """Change a file, and import it again in this process, as in a notebook."""
        self.write(f"{self.name}_beside", f"def power(): return {power}  # changed")
        importlib.invalidate_caches()
        for name in (f"{self.name}_beside", self.name):
            if name in sys.modules:
                importlib.reload(sys.modules[name])


@pytest.fixture
def module(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(tmp_path)
    # Python imports a name once.
    return Module(tmp_path, f"gains_{uuid.uuid4().hex}")


def ndcg(power):
    """The NDCG of a, of grade 1, before b, of grade 2."""
    gains = 1.0, 2.0**power
    return (gains[0] + gains[1] / LOG3) / (gains[1] + gains[0] / LOG3)


def by_function(session, module):
    table = session.createDataFrame([(2.0,)], "grade double")
    gain = user_function(f"python:{module.name}.gain", F.col("grade"))
    return ndcg(math.log2(table.select(gain.alias("gain")).collect()[0]["gain"]))


def by_evaluator(session, module):
    evaluator = NdcgEvaluator(queryCol="user", convention=module.convention)
    return evaluator.evaluate(session.createDataFrame(ROWS, COLUMNS))


def by_dataframes(session, module):
    judged = session.createDataFrame(
        [row[:3] for row in ROWS], "query_id string, doc_id string, relevance double"
    )
    scores = evaluate(judged, RETURNED, 10, module.convention)
    return scores.dataset_scores.collect()[0]["ndcg"]


def by_worker(_, module):
    return evaluate(JUDGED, RETURNED, 10, module.convention).dataset_scores["ndcg"][0]


@pytest.mark.parametrize(
    ("scored", "powers"),
    [
        (by_function, [3, 11]),
        (by_evaluator, [3]),
        pytest.param(by_dataframes, [3], marks=pytest.mark.embedded),
        # Each change starts the process again.
        pytest.param(by_worker, [3], marks=[pytest.mark.embedded, pytest.mark.slow]),
    ],
)
def test_a_changed_module_counts_from_the_next_call_on(session, module, scored, powers):
    assert scored(session, module) == pytest.approx(ndcg(1))
    for power in powers:
        module.set_power(power)
        assert scored(session, module) == pytest.approx(ndcg(power))


#: Caches, with the size and whether types are apart.
CACHES = {
    "cache": (None, False),
    "lru_cache": (128, False),
    "lru_cache(maxsize=3, typed=True)": (3, True),
}


def test_a_cached_function_has_its_cache_in_workers(session, module):
    lines, expected, misses = ["import functools"], [], 5
    for at, (cache, parameters) in enumerate(CACHES.items()):
        lines += [
            f"@functools.{cache}",
            # It calls itself, so that what is sent leads back to it.
            f"def factorial{at}(n): return n * factorial{at}(n - 1) if n else 1",
            f"@functools.{cache}",
            f"def number{at}():",
            f"    factorial{at}(4)",
            f"    found = factorial{at}.cache_info()",
            f"    named = factorial{at}.cache_parameters()",
            f"    assert (named['maxsize'], named['typed']) == {parameters}",
            "    return found.misses * 10 + found.currsize",
            f"def gain{at}(grades): return grades * 0 + number{at}()",
        ]
        kept = min(parameters[0] or misses, misses)
        expected.append(float(misses * 10 + kept))
    module.write(module.name, "\n".join(lines))
    names = [f"gain{at}" for at in range(len(CACHES))]
    gains = {name: user_function(f"python:{module.name}.{name}", F.col("grade")) for name in names}
    found = of_tuples(session, [(2.0,)], "grade double").withColumns(gains)
    assert_table(found, "gain0 double, gain1 double, gain2 double", tuple(expected))


def test_a_function_that_cannot_be_sent_to_workers_is_refused(session, module):
    module.write(
        module.name, "import threading\nlock = threading.Lock()\ndef gain(grades): return lock"
    )
    with pytest.raises(
        ConventionError, match="cannot be sent to Python workers, TypeError: cannot pickle"
    ):
        by_function(session, module)


def test_a_module_within_a_compiled_package_is_not_the_users(monkeypatch):
    compiled = types.ModuleType("compiled")
    compiled.__file__ = "discovery.py"
    monkeypatch.setitem(sys.modules, "compiled", compiled)
    assert "discovery.py" not in user_modules.loaded()
