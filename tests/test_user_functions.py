"""Gains and discounts that users write in Python, in a module of their own."""

import pandas as pd
import pytest
import sessions
from pyspark.sql import functions as F

from ndcg_spark.errors import ConventionError
from ndcg_spark.reference import computed, load_function
from ndcg_spark.scoring.ideal import user_function

MODULE = """
import numpy as np
import pandas as pd

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
def house_gains(session, tmp_path_factory):
    """A user's module on the path of this process and of Spark's workers."""
    file = tmp_path_factory.mktemp("user") / "house_gains.py"
    file.write_text(MODULE, encoding="utf-8")
    if sessions.choice == "spark":
        session.sparkContext.addPyFile(str(file))
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(file.parent)
        yield


@pytest.mark.parametrize(
    ("function", "kind", "expected"),
    [
        ("tripled", "double", [0.0, 3.0, 12.0]),
        ("tripled", "int", [0.0, 3.0, 12.0]),
        ("whole", "double", [7.0, 7.0, 7.0]),
        ("array", "double", [0.0, 1.0, 2.0]),
        ("unknown_above_one", "double", [0.0, 1.0, None]),
    ],
)
def test_a_users_function_is_applied_to_each_row_and_gives_doubles(session, function, kind, expected):
    table = session.createDataFrame([(0.0,), (1.0,), (4.0,)], "grade double").select(F.col("grade").cast(kind))
    gains = table.select(user_function(f"python:house_gains.{function}", F.col("grade")).alias("gain"))
    assert gains.dtypes == [("gain", "double")]
    assert [row["gain"] for row in gains.collect()] == expected


def test_a_function_is_found_by_its_dotted_name():
    assert load_function("python:house_gains.tripled")(pd.Series([2.0])).tolist() == [6.0]
    assert load_function("python:os.path.basename")("folder/file") == "file"
    assert computed("python:house_gains.tripled", [2.5, 1.0]) == [2.5 * 3, 1.0 * 3]
    assert computed("python:house_gains.whole", [2.5]) == [7.0]


@pytest.mark.parametrize("use", [load_function, lambda name: user_function(name, F.col("x"))])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("no_such_package.gains.cubed", "cannot be imported, ModuleNotFoundError"),
        ("house_gains.cubed", "cannot be imported, .*no attribute 'cubed'"),
        ("house_gains.not_callable", "cannot be imported, .*not_callable is not a function"),
    ],
)
def test_a_function_that_cannot_be_had_is_told_before_any_row_is_read(use, name, reason):
    with pytest.raises(ConventionError, match=reason):
        use(f"python:{name}")


@pytest.mark.parametrize("function", ["fails", "words", "nothing"])
def test_a_function_that_gives_no_number_is_a_convention_error(function):
    with pytest.raises(ConventionError, match=f"house_gains.{function} .* for 9 to 9"):
        computed(f"python:house_gains.{function}", [9.0])
