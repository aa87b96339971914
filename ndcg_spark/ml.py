"""NDCG as an evaluator of Spark ML, for CrossValidator and TrainValidationSplit."""

import functools
import math
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

import numpy as np
import pandas as pd
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.pandas.functions import pandas_udf
from pyspark.sql.types import ArrayType, NumericType, StructType

from ndcg_spark import reference, rules
from ndcg_spark.convention import presets
from ndcg_spark.convention.convention import Convention
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.inputs.column_names import is_alias, resolve_columns
from ndcg_spark.rules import quoted


def _text(name: str, description: str) -> "Param[str]":
    return Param(Params._dummy(), name, description, TypeConverters.toString)


def _rank(given: object) -> int:
    if (k := TypeConverters.toInt(given)) < 1:
        raise ConfigurationError(f"k: invalid cutoff {k}; use a positive integer")
    return k


class NdcgEvaluator(Evaluator, DefaultParamsReadable["NdcgEvaluator"], DefaultParamsWritable):
    """The mean NDCG@k of the recommendations or rankings in one DataFrame; larger is better.

    CrossValidator divides *rows*. For rankers, whole queries must stay together: give it a `foldCol` that depends on
    the query alone, such as ``F.pmod(F.xxhash64("user"), F.lit(3)).cast("int")``. For ALS the rows of each user have to
    be divided, and the means come out too high, as only the rows that were left out are ranked: compare models only,
    and evaluate the best ones on all they recommend, where their order may differ.

    With ``coldStartStrategy="nan"``, the default of ALS, users without a prediction score 0; with ``"drop"`` they are
    not in the DataFrame, and so not in the mean.

    Unlike `evaluate`, it computes in Spark's Python workers, which need the packages of this program: set the variable
    PYSPARK_PYTHON to the program's Python, `sys.executable`, before the session starts.

    Parameters
    ----------
    predictionCol, labelCol : str
        A row per query with an array of documents, the best first, and one of the relevant ones. Both may be arrays of
        structs with a score or a grade, as `recommendForAllUsers` returns them, whose fields have the names that
        `evaluate` knows or those of `itemCol`, `scoreCol` and `gradeCol`. As it stands it takes the place of Spark's
        RankingEvaluator, whose documents are doubles.
    queryCol, itemCol, scoreCol, gradeCol : str
        The long format, if `queryCol` is set: a row per query and document, as `ALSModel.transform` returns it; by
        default the others are `item`, `prediction` and `rating`. A row without a grade is unjudged; one without a score
        (null, or the NaN of ALS for a new user) was not returned.
    excludeCol : str
        Documents to leave out, such as items already seen: an array of them, or in the long format a boolean.
    k, convention : int, str
        The cutoff, and a preset followed by options that differ, as in `Convention.label`: ``trec_eval gain=exp2``.
    metricName : str
        ``ndcg``, or ``ndcgAtK``, which is what Spark's RankingEvaluator computes: the convention ``mllib_binary``, for
        which every rating above 0 is relevant; ``convention="mllib_binary min_relevance=4"`` takes those from 4 up.

    Examples
    --------
    >>> from ndcg_spark import open_session
    >>> columns = "userId int, movieId int, rating double, prediction double"
    >>> predicted = open_session().createDataFrame([(1, 7, 5.0, 0.2), (1, 8, 0.0, 0.9), (1, 9, 1.0, 0.1)], columns)
    >>> evaluator = NdcgEvaluator(queryCol="userId", itemCol="movieId", k=10, convention="trec_eval")
    >>> round(evaluator.evaluate(predicted), 4)  # (5 / log2(3) + 1 / log2(4)) / (5 + 1 / log2(3))
    0.649
    """

    predictionCol, labelCol = _text("predictionCol", "documents, best first"), _text("labelCol", "relevant documents")
    metricName, convention = _text("metricName", "ndcg, or ndcgAtK of MLlib"), _text("convention", "preset and options")
    queryCol, itemCol = _text("queryCol", "query of the long format"), _text("itemCol", "document of the long format")
    scoreCol, gradeCol = _text("scoreCol", "score of the long format"), _text("gradeCol", "grade of the long format")
    excludeCol = _text("excludeCol", "documents to leave out")
    k = Param(Params._dummy(), "k", "cutoff", _rank)

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(predictionCol="prediction", labelCol="label", metricName="ndcg", k=10, convention="standard")
        self._setDefault(itemCol="item", scoreCol="prediction", gradeCol="rating")
        self._set(**params)

    def _evaluate(self, dataset: DataFrame) -> float:
        """The mean over all queries; never NaN, because Spark would take NaN for the best model."""
        metric, k = self.getOrDefault("metricName"), self.getOrDefault("k")
        labels = {"ndcg": self.getOrDefault("convention"), "ndcgAtK": "mllib_binary"}
        if metric not in labels:
            raise ConfigurationError(f"metricName: {metric!r} is neither ndcg nor ndcgAtK; evaluate has other measures")
        if metric == "ndcgAtK" and self.isSet("convention"):
            raise ConfigurationError(
                "metricName: ndcgAtK is the convention mllib_binary; leave out one of them, and write options as in "
                "convention='mllib_binary min_relevance=4'"
            )
        for ours, other in (("labelCol", "gradeCol"), ("predictionCol", "scoreCol")):
            if self.isSet("queryCol") and self.isSet(ours) and self.getOrDefault(ours) != self.getOrDefault(other):
                raise ConfigurationError(f"{ours}: it is for a row per query; with queryCol, set {other}")
        convention = Convention.parse(labels[metric])
        lists = self._long(dataset) if self.isSet("queryCol") else self._listed(dataset)
        mean, is_refused, fractional, highest = _averaged(lists, convention, k).collect()[0]
        if is_refused:
            # Again in this process, for the reason.
            for query in lists.collect():
                _score(query.asDict(), convention, k)
        if mean is None and not dataset.take(1):
            raise InputError(
                "dataset: it has no rows; with coldStartStrategy='drop', ALS has none for users it does not know"
            )
        if mean is None:
            lacks = "a relevant document" + (" or results" if convention.missing_query == "skip" else "")
            raise InputError(f"dataset: no query counts, so there is no mean; each lacks {lacks}: check both columns")
        _warn_of_grades(convention, fractional, highest)
        return float(mean)

    def _long(self, dataset: DataFrame) -> DataFrame:
        """The lists of a row per query and document."""
        params = ("queryCol", "itemCol", "scoreCol", "gradeCol")
        query, item, score, grade = (self._column(dataset, param) for param in params)
        score, grade, is_out = score.cast("double"), grade.cast("double"), F.lit(False)
        if self.isSet("excludeCol"):
            is_out = F.coalesce(self._column(dataset, "excludeCol"), is_out)
        is_returned = item.isNotNull() & score.isNotNull() & ~F.isnan(score) & ~is_out
        # pandas writes null as NaN.
        is_judged = item.isNotNull() & grade.isNotNull() & ~F.isnan(grade)
        return dataset.groupBy(query.cast("string").alias("query")).agg(
            F.collect_list(F.when(is_returned, item)).alias("returned"),
            F.collect_list(F.when(is_returned, score)).alias("scores"),
            F.collect_list(F.when(is_judged, item)).alias("judged"),
            F.collect_list(F.when(is_judged, grade)).alias("grades"),
        )

    def _listed(self, dataset: DataFrame) -> DataFrame:
        """The lists of a row per query; a row without labels is no query."""
        columns = self._arrays(dataset, "predictionCol", ("returned", "scores"), "score", "scoreCol")
        columns |= self._arrays(dataset, "labelCol", ("judged", "grades"), "relevance", "gradeCol")
        columns |= {"out": self._column(dataset, "excludeCol")} if self.isSet("excludeCol") else {}
        rows = dataset.where(self._column(dataset, "labelCol").isNotNull())
        lists = rows.select(*(value.alias(name) for name, value in columns.items()))
        # Text and numbers would never be the same document.
        kinds = [cast("ArrayType", lists.schema[name].dataType).elementType for name in ("returned", "judged")]
        if len({isinstance(kind, NumericType) for kind in kinds}) > 1:
            named = " and relevant ones ".join(kind.simpleString() for kind in kinds)
            raise InputError(f"dataset: documents are {named}; cast one of them")
        return lists

    def _column(self, dataset: DataFrame, param: str) -> Column:
        """The column that a parameter names, whatever its case; without one, Spark takes `user` for a function."""
        name, has = self.getOrDefault(param), dataset.columns
        named = [column for column in has if column.lower() == name.lower()]
        if not named:
            raise InputError(f"dataset: no column {name!r}, which {param} names; it has {', '.join(has)}; set {param}")
        return F.col(quoted(name if name in named else named[0]))

    def _arrays(
        self, dataset: DataFrame, param: str, ours: tuple[str, str], number: str, number_param: str
    ) -> dict[str, Column]:
        """The documents of a column of lists and, of structs with a field for it, their scores or grades."""
        name, column = self.getOrDefault(param), self._column(dataset, param)
        kind = dataset.select(column).schema[0].dataType
        if not isinstance(kind, ArrayType):
            raise InputError(
                f"dataset: {name} is {kind.simpleString()}, not an array of documents; for rows set queryCol"
            )
        if not isinstance(kind.elementType, StructType):
            return {ours[0]: column}
        struct, params = kind.elementType, {"doc_id": "itemCol", number: number_param}
        given = {one: self.getOrDefault(theirs) for one, theirs in params.items() if self.isSet(theirs)}
        fields = resolve_columns(given, ["doc_id", number], struct.names, f"dataset: {name}")
        # A number of another name may be what is missing, without which a list would be scored as if it had none.
        known = [fields.get("doc_id"), *(name for name in struct.names if is_alias("rank", name))]
        numbers = [field for field in struct if isinstance(field.dataType, NumericType) and field.name not in known]
        needed = ["doc_id", *([number] if numbers else []), *given]
        if lost := next((one for one in needed if fields.get(one) not in struct.names), None):
            what = "document" if lost == "doc_id" else lost
            raise InputError(
                f"dataset: {name} has no field for the {what}, but {', '.join(struct.names)}; set {params[lost]}"
            )
        named = zip(ours, ("doc_id", number), strict=True)
        # Not getField of the array, which the embedded engine takes for a position in it.
        paths = {alias: f"{quoted(name)}.{quoted(fields[field])}" for alias, field in named if field in fields}
        return {alias: F.col(path) for alias, path in paths.items()}


