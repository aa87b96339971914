"""NDCG as an evaluator of Spark ML, for CrossValidator and TrainValidationSplit."""

import re
from typing import Any

from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructType

from ndcg_spark.casting import quoted
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.values import parse_option
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.inputs.column_names import resolve
from ndcg_spark.library import evaluate


def _text(name: str, description: str) -> "Param[str]":
    return Param(Params._dummy(), name, description, TypeConverters.toString)


class NdcgEvaluator(Evaluator, DefaultParamsReadable["NdcgEvaluator"], DefaultParamsWritable):
    """The mean NDCG@k of the recommendations or rankings in one DataFrame; larger is better.

    CrossValidator divides *rows*. For rankers, whole queries must stay together: give it a `foldCol` that depends on
    the query alone, such as ``F.pmod(F.xxhash64("user"), F.lit(3)).cast("int")``. For ALS the rows of each user have to
    be divided, and the means come out too high: compare models only, and evaluate the chosen one on all it recommends.

    Parameters
    ----------
    queryCol, itemCol, scoreCol, gradeCol : str
        The long format, if `queryCol` is set: a row per query and document, as `ALSModel.transform` returns it. A row
        without a grade is unjudged; one without a score (null, or the NaN of ALS for a new user) was not returned.
    predictionCol, labelCol : str
        Lists, if it is not: a row per query with an array of documents, the best first, and one of the relevant ones.
        Both may be arrays of structs with a score or a grade, as `recommendForAllUsers` returns them.
    k, convention : int, str
        The cutoff, and a preset followed by options that differ, as in `Convention.label`: ``trec_eval gain=exp2``.
    metricName : str
        ``ndcg``, or ``ndcgAtK``, which is what Spark's RankingEvaluator computes: the convention ``mllib_binary``.

    Examples
    --------
    >>> from ndcg_spark import open_session
    >>> columns = "user int, item int, rating double, prediction double"
    >>> predicted = open_session().createDataFrame([(1, 7, 5.0, 0.2), (1, 8, 0.0, 0.9), (1, 9, 1.0, 0.1)], columns)
    >>> evaluator = NdcgEvaluator(queryCol="user", k=10, convention="trec_eval")
    >>> round(evaluator.evaluate(predicted), 4)  # (5 / log2(3) + 1 / log2(4)) / (5 + 1 / log2(3))
    0.649
    """

    predictionCol, labelCol = _text("predictionCol", "documents, best first"), _text("labelCol", "relevant documents")
    metricName, convention = _text("metricName", "ndcg, or ndcgAtK of MLlib"), _text("convention", "preset and options")
    queryCol, itemCol = _text("queryCol", "query of the long format"), _text("itemCol", "document of the long format")
    scoreCol, gradeCol = _text("scoreCol", "score of the long format"), _text("gradeCol", "grade of the long format")
    k = Param(Params._dummy(), "k", "cutoff", TypeConverters.toInt)

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
        # The value of an option may contain blanks, as a table of gains does.
        preset, *options = re.split(r"\s+(?=\w+=)", labels[metric].strip())
        convention = Convention.preset(preset).replace(**dict(map(parse_option, options)))
        judgments, results, relevance = self._rows(dataset) if self.isSet("queryCol") else self._lists(dataset)
        means = evaluate(judgments, results, k, convention, relevance=relevance).dataset_scores.select("ndcg").collect()
        if not means or means[0]["ndcg"] is None:
            raise InputError("dataset: no query has a relevant document, so there is no mean; check the grades")
        return float(means[0]["ndcg"])

    def _rows(self, dataset: DataFrame) -> tuple[DataFrame, DataFrame, None]:
        rows = self._select(dataset, queryCol="query_id", itemCol="doc_id", scoreCol="score", gradeCol="relevance")
        returned = F.col("score").isNotNull() & ~F.isnan(F.col("score").cast("double"))
        return rows.where(F.col("relevance").isNotNull()).drop("score"), rows.where(returned).drop("relevance"), None

    def _lists(self, dataset: DataFrame) -> tuple[DataFrame, DataFrame, float | None]:
        lists = self._select(dataset, predictionCol="returned", labelCol="relevant")
        (listed, ids), (judged, other) = _documents(lists, "returned"), _documents(lists, "relevant")
        if ids != other:
            raise InputError(f"dataset: documents are {ids} and relevant ones {other}, which differ as text; cast one")
        # Rows have no key, and numbering is not repeatable, so equal lists are collected, and each copy gets a number.
        content = F.sha2(F.to_json(F.struct("returned", "relevant")), 256).alias("content")
        copies = lists.groupBy(content).agg(F.collect_list(F.struct("returned", "relevant")).alias("copies"))
        numbered = copies.select("content", F.posexplode("copies").alias("number", "lists"))
        keyed = numbered.select(F.concat_ws("-", "content", "number").alias("query_id"), "lists.*")
        judgments = keyed.where(F.col("relevant").isNotNull()).select("query_id", F.col("relevant").alias(judged))
        results = keyed.where(F.col("returned").isNotNull()).select("query_id", F.col("returned").alias(listed))
        return judgments, results, 1.0 if judged == "doc_id" else None

    def _select(self, dataset: DataFrame, **ours: str) -> DataFrame:
        named = {self.getOrDefault(param): param for param in ours}
        absent = [f"{name}; set {param}" for name, param in named.items() if name not in dataset.columns]
        if absent:
            raise InputError(f"dataset: it has {', '.join(dataset.columns)}, and no column {absent[0]}")
        return dataset.select(*(F.col(quoted(self.getOrDefault(param))).alias(name) for param, name in ours.items()))


def _documents(lists: DataFrame, column: str) -> tuple[str, str]:
    """A name for a column of lists, for structs not one that means documents, and the type of these; or InputError."""
    kind = lists.schema[column].dataType
    if not isinstance(kind, ArrayType):
        raise InputError(f"dataset: {column} documents are {kind.simpleString()}, not an array; for rows set queryCol")
    element = kind.elementType
    if not isinstance(element, StructType):
        return "doc_id", element.simpleString()
    found = resolve({}, ["doc_id"], element.names, f"dataset: {column} documents", "drop or rename all but one")
    if not found:
        raise InputError(f"dataset: {column} documents have no field for the document, but {', '.join(element.names)}")
    return "list", element[found["doc_id"]].dataType.simpleString()
