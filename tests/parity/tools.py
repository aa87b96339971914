"""Each tool's own NDCG of a case: {query: {cutoff: ndcg}}, without the queries that the tool leaves out.

Every function calls the installed tool; what the tool leaves to its caller (zeros for missing queries, the order of
labels) is done here as the tool's documentation says.
"""

import math
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from cases import CUTOFFS, Case
from oracle import ndcg
from pyspark.sql import SparkSession

from ndcg_spark import Convention

Scores = dict[str, dict[int, float]]


def pytrec_eval(case: Case) -> Scores:
    tool = pytest.importorskip("pytrec_eval")
    qrels, run = case.qrels_and_run()
    cuts = ",".join(map(str, CUTOFFS))
    ndcg_by_query = tool.RelevanceEvaluator(qrels, {f"ndcg_cut.{cuts}"}).evaluate(run)
    return {
        query: {k: values[f"ndcg_cut_{k}"] for k in CUTOFFS}
        for query, values in ndcg_by_query.items()
    }


def ir_measures(case: Case) -> Scores:
    tool = pytest.importorskip("ir_measures")
    qrels, run = case.qrels_and_run()
    ndcg_by_query: Scores = {}
    for metric in tool.iter_calc([tool.nDCG @ k for k in CUTOFFS], qrels, run):
        ndcg_by_query.setdefault(metric.query_id, {})[metric.measure.params["cutoff"]] = (
            metric.value
        )
    return ndcg_by_query


def ranx(case: Case, metric: str = "ndcg") -> Scores:
    tool = pytest.importorskip("ranx")
    qrels, run = case.qrels_and_run()
    common = {query: run.get(query, {}) for query in qrels}
    judged = tool.Qrels(qrels)
    returned = tool.Run({query: docs or {"nothing": 0.0} for query, docs in common.items()})
    tool.evaluate(judged, returned, [f"{metric}@{k}" for k in CUTOFFS], make_comparable=False)
    return {
        query: {k: float(returned.scores[f"{metric}@{k}"][query]) for k in CUTOFFS}
        for query in sorted(qrels)
    }


def beir(case: Case) -> Scores:
    tool = pytest.importorskip("beir.retrieval.evaluation").EvaluateRetrieval
    qrels, run = case.qrels_and_run()
    ndcg_by_query: Scores = {}
    # One query at a time: it prints means only, rounded to 5 decimals.
    for query in sorted(qrels.keys() & run.keys()):
        ndcg, *_ = tool.evaluate(
            {query: qrels[query]}, {query: dict(run[query])}, CUTOFFS, ignore_identical_ids=True
        )
        ndcg_by_query[query] = {k: ndcg[f"NDCG@{k}"] for k in CUTOFFS}
    return ndcg_by_query


def sklearn(case: Case) -> Scores:
    tool = pytest.importorskip("sklearn.metrics")
    lists = case.graded_lists().items()
    # It refuses lists of one document, whose NDCG is 1 or 0 by any definition.
    return {
        query: {
            k: float(labels[0] > 0)
            if len(labels) == 1
            else float(tool.ndcg_score([labels], [scores], k=k))
            for k in CUTOFFS
        }
        for query, (labels, scores) in lists
    }


def torchmetrics(case: Case) -> Scores:
    tool = pytest.importorskip("torchmetrics.functional.retrieval")
    torch = pytest.importorskip("torch")
    return {
        query: {
            k: float(
                tool.retrieval_normalized_dcg(torch.tensor(scores), torch.tensor(labels), top_k=k)
            )
            for k in CUTOFFS
        }
        for query, (labels, scores) in case.graded_lists().items()
    }


def xgboost(case: Case) -> Scores:
    tool = pytest.importorskip("xgboost")
    ndcg_by_query: Scores = {}
    for query, (labels, scores) in case.graded_lists().items():
        data = tool.DMatrix(np.zeros((len(labels), 1)), label=labels)
        data.set_group([len(labels)])
        data.set_base_margin(scores)
        metrics = [f"ndcg@{k}" for k in CUTOFFS]
        booster = tool.train(
            {"objective": "rank:ndcg", "eval_metric": metrics, "verbosity": 0}, data, 0
        )
        printed = dict(part.rsplit(":", 1) for part in booster.eval(data).split("\t")[1:])
        ndcg_by_query[query] = {k: float(printed[f"eval-ndcg@{k}"]) for k in CUTOFFS}
    return ndcg_by_query


