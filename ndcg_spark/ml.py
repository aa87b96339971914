"""NDCG as a Spark ML evaluator, for CrossValidator and TrainValidationSplit.

It is not in `api`, because guides and saved pipelines name `ndcg_spark.ml`.
"""

import functools
import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any

from pyspark.ml.evaluation import Evaluator
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable
from pyspark.sql import DataFrame
from pyspark.sql.types import ArrayType, NumericType, StructType

from ndcg_spark.convention import presets
from ndcg_spark.convention.convention import Convention
from ndcg_spark.engine import require_read_values
from ndcg_spark.errors import ConfigurationError, InputError, MissingColumnError, about, within
from ndcg_spark.inputs.column_names import is_alias, resolve_columns
from ndcg_spark.ml_queries import ListField, ListRows, LongRows, warns_of_grades
from ndcg_spark.ml_rows import EXCLUDED, JUDGED, RETURNED, DocumentRows, mean_ndcg
from ndcg_spark.ml_sql import is_fractional
from ndcg_spark.rules import require_types
from ndcg_spark.sql import quoted
from ndcg_spark.text import refuse_alike


def _text(name: str, description: str) -> "Param[str]":
    return Param(Params._dummy(), name, description, TypeConverters.toString)


def _rank(given: object) -> int:
    if (k := TypeConverters.toInt(given)) < 1:
        raise ConfigurationError(f"k: invalid cutoff {k}; use a positive integer")
    return k