for _name in ("predictionCol", "labelCol", "metricName", "k"):
    # The methods that Spark's own evaluators have for each parameter: setK, getK.
    _title = f"{_name[0].upper()}{_name[1:]}"
    setattr(NdcgEvaluator, f"get{_title}", functools.partialmethod(NdcgEvaluator.getOrDefault, _name))
    setattr(NdcgEvaluator, f"set{_title}", lambda self, value, name=_name: self._set(**{name: value}))


def _warn_of_grades(
    convention: Convention,
    fractional: float | None,
    highest: float | None,
) -> None:
    # With a threshold, a tool would be given grades of 1 and 0.
    if convention.min_relevance == "none":
        for sentence in presets.about_grades(convention.based_on, fractional, highest):
            warnings.warn(sentence, stacklevel=4)


def _averaged(lists: DataFrame, convention: Convention, k: int) -> DataFrame:
    """The mean NDCG, whether the convention refuses a query, and grades.

    The NDCG of a refused query is infinite. The grades are the highest that is no whole number, and
    the highest of all.
    """
    names = lists.columns

    def ndcg(*columns: pd.Series) -> pd.Series:
        values = []
        for row in zip(*columns, strict=True):
            try:
                values.append(_score(dict(zip(names, row, strict=True)), convention, k))
            except InputError:
                values.append(float("inf"))
        return pd.Series(values, dtype="float64")

    function: Callable[..., Column] = pandas_udf(ndcg, "double")  # type: ignore[call-overload]  # no default kind
    grades = F.lit(None).cast("array<double>")
    if "grades" in names:
        grades = F.filter(F.col("grades").cast("array<double>"), lambda grade: ~F.isnan(grade))
    fractions = F.filter(grades, lambda grade: grade % 1 != 0)
    scores = lists.select(
        function(*names).alias("ndcg"),
        F.array_max(fractions).alias("fractional"),
        F.array_max(grades).alias("highest"),
    )
    return scores.agg(
        F.avg(F.when(~F.isnan("ndcg"), F.col("ndcg"))),
        F.max(F.col("ndcg") == float("inf")),
        F.max("fractional"),
        F.max("highest"),
    )


def _score(lists: Mapping[str, Any], convention: Convention, k: int) -> float | None:
    """The NDCG of a query; None if it does not count."""
    returned, judged, out = (_ids(lists.get(name)) for name in ("returned", "judged", "out"))
    scores, grades = lists.get("scores"), lists.get("grades")
    if scores is None:
        convention = convention.replace(**rules.options_without_scores(convention, ["rank"]))
        scores = [None] * len(returned)
    excluded, ranks = set(out), range(1, len(returned) + 1)
    listed = [row for row in zip(returned, scores, ranks, strict=True) if row[0] not in excluded]
    # Lists without grades may name a document twice, as purchases do.
    graded = [*dict.fromkeys(judged, 1.0).items()] if grades is None else [*zip(judged, grades, strict=True)]
    graded = [(document, grade) for document, grade in graded if grade is not None and not math.isnan(grade)]
    return reference.score(lists.get("query") or "", graded, listed, convention, k).ndcg


def _ids(documents: Sequence[Any] | None) -> list[str]:
    """Documents as text; MLlib's are doubles, and whole."""
    return (
        []
        if documents is None
        else [str(int(doc) if isinstance(doc, float | np.floating) else doc) for doc in documents]
    )
