"""NDCG as an evaluator of Spark ML, for CrossValidator and TrainValidationSplit."""

import re
from typing import Any, NamedTuple

from pyspark import keyword_only
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, StructType

from ndcg_spark.casting import quoted
from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.parsing import parse_measures
from ndcg_spark.convention.values import parse_option
from ndcg_spark.errors import InputError
from ndcg_spark.inputs.column_names import resolve
from ndcg_spark.library import evaluate


def _text(name: str, description: str) -> "Param[str]":
    """A text parameter, as Spark ML declares it."""
    return Param(Params._dummy(), name, description, TypeConverters.toString)


class NdcgEvaluator(Evaluator, DefaultParamsReadable["NdcgEvaluator"], DefaultParamsWritable):
    """The mean NDCG@k, or another measure, of the recommendations or rankings in one DataFrame; larger is better.

    It takes either of two shapes:

    * The long format, if `queryCol` is set: a row per query and document, with the score that the model predicts in
      `scoreCol` and the grade in `gradeCol`. It is what `ALSModel.transform` and rankers return. A row without a grade
      is unjudged, and one without a score (null, or the NaN of ALS for a new user or item) was not returned.
    * Lists, if it is not: a row per query, with an array of documents in `predictionCol`, the best first, and an array
      of the relevant documents in `labelCol`, as Spark's RankingEvaluator takes them. Either may be an array of structs
      that have a document and its score or grade, such as the column `recommendations` of `recommendForAllUsers`.
      Relevant documents without grades have the grade 1.

    The same evaluator runs on classic Spark, on Spark Connect and on the embedded engine.

    Parameters
    ----------
    predictionCol, labelCol : str
        The arrays of the lists, `prediction` and `label` by default.
    metricName : str
        A measure as `evaluate` takes it: ``ndcg`` (the default), ``precision``, ``recall``, ``AP``, ``P@5``.
    k : int
        The cutoff of measures that do not name theirs, 10 by default.
    convention : str
        A preset, ``standard`` by default, followed by the options that differ from it: ``trec_eval gain=exp2``. This is
        the form that `Convention.label` returns.
    queryCol, itemCol, scoreCol, gradeCol : str
        The columns of the long format; all but `queryCol` have a default: ``item``, ``prediction``, ``rating``.

    Notes
    -----
    CrossValidator and TrainValidationSplit divide *rows*. A query whose rows are divided is evaluated on a part of its
    documents, and the means of all models come out too high and too close to each other. For rankers, whole queries
    must stay together: give CrossValidator a `foldCol` that depends on the query alone, as in the example. For ALS,
    which can only predict for users that it was trained on, the rows of each user have to be divided; then compare
    models with each other only, and evaluate the chosen one on all its recommendations.

    Examples
    --------
    >>> from ndcg_spark import open_session
    >>> columns = "user int, item int, rating double, prediction double"
    >>> predicted = open_session().createDataFrame([(1, 7, 5.0, 0.2), (1, 8, 0.0, 0.9), (1, 9, 1.0, 0.1)], columns)
    >>> evaluator = NdcgEvaluator(queryCol="user", k=10, convention="trec_eval")
    >>> round(evaluator.evaluate(predicted), 4)  # (5 / log2(3) + 1 / log2(4)) / (5 + 1 / log2(3))
    0.649

    >>> from pyspark.sql import functions as F
    >>> folds = predicted.withColumn("fold", F.pmod(F.xxhash64("user"), F.lit(3)).cast("int"))  # foldCol="fold"
    """

    predictionCol = _text("predictionCol", "array of the documents of a list, the best first")
    labelCol = _text("labelCol", "array of the relevant documents of a list")
    metricName = _text("metricName", "measure, such as ndcg, AP or P@5")
    convention = _text("convention", "preset, followed by the options that differ from it")
    queryCol = _text("queryCol", "query of the long format")
    itemCol = _text("itemCol", "document of the long format")
    scoreCol = _text("scoreCol", "predicted score of the long format")
    gradeCol = _text("gradeCol", "grade of the long format")
    k = Param(Params._dummy(), "k", "cutoff of measures that do not name theirs", TypeConverters.toInt)

    #: The arguments of a call, as `keyword_only` stores them.
    _input_kwargs: dict[str, Any]

    @keyword_only
    def __init__(
        self,
        *,
        predictionCol: str = "prediction",
        labelCol: str = "label",
        metricName: str = "ndcg",
        k: int = 10,
        convention: str = "standard",
        queryCol: str | None = None,
        itemCol: str = "item",
        scoreCol: str = "prediction",
        gradeCol: str = "rating",
    ) -> None:
        super().__init__()
        self._setDefault(
            predictionCol="prediction",
            labelCol="label",
            metricName="ndcg",
            k=10,
            convention="standard",
            itemCol="item",
            scoreCol="prediction",
            gradeCol="rating",
        )
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(self, **params: Any) -> "NdcgEvaluator":
        """The evaluator itself, with these parameters set; they are those of the class."""
        return self._set(**params)

    def isLargerBetter(self) -> bool:
        """True for every measure."""
        return True

    def _evaluate(self, dataset: DataFrame) -> float:
        """The mean over all queries; never NaN, because Spark would take NaN for the best model.

        Raises
        ------
        ConventionError, ConfigurationError
            The convention, the measure or the cutoff is unknown.
        InputError
            A column is missing or of another type, or there is no query with a relevant document.
        """
        measure, k = self.getOrDefault("metricName"), self.getOrDefault("k")
        convention = _convention(self.getOrDefault("convention"))
        parsed = parse_measures([measure], [k], [k])
        judgments, results, relevance = self._lists(dataset) if not self.isSet("queryCol") else self._rows(dataset)
        scores = evaluate(judgments, results, k, convention, measures=[measure], relevance=relevance).dataset_scores
        column, cutoff = parsed.measure_set.headline(parsed.cutoffs)
        means = [row[column] for row in scores.select("cutoff", column).collect() if row["cutoff"] == cutoff]
        if not means or means[0] is None:
            raise InputError("dataset: no query has a relevant document, so there is no mean; check the grades")
        return float(means[0])

    def _rows(self, dataset: DataFrame) -> tuple[DataFrame, DataFrame, None]:
        """Judgments and results of the long format."""
        query, item, score, grade = (
            _column(dataset, self.getOrDefault(name)) for name in ("queryCol", "itemCol", "scoreCol", "gradeCol")
        )
        rows = dataset.select(
            query.alias("query_id"), item.alias("doc_id"), score.alias("score"), grade.alias("relevance")
        )
        judgments = rows.where(F.col("relevance").isNotNull()).select("query_id", "doc_id", "relevance")
        returned = F.col("score").isNotNull() & ~F.isnan(F.col("score").cast("double"))
        return judgments, rows.where(returned).select("query_id", "doc_id", "score"), None

    def _lists(self, dataset: DataFrame) -> tuple[DataFrame, DataFrame, float | None]:
        """Judgments and results as lists of equal keys, and the grade of judgments that have none."""
        predicted, relevant = (self.getOrDefault(name) for name in ("predictionCol", "labelCol"))
        lists = dataset.select(
            _column(dataset, predicted).alias("returned"), _column(dataset, relevant).alias("relevant")
        )
        returned, judged = _documents(lists, "returned", predicted), _documents(lists, "relevant", relevant)
        if returned.ids != judged.ids:
            raise InputError(
                f"dataset: the documents of {predicted} are {returned.ids} and those of {relevant} are {judged.ids}, "
                "which differ as text; cast one of them"
            )
        # Rows have no key, and numbering is not repeatable, so equal lists are counted, and each copy gets a number.
        content = F.sha2(F.to_json(F.struct("returned", "relevant")), 256)
        counted = lists.groupBy(content.alias("content")).agg(
            F.first("returned").alias("returned"), F.first("relevant").alias("relevant"), F.count("*").alias("rows")
        )
        numbered = counted.withColumn("number", F.explode(F.sequence(F.lit(1), F.col("rows").cast("int"))))
        keyed = numbered.withColumn("query_id", F.concat_ws("-", "content", "number"))
        judgments, results = (
            keyed.where(F.col(kind.column).isNotNull()).select("query_id", F.col(kind.column).alias(kind.name))
            for kind in (judged, returned)
        )
        return judgments, results, 1.0 if judged.name == "doc_id" else None