class NdcgEvaluator(Evaluator, DefaultParamsReadable["NdcgEvaluator"], DefaultParamsWritable):
    """The mean NDCG@k of the recommendations or rankings in one DataFrame; larger is better.

    CrossValidator divides *rows*. For rankers, whole queries must stay together: give it a
    `foldCol` that depends only on the query, such as ``F.pmod(F.xxhash64("user"),
    F.lit(3)).cast("int")``. For ALS, the rows of each user have to be divided, and the means are
    too high, because only the rows that were left out are ranked. Use them only to compare models,
    and evaluate the best models on everything they recommend, where their order may differ.

    With ``coldStartStrategy="nan"``, the default of ALS, users without a prediction score 0. With
    ``"drop"`` they are not in the DataFrame, and so not in the mean.

    Data that `evaluate` refuses raises an InputError with the same sentence: a row without a user
    or a document, a number that is not finite, or a document that occurs twice. Documents are text
    or whole numbers, even in columns of doubles or decimals, where 7.0 is 7 and 7.5 is refused. A
    row whose labels are null is not a query, and neither is a user without a grade in the long
    format.

    Scores are computed in Spark expressions. Spark's Python workers are needed for functions that
    you have written, numbers stored as text, cutoffs over 500, lists that are cut or sorted by
    their gains (``unjudged=drop``, ``negative=drop``, ``ideal=retrieved``, ties by gains), lists
    with a document twice, and data that is refused. The workers need this program's packages:
    set the variable PYSPARK_PYTHON to the program's Python, `sys.executable`, before the session
    starts. The expressions first detect the last two cases, so the DataFrame is computed twice;
    cache it if it is slow. The scores are sent to the driver, about eight bytes per query.

    Parameters
    ----------
    predictionCol, labelCol : str
        A row per query with an array of documents, the best first, and an array of the relevant
        ones. Both may be arrays of structs with a score or a grade, as `recommendForAllUsers`
        returns them, whose fields have names that `evaluate` knows or the names in `itemCol`,
        `scoreCol` and `gradeCol`. Without changes, it can replace Spark's RankingEvaluator, whose
        documents are doubles.
    queryCol, itemCol, scoreCol, gradeCol : str
        The long format, if `queryCol` is set: a row per query and document, as `ALSModel.transform`
        returns it. By default the others are `item`, `prediction` and `rating`. A row without a
        grade is unjudged; one without a score (null, or the NaN of ALS for a new user) was not
        returned. The long format has no ranks, so a convention that ranks by them is refused.
    excludeCol : str
        Documents to leave out, such as items already seen: an array of them, or in the long format
        a boolean.
    k, convention : int, str
        The cutoff, and a preset followed by options that differ, as in `Convention.label`:
        ``trec_eval gain=exp2``.
    metricName : str
        ``ndcg``, or ``ndcgAtK``, which is what Spark's RankingEvaluator computes: the convention
        ``mllib_binary``, for which every rating above 0 is relevant. With
        ``convention="mllib_binary min_relevance=4"``, ratings from 4 up are relevant.

    Examples
    --------
    >>> from ndcg_spark import open_session
    >>> columns = "userId int, movieId int, rating double, prediction double"
    >>> rows = [(1, 7, 5.0, 0.2), (1, 8, 0.0, 0.9), (1, 9, 1.0, 0.1)]
    >>> predicted = open_session().createDataFrame(rows, columns)
    >>> evaluator = NdcgEvaluator(queryCol="userId", itemCol="movieId", convention="trec_eval")
    >>> round(evaluator.evaluate(predicted), 4)  # (5 / log2(3) + 1 / log2(4)) / (5 + 1 / log2(3))
    0.649
    """

    predictionCol, labelCol = (
        _text("predictionCol", "documents, best first"),
        _text("labelCol", "relevant documents"),
    )
    metricName, convention = (
        _text("metricName", "ndcg, or ndcgAtK of MLlib"),
        _text("convention", "preset and options"),
    )
    queryCol, itemCol = (
        _text("queryCol", "query of the long format"),
        _text("itemCol", "document of the long format"),
    )
    scoreCol, gradeCol = (
        _text("scoreCol", "score of the long format"),
        _text("gradeCol", "grade of the long format"),
    )
    excludeCol = _text("excludeCol", "documents to leave out")
    k = Param(Params._dummy(), "k", "cutoff", _rank)

    def __init__(self, **params: Any) -> None:
        super().__init__()
        self._setDefault(
            predictionCol="prediction",
            labelCol="label",
            metricName="ndcg",
            k=10,
            convention="standard",
        )
        self._setDefault(itemCol="item", scoreCol="prediction", gradeCol="rating")
        self._set(**params)

    def _evaluate(self, dataset: DataFrame) -> float:
        """The mean over all queries; never NaN, which Spark would consider the best model."""
        metric, k = self.getOrDefault("metricName"), self.getOrDefault("k")
        labels = {"ndcg": self.getOrDefault("convention"), "ndcgAtK": "mllib_binary"}
        if metric not in labels:
            raise ConfigurationError(
                f"metricName: {metric!r} is neither ndcg nor ndcgAtK; evaluate has other measures"
            )
        if metric == "ndcgAtK" and self.isSet("convention"):
            raise ConfigurationError(
                "metricName: ndcgAtK is the convention mllib_binary; leave out one of them, "
                "and write options as in convention='mllib_binary min_relevance=4'"
            )
        for ours, other in (("labelCol", "gradeCol"), ("predictionCol", "scoreCol")):
            if (
                self.isSet("queryCol")
                and self.isSet(ours)
                and self.getOrDefault(ours) != self.getOrDefault(other)
            ):
                raise ConfigurationError(
                    f"{ours}: it is for a row per query; with queryCol, set {other}"
                )
        convention = Convention.parse(labels[metric])
        require_read_values(dataset.sparkSession)
        with about("dataset"):
            if self.isSet("queryCol"):
                rows = self._long(dataset, convention)
            else:
                rows = self._listed(dataset, convention)
        mean, fractional, highest = mean_ndcg(rows, convention, k)
        if mean is None and not dataset.take(1):
            raise InputError(
                "dataset: it has no rows; with coldStartStrategy='drop', "
                "ALS has none for users it does not know"
            )
        if mean is None:
            lacks = "a relevant document" + (
                " or results" if convention.missing_query == "skip" else ""
            )
            raise InputError(
                f"dataset: no query is in the mean; each lacks {lacks}: check both columns"
            )
        _warn_of_grades(convention, fractional, highest)
        return mean

    def _long(self, dataset: DataFrame, convention: Convention) -> DocumentRows:
        """The rows of a table with a row per query and document."""
        if convention.needs_rank:
            instead = "order=score" if convention.ranks_decide else "ties=doc_id_asc"
            raise MissingColumnError(
                f"the convention {convention.label} orders documents by rank, but rows have none; "
                f"set {instead} in convention, or give arrays, in which a position is a rank",
                column="rank",
            )
        params = {
            "query_id": "queryCol",
            JUDGED: "itemCol",
            RETURNED: "itemCol",
            "score": "scoreCol",
            "relevance": "gradeCol",
        }
        names = {ours: self._name(dataset, param) for ours, param in params.items()}
        types = dict(dataset.dtypes)
        ids = [names["query_id"], names[JUDGED]]
        _require_types({name: types[name] for name in names.values()}, ids)
        kinds = {ours: types[name] for ours, name in names.items()}
        columns = {ours: quoted(name) for ours, name in names.items()}
        columns["is_judged"] = _has_number(columns["relevance"], kinds["relevance"])
        columns["is_returned"] = _has_number(columns["score"], kinds["score"])
        if self.isSet("excludeCol"):
            name = self._name(dataset, "excludeCol")
            if types[name] not in ("boolean", "void"):
                what = f"{name} is {types[name]}, not a boolean"
                raise InputError(f"{what}; with queryCol, excludeCol is one")
            columns[EXCLUDED], kinds[EXCLUDED] = columns[JUDGED], kinds[JUDGED]
            columns["is_excluded"] = f"coalesce(cast({quoted(name)} as boolean), false)"
            stays = f"not {columns['is_excluded']}"
            columns["is_returned"] = f"({columns['is_returned']} and {stays})"
        where = dict.fromkeys((JUDGED, RETURNED, EXCLUDED), "dataset")
        lists = LongRows(
            dataset,
            {**columns, "doc_id": columns[JUDGED]},
            {**kinds, "doc_id": kinds[JUDGED]},
        )
        texts = [f"{column} as {ours}" for ours, column in columns.items()]
        make_table = functools.partial(dataset.selectExpr, *texts)
        return DocumentRows(make_table, lists, kinds, where, are_named=True)

    def _listed(self, dataset: DataFrame, convention: Convention) -> DocumentRows:
        """The rows of a table with a row per query; a row without labels is not a query."""
        if convention.exclude_query_as_document:
            raise ConfigurationError(
                "convention: lists name no query, but the convention "
                f"{convention.label} leaves a query out of its own list; "
                "set exclude_query_as_document=false, and leave it out with excludeCol"
            )
        judged = self._arrays(dataset, "labelCol", JUDGED, {"relevance": "gradeCol"})
        returned = self._arrays(
            dataset, "predictionCol", RETURNED, {"score": "scoreCol", "rank": ""}
        )
        arrays = {**judged, **returned}
        where = {JUDGED: "labelCol", RETURNED: "predictionCol"}
        if self.isSet("excludeCol"):
            arrays |= self._arrays(dataset, "excludeCol", EXCLUDED, {})
            where[EXCLUDED] = "excludeCol"
        kinds = {ours: field.kind for ours, field in arrays.items()}
        _refuse_mixed_ids(kinds[RETURNED], kinds[JUDGED])
        if EXCLUDED in kinds:
            _refuse_mixed_ids(kinds[RETURNED], kinds[EXCLUDED], "excluded")
        labels = quoted(self._name(dataset, "labelCol"))
        queries = dataset.where(f"{labels} is not null")
        lists = ListRows(
            queries,
            judged=arrays[JUDGED],
            returned=arrays[RETURNED],
            excluded=arrays.get(EXCLUDED),
            relevance=arrays.get("relevance"),
            score=arrays.get("score"),
            rank=arrays.get("rank"),
        )
        make_table = functools.partial(_exploded, queries, arrays, [*where])
        kinds.setdefault("relevance", "double")
        kinds.setdefault("rank", "int")
        names = {side: f"dataset: {self._name(dataset, param)}" for side, param in where.items()}
        kinds["query_id"] = "bigint"
        judged_once = "relevance" not in judged
        return DocumentRows(
            make_table, lists, kinds, names, are_named=False, judged_once=judged_once
        )

    def _name(self, dataset: DataFrame, param: str) -> str:
        """The column that a parameter names, whatever its case; otherwise Spark takes `user` for a
        function.
        """
        name, has = self.getOrDefault(param), dataset.columns
        named = [column for column in has if column.lower() == name.lower()]
        if not named:
            what = f"no column {name!r}, which {param} names"
            raise InputError(f"{what}; it has {', '.join(has)}; set {param}")
        refuse_alike(named)
        return named[0]

    def _arrays(
        self, dataset: DataFrame, param: str, side: str, numbers: Mapping[str, str]
    ) -> dict[str, ListField]:
        """The documents in a column of lists and, from structs with fields for them, their numbers.

        The keys are our names; `numbers` are parameters that name fields.
        """
        name = self._name(dataset, param)
        kind = dataset.schema[name].dataType
        if not isinstance(kind, ArrayType):
            what = f"{name} is {kind.simpleString()}, not an array of documents"
            raise InputError(f"{what}; for rows set queryCol")
        element = kind.elementType
        found = {side: ListField(quoted(name), "", element.simpleString())}
        types = {name: element.simpleString()}
        ids = [name]
        if isinstance(element, StructType):
            found, types = {}, {}
            fields = self._fields(element, name, numbers)
            ids = [f"{name}.{fields['doc_id']}"]
            for ours, field in fields.items():
                type_name = element[field].dataType.simpleString()
                types[f"{name}.{field}"] = type_name
                key = side if ours == "doc_id" else ours
                found[key] = ListField(quoted(name), quoted(field), type_name)
        _require_types(types, ids)
        return found

    def _fields(self, struct: StructType, name: str, numbers: Mapping[str, str]) -> dict[str, str]:
        """The fields of the structs in the column `name` for the document and its numbers."""
        # The parameters that name fields, by our names.
        params = {"doc_id": "itemCol"}
        for number, param in numbers.items():
            if param:
                params[number] = param
        given = {}
        for ours, param in params.items():
            if self.isSet(param):
                given[ours] = self.getOrDefault(param)
        with within(name):
            fields = resolve_columns(given, ["doc_id", *numbers], struct.names)
        needed = ["doc_id", *given]
        if _has_other_number(struct, fields.get("doc_id")):
            # It may be the missing number; without it, the list would be scored as if it had none.
            needed.extend(params)
        for ours in needed:
            if fields.get(ours) not in struct.names:
                what = "document" if ours == "doc_id" else ours
                has = ", ".join(struct.names)
                to_do = f"set {params[ours]}"
                raise InputError(f"{name} has no field for the {what}, but {has}; {to_do}")
        return fields