def lightgbm(case: Case) -> Scores:
    tool = pytest.importorskip("lightgbm")
    train = tool.Dataset(np.zeros((2, 1)), label=[0, 1], group=[2], params={"verbose": -1})
    lists = case.graded_lists()
    sets = [
        tool.Dataset(
            np.zeros((len(labels), 1)),
            label=labels,
            group=[len(labels)],
            init_score=scores,
            reference=train,
        )
        for labels, scores in lists.values()
    ]
    # One tree that may not split adds nothing, so the metric is of the initial scores.
    options = {
        "objective": "lambdarank",
        "metric": "ndcg",
        "eval_at": CUTOFFS,
        "verbose": -1,
        "min_data_in_leaf": 10**6,
    }
    out: dict[str, dict[str, list[float]]] = {}
    recorded = [tool.record_evaluation(out)]
    tool.train(options, train, 1, valid_sets=sets, valid_names=list(lists), callbacks=recorded)
    return {query: {k: float(out[query][f"ndcg@{k}"][0]) for k in CUTOFFS} for query in lists}


def catboost(case: Case) -> Scores:
    tool = pytest.importorskip("catboost.utils")
    return {
        query: {
            k: tool.eval_metric(
                [float(x) for x in labels],
                scores,
                f"NDCG:top={k};type=Base",
                group_id=[0] * len(labels),
            )[0]
            for k in CUTOFFS
        }
        for query, (labels, scores) in case.graded_lists().items()
    }


def recommenders(case: Case) -> Scores:
    tool = pytest.importorskip("recommenders.evaluation.python_evaluation")
    known_true, known_pred = (
        [("known", "b", 3), ("known", "c", 1)],
        [("known", d, -s) for s, d in enumerate("acb")],
    )

    def mean(true: list[tuple[str, str, int]], pred: list[tuple[str, str, float]], k: int) -> float:
        return float(
            tool.ndcg_at_k(
                pd.DataFrame(true, columns=["userID", "itemID", "rating"]),
                pd.DataFrame(pred, columns=["userID", "itemID", "prediction"]),
                k=k,
                score_type="raw",
            )
        )

    # It gives means only. With a second query of a known score they tell what the first scored, or that it is left out.
    cutoffs = [k for k in CUTOFFS if k > 1]
    known = {k: mean(known_true, known_pred, k) for k in cutoffs}
    ndcg_by_query: Scores = {}
    for query, grades in case.judged.items():
        true = [*((query, doc, grade) for doc, grade in grades.items()), *known_true]
        # In the order of the ids: numbers by their value, then the others by their text.
        rows = sorted(case.returned.get(query, []), key=lambda row: _by_number(row[0]))
        pred = [*((query, doc, score) for doc, score, _ in rows), *known_pred]
        means = {k: mean(true, pred, k) for k in cutoffs}
        values = {k: 2 * means[k] - known[k] for k in cutoffs if abs(means[k] - known[k]) > 1e-12}
        if values:
            ndcg_by_query[query] = values
    return ndcg_by_query