class _Documents(NamedTuple):
    """How a column holds its documents."""

    column: str
    #: The name that `evaluate` gets: for an array of structs it must not be a name for a column of documents.
    name: str
    #: The type of the documents.
    ids: str


def _documents(lists: DataFrame, column: str, theirs: str) -> _Documents:
    """How a column holds its documents; InputError if it holds none. `theirs` is what the user calls it."""
    kind = lists.schema[column].dataType
    element = kind.elementType if isinstance(kind, ArrayType) else None
    if element is None:
        raise InputError(
            f"dataset: column {theirs} is {kind.simpleString()}, not an array of documents; set queryCol for rows that "
            "have one document each"
        )
    if not isinstance(element, StructType):
        return _Documents(column, "doc_id", element.simpleString())
    found = resolve({}, ["doc_id"], element.names, f"dataset: {theirs}", "drop or rename all but one")
    if not found:
        raise InputError(
            f"dataset: column {theirs} has no field for the document; it has {', '.join(element.names)}; rename one"
        )
    return _Documents(column, "list", element[found["doc_id"]].dataType.simpleString())


def _convention(text: str) -> Convention:
    """The convention of a label; ConventionError if the preset or an option is unknown."""
    # The value of an option may contain blanks, as a table of gains does.
    preset, *options = re.split(r"\s+(?=\w+=)", text.strip())
    return Convention.preset(preset).replace(**dict(map(parse_option, options)))


def _column(dataset: DataFrame, name: str) -> Column:
    if name not in dataset.columns:
        raise InputError(f"dataset: column {name} is missing; it has {', '.join(dataset.columns)}; name another column")
    return F.col(quoted(name))
