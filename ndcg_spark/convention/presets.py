"""Presets: the options that reproduce the NDCG of each tool (see tests/parity)."""

import math
from collections.abc import Iterator, Mapping
from typing import NamedTuple


class Grades(NamedTuple):
    """The grades that a tool refuses or changes, while this package accepts all grades."""

    #: What the tool does with grades that are not whole numbers: refuses or truncates; empty if it
    #: accepts them.
    fractional: str = ""
    #: The tool refuses grades above this one.
    highest: float = math.inf

    def in_words(self) -> Iterator[str]:
        """Yield a sentence about each kind of these grades."""
        if self.fractional:
            yield f"it {self.fractional} grades that are not whole numbers"
        if self.highest < math.inf:
            yield f"it refuses grades above {self.highest:g}"


class Preset(NamedTuple):
    """The options that reproduce a tool."""

    options: Mapping[str, str]
    #: The call of the tool that gives the same numbers.
    tool: str
    #: The version of the tool that was used to verify them.
    verified: str
    #: The behaviour of the tool that no option reproduces.
    not_reproduced: tuple[str, ...] = ()
    grades: Grades = Grades()


#: trec_eval reads grades with C's atol.
_TRUNCATED = Grades("truncates")
_WHOLE = Grades("refuses")
_COUNTED_TWICE = "a document that is returned twice counts twice"
_RANDOM_TIES = "ties in the order that an unstable sort happens to leave"
_GRADED = "Jarvelin and Kekalainen 2002, Burges et al. 2005"

_TREC_EVAL = {"gain": "linear", "no_relevant": "zero"}
_TREC_EVAL_9 = {**_TREC_EVAL, "score_precision": "float32"}
_PYTREC_EVAL = {**_TREC_EVAL_9, "missing_query": "skip"}
#: For lists that are the complete ground truth.
_RETRIEVED = {"ideal": "retrieved", "negative": "error", "missing_query": "skip"}
_SKLEARN = {**_RETRIEVED, "gain": "linear", "ties": "average", "no_relevant": "zero"}
#: For tools that ignore grades: a document is relevant if it is listed.
_LISTED = {"gain": "judged", "negative": "keep", "no_relevant": "zero", "relevant_from": "judged"}
_RECTOOLS = {**_LISTED, "order": "rank", "ideal": "k_relevant"}
_RECTOOLS_RANKS = (
    "shared ranks and gaps in ranks, because it discounts the given ranks and not positions",
)
_LIGHTGBM = {**_RETRIEVED, "ties": "rank", "no_relevant": "one"}