def _has_other_number(struct: StructType, document: str | None) -> bool:
    """Whether the structs have a number besides the document and the rank."""
    for field in struct:
        is_known = field.name == document or is_alias("rank", field.name)
        if isinstance(field.dataType, NumericType) and not is_known:
            return True
    return False


def _require_types(kinds: Mapping[str, str], ids: Collection[str]) -> None:
    """Raise InputError for column types that `evaluate` does not take, except ids like 7.0."""
    plain = {
        name: "bigint" if name in ids and is_fractional(kind) else kind
        for name, kind in kinds.items()
    }
    require_types(plain, ids)


def _refuse_mixed_ids(documents: str, others: str, called: str = "relevant") -> None:
    """Raise InputError if documents are text in one column and numbers in another: none match."""
    if "void" not in (documents, others) and _is_text(documents) != _is_text(others):
        raise InputError(f"documents are {documents} and {called} ones {others}; cast one of them")


def _is_text(kind: str) -> bool:
    return kind.startswith(("string", "varchar", "char"))


# What follows is SQL, because on classic Spark a function call makes several calls to the JVM.


def _has_number(column: str, kind: str) -> str:
    """Whether a row has a number; pandas and ALS write null as NaN."""
    if kind in ("double", "float"):
        return f"({column} is not null and not isnan({column}))"
    return f"({column} is not null)"