def replay(case: Case) -> Scores:
    tool = pytest.importorskip("replay.metrics")
    ordered = {
        query: [doc for doc, _, _ in sorted(rows, key=lambda row: -row[1])]
        for query, rows in case.returned.items()
    }
    truth = {query: list(grades) for query, grades in case.judged.items()}
    ndcg_by_query: Scores = {query: {} for query in truth}
    scored = {
        query: [(doc, -float(place)) for place, doc in enumerate(docs)]
        for query, docs in ordered.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = tool.NDCG(CUTOFFS, mode=tool.PerUser())(scored, truth)
    for k in CUTOFFS:
        for query, value in result[f"NDCG-PerUser@{k}"].items():
            ndcg_by_query[query][k] = value
    return ndcg_by_query


def rectools(case: Case, *, achievable: bool) -> Scores:
    tool = pytest.importorskip("rectools.metrics")
    pairs = [(query, doc) for query, grades in case.judged.items() for doc in grades]
    rows = [
        (query, doc, rank) for query, listed in case.returned.items() for doc, _, rank in listed
    ]
    truth = pd.DataFrame(pairs, columns=["user_id", "item_id"])
    returned = pd.DataFrame(rows, columns=["user_id", "item_id", "rank"])
    ndcg_by_query: Scores = {query: {} for query in case.judged}
    for k in CUTOFFS:
        metric = tool.NDCG(k, divide_by_achievable=achievable)
        for query, value in metric.calc_per_user(returned, truth).items():
            ndcg_by_query[query][k] = float(value)
    return ndcg_by_query


def elasticsearch(case: Case) -> Scores:
    """By its formula (RankEvalRequest, DiscountedCumulativeGain): no server can be had here."""
    ndcg_by_query: Scores = {}
    for query, grades in case.judged.items():
        rows = sorted(
            case.returned.get(query, []), key=lambda row: (row[1], row[0].encode()), reverse=True
        )
        ndcg_by_query[query] = {}
        for k in CUTOFFS:
            gains = [2 ** grades[doc] - 1 if doc in grades else 0 for doc, _, _ in rows[:k]]
            ideal = sorted((2**grade - 1 for grade in grades.values()), reverse=True)[: len(gains)]
            dcg, best = (
                sum(g / math.log2(r + 1) for r, g in enumerate(of, 1)) for of in (gains, ideal)
            )
            ndcg_by_query[query][k] = dcg / best if best else 0.0
    return ndcg_by_query


def search_relevance(case: Case) -> Scores:
    """By its formula (Evaluation.calculateNDCGAtK): no server can be had here."""
    ndcg_by_query: Scores = {}
    for query, grades in case.judged.items():
        listed = _by_score(case, query)
        ndcg_by_query[query] = {}
        for k in CUTOFFS:
            gains = [2 ** grades[doc] - 1 if doc in grades else 0 for doc in listed[:k]]
            ideal = sorted((2**grade - 1 for grade in grades.values()), reverse=True)[:k]
            dcg, best = (
                sum(g / math.log2(r + 1) for r, g in enumerate(of, 1)) for of in (gains, ideal)
            )
            ndcg_by_query[query][k] = dcg / best if best > 0 else 0.0
    return ndcg_by_query


def mlflow(case: Case) -> Scores:
    tool = pytest.importorskip("mlflow.metrics")
    queries = list(case.judged)
    targets, retrieved = (
        pd.Series([list(case.judged[q]) for q in queries]),
        [_by_score(case, q) for q in queries],
    )
    of_cutoffs = {
        k: tool.ndcg_at_k(k).eval_fn(pd.Series(retrieved), targets).scores for k in CUTOFFS
    }
    return {
        query: {k: float(of_cutoffs[k][at]) for k in CUTOFFS} for at, query in enumerate(queries)
    }


def tfma(case: Case) -> Scores:
    tool = pytest.importorskip("tensorflow_model_analysis").metrics
    (computation,) = tool.NDCG("gain", top_k_list=CUTOFFS).computations(
        query_key="query", sub_keys=[]
    )
    combiner = computation.combiner
    ndcg_by_query: Scores = {}
    for query, (labels, scores) in case.graded_lists().items():
        inputs = tool.StandardMetricInputs(
            labels=np.array(labels, float),
            predictions=np.array(scores),
            example_weights=np.array([1.0] * len(scores)),
            features={"query": np.array([query] * len(scores)), "gain": np.array(labels, float)},
        )
        output = combiner.extract_output(combiner.add_input(combiner.create_accumulator(), inputs))
        values = {key.sub_key.top_k: float(value) for key, value in output.items()}
        # Queries without a positive gain have no weight.
        if not math.isnan(values[CUTOFFS[0]]):
            ndcg_by_query[query] = values
    return ndcg_by_query


def _by_score(case: Case, query: str) -> list[str]:
    """The documents returned for a query, the best first."""
    rows = case.returned.get(query, [])
    return [
        doc for doc, _, _ in sorted(rows, key=lambda row: (row[1], row[0].encode()), reverse=True)
    ]


def trec_eval(case: Case, *, exp2: bool = False) -> Scores:
    """By the definition in plain Python: trec_eval 10, which compares scores as doubles, installs from no registry."""

    convention = Convention(gain="exp2" if exp2 else "linear")
    return {
        query: {
            k: ndcg(
                grades,
                {doc: score for doc, score, _ in case.returned.get(query, [])},
                k,
                convention,
            )
            or 0.0
            for k in CUTOFFS
        }
        for query, grades in case.judged.items()
    }


def mllib(spark: SparkSession, case: Case, *, graded: bool) -> Scores:
    """Scala's RankingMetrics through classic Spark's JVM: from Python, relevances never reach it."""
    jvm = spark._jvm
    context = jvm.org.apache.spark.api.java.JavaSparkContext(spark._jsc.sc())
    ndcg_by_query: Scores = {}
    for query, grades in case.judged.items():
        rows = sorted(
            case.returned.get(query, []), key=lambda row: (row[1], row[0].encode()), reverse=True
        )
        # With relevances, every label is judged and sorted by relevance; without, a label is a relevant document.
        labels = (
            sorted(grades, key=lambda doc: -grades[doc])
            if graded
            else [d for d, g in grades.items() if g > 0]
        )
        if not labels:
            continue
        lists = [_java_list(jvm, [doc for doc, _, _ in rows]), _java_list(jvm, labels)]
        if graded:
            lists.append(_java_list(jvm, [float(grades[doc]) for doc in labels]))
        pair = (jvm.scala.Tuple3 if graded else jvm.scala.Tuple2)(*lists)
        metrics = jvm.org.apache.spark.mllib.evaluation.RankingMetrics.of(
            context.parallelize(_java_list(jvm, [pair]), 1)
        )
        ndcg_by_query[query] = {k: metrics.ndcgAt(k) for k in (1, 2, 3, 5, 10, 40)}
    return ndcg_by_query


def _by_number(doc: str) -> tuple[bool, int, str]:
    is_number = doc.isascii() and doc.isdecimal()
    return not is_number, int(doc) if is_number else 0, doc


def _java_list(jvm: Any, values: Iterable[Any]) -> Any:
    listed = jvm.java.util.ArrayList()
    for value in values:
        listed.add(value)
    return listed