PRESETS: Mapping[str, Preset] = {
    "standard": Preset({}, "the textbook's NDCG for graded judgments", _GRADED),
    "trec_eval": Preset(
        _TREC_EVAL,
        "trec_eval 10 -c -m ndcg_cut (scores compared as doubles)",
        "trec_eval 10.0-rc3, its printed evidence",
        (
            "its comparator, which truncates differences of custom gains to whole numbers",
            "rounding to 4 decimals",
        ),
        _TRUNCATED,
    ),
    "trec_eval_9": Preset(
        _TREC_EVAL_9,
        (
            "trec_eval 9 -c -m ndcg_cut (scores compared as floats), "
            "with which NIST computed its published scores"
        ),
        "trec_eval 9.0.8: 143 published scores of TREC-COVID round 1, its own regression tests",
        (
            "its comparator, which truncates differences of custom gains to whole numbers",
            "rounding to 4 decimals",
        ),
        _TRUNCATED,
    ),
    "pytrec_eval": Preset(
        _PYTREC_EVAL,
        "pytrec_eval.RelevanceEvaluator(qrels, {'ndcg_cut'}), the mean over the queries it returns",
        "pytrec-eval-terrier 0.5.11",
        grades=_WHOLE,
    ),
    "ir_measures": Preset(
        _TREC_EVAL_9,
        "ir_measures.calc_aggregate([nDCG@k], qrels, run)",
        "ir-measures 0.4.3 (provider pytrec_eval)",
        ("nDCG(dcg='exp-log2')@k, which is gain=exp2 here",),
        _WHOLE,
    ),
    "ranx": Preset(
        _TREC_EVAL, "ranx.evaluate(qrels, run, 'ndcg@k')", "ranx 0.3.21", (_RANDOM_TIES,)
    ),
    "ranx_burges": Preset(
        {**_TREC_EVAL, "gain": "exp2"},
        "ranx.evaluate(qrels, run, 'ndcg_burges@k')",
        "ranx 0.3.21",
        (_RANDOM_TIES,),
    ),
    "beir": Preset(
        {**_PYTREC_EVAL, "exclude_query_as_document": "true"},
        "beir EvaluateRetrieval.evaluate(qrels, results, [k], ignore_identical_ids=True)",
        "BEIR 2.2.0, through pytrec-eval-terrier 0.5.11",
        ("rounding to 5 decimals",),
        _WHOLE,
    ),
    "sklearn": Preset(
        _SKLEARN,
        "sklearn.metrics.ndcg_score(y_true, y_score, k=k)",
        "scikit-learn 1.9.1",
        ("ignore_ties=True, " + _RANDOM_TIES, "lists of one document, which it refuses"),
    ),
    "torchmetrics": Preset(
        {**_SKLEARN, "score_precision": "float32", "negative": "keep"},
        "torchmetrics.functional.retrieval.retrieval_normalized_dcg(preds, target, top_k=k)",
        "torchmetrics 1.9.0, to 2e-6: it computes in float32",
        ("its arithmetic in float32",),
    ),
    "xgboost": Preset(
        {**_LIGHTGBM, "score_precision": "float32"},
        (
            "xgboost eval_metric ndcg@k (ndcg_exp_gain), "
            "documents given in the order of the rank column"
        ),
        "XGBoost 3.2.0",
        ("ndcg@k-, which is no_relevant=zero here",),
        Grades("refuses", 31),
    ),
    "lightgbm": Preset(
        _LIGHTGBM,
        "lightgbm metric ndcg, eval_at k, documents given in the order of the rank column",
        "LightGBM 4.7.0",
        (
            "label gains that stay set for the whole process",
            "its limit of 10,000 ranks for discounts",
        ),
        Grades("refuses", 30),
    ),
    "catboost": Preset(
        {**_SKLEARN, "ties": "worst", "no_relevant": "one", "negative": "keep"},
        "catboost eval_metric NDCG:top=k;type=Base",
        "CatBoost 1.2.10",
        ("type=Exp, which is gain=exp2 here",),
    ),
    "mllib": Preset(
        {"negative": "keep", "no_relevant": "zero"},
        "Scala RankingMetrics.ndcgAt(k) with relevances, labels sorted by relevance",
        "Spark 4.2.1",
        (
            "an ideal in the order of the given labels, with which NDCG can reach 1.58",
            "graded labels from Python, which never reach the JVM",
            _COUNTED_TWICE,
        ),
    ),
    "mllib_binary": Preset(
        {"gain": "binary", "no_relevant": "zero"},
        (
            "pyspark.ml RankingEvaluator(metricName='ndcgAtK') and RankingMetrics.ndcgAt(k) "
            "of relevant documents"
        ),
        "Spark 4.2.1",
        (_COUNTED_TWICE,),
    ),
    "recommenders": Preset(
        {"gain": "linear", "ties": "doc_id_num_asc", "negative": "keep", "relevant_from": "judged"},
        (
            "recommenders ndcg_at_k(..., score_type='raw'), "
            "predictions given in the order of their item ids"
        ),
        "recommenders 1.2.1",
        (
            "ties in the order of the given predictions, if that is not the order of the item ids: "
            "give a rank column with that order, and set ties=rank",
            "precision_at_k, recall_at_k and map leave out users without predictions, "
            "whom ndcg_at_k scores 0: set missing_query=skip",
            "map_at_k, which divides by k when more than k documents are relevant",
        ),
    ),
    "replay": Preset(
        {**_LISTED, "ties": "doc_id_num_desc"},
        "replay.metrics.NDCG(k) on pandas, Polars or Spark tables",
        "replay-rec 0.22.0",
        (
            (
                "ids that are numbers but stored as text or mixed with other ids, "
                "because it sorts them as text: set ties=doc_id_desc"
            ),
            "ties in a dictionary of lists, which keep their order: give ranks, and set ties=rank",
            "MAP, which divides by k if more than k documents are relevant",
        ),
    ),
    "rectools": Preset(
        _RECTOOLS,
        "rectools.metrics.NDCG(k).calc(reco, interactions), ranks from the column rank",
        "RecTools 0.19.0",
        (*_RECTOOLS_RANKS, "debias_config"),
    ),
    "rectools_achievable": Preset(
        {**_RECTOOLS, "ideal": "judged"},
        (
            "rectools.metrics.NDCG(k, divide_by_achievable=True).calc(reco, interactions), "
            "ranks from the column rank"
        ),
        "RecTools 0.19.0",
        (*_RECTOOLS_RANKS, "debias_config"),
    ),
    "elasticsearch": Preset(
        {"ideal": "judged_capped", "no_relevant": "zero", "negative": "keep"},
        "the rank evaluation API's dcg with normalize=true",
        "its formula, by hand: no live server",
    ),
    "search_relevance": Preset(
        {"negative": "keep", "no_relevant": "zero"},
        "NDCG@k of OpenSearch's Search Relevance Workbench, documents in the order of the results",
        "its formula (search-relevance 3), by hand: no live server",
        ("rounding to 2 decimals", "0 for a query whose ideal DCG is negative"),
    ),
    "mlflow": Preset(
        {**_LISTED, "ideal": "judged_capped"},
        "mlflow.metrics.ndcg_at_k(k), targets being the judged documents",
        "MLflow 3.17.2",
        (
            "documents that are returned twice, which it counts twice",
            "1 for a query with neither targets nor retrieved documents",
        ),
    ),
    "tfma": Preset(
        {**_RETRIEVED, "gain": "linear"},
        "tfma.metrics.NDCG(gain_key, top_k_list=[k]), grades as gains",
        "tensorflow-model-analysis 0.52.0",
        (
            _RANDOM_TIES,
            "weights of examples",
            "negative gains, which it accepts if any gain in the list is positive",
        ),
    ),
    "retrieved_list": Preset(
        {"ideal": "retrieved", "order": "rank"},
        (
            "graded lists that are the complete ground truth, each with its own ideal; "
            "lists without gain are skipped"
        ),
        "the worked examples of the literature",
    ),
}


def about_grades(name: str, fractional: float | None, highest: float | None) -> Iterator[str]:
    """Yield warnings that the tool of a preset would not give our scores, because of the grades.

    `fractional` is a grade that is not a whole number, or None. `highest` is the highest grade.
    """
    grades = PRESETS[name].grades
    end = "and would not give these scores"
    if fractional is not None and grades.fractional:
        what = f"grades that are not whole numbers, e.g. {fractional:g}"
        yield f"judgments: {name} itself {grades.fractional} {what}, {end}"
    if highest is not None and highest > grades.highest:
        what = f"grades above {grades.highest:g}, e.g. {highest:g}"
        yield f"judgments: {name} itself refuses {what}, {end}"