def _exploded(table: DataFrame, arrays: Mapping[str, ListField], sides: Sequence[str]) -> DataFrame:
    """A row for each position of a query's longest list, or one if all are empty, with a number for
    the query.
    """
    lists = [
        f"coalesce({field.path}, cast(array() as array<{field.kind}>)) as {name}"
        for name, field in arrays.items()
    ]
    numbered = table.selectExpr("monotonically_increasing_id() as query_id", *lists)
    lengths = [f"size({side}) as length_{side}" for side in sides]
    zipped = f"posexplode_outer(arrays_zip({', '.join(arrays)})) as (position, row)"
    rows = numbered.selectExpr("query_id", *lengths, zipped)
    columns = {name: f"row.{name}" for name in arrays}
    columns.setdefault("relevance", "1.0D")
    columns.setdefault("rank", "position + 1")
    for side in sides:
        columns[f"is_{side}"] = f"coalesce(position < length_{side}, false)"
    return rows.selectExpr("query_id", *(f"{column} as {name}" for name, column in columns.items()))


for _name in ("predictionCol", "labelCol", "metricName", "k"):
    # The methods that Spark's own evaluators have for each parameter: setK, getK.
    _title = f"{_name[0].upper()}{_name[1:]}"
    setattr(
        NdcgEvaluator, f"get{_title}", functools.partialmethod(NdcgEvaluator.getOrDefault, _name)
    )
    setattr(
        NdcgEvaluator, f"set{_title}", lambda self, value, name=_name: self._set(**{name: value})
    )


def _warn_of_grades(
    convention: Convention, fractional: float | None, highest: float | None
) -> None:
    if warns_of_grades(convention):
        for sentence in presets.about_grades(convention.based_on, fractional, highest):
            warnings.warn(sentence, stacklevel=4)
