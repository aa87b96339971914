"""Each tool's own measures beside NDCG: {query: {(column, cutoff): value}}, cutoff "all" for the whole ranking.

Without the queries that the tool leaves out, and only measures that mean the same there.
"""

import pytest
from cases import CUTOFFS, Case

Measured = dict[str, dict[tuple[str, str], float]]

#: trec_eval's measures at cutoffs, and of the whole ranking.
_AT = {"P": "precision", "recall": "recall", "map_cut": "ap", "success": "success"}
_WHOLE = {"map": "ap", "recip_rank": "rr", "bpref": "bpref", "Rprec": "rprec"}


def pytrec_eval(case: Case) -> Measured:
    tool = pytest.importorskip("pytrec_eval")
    qrels, run = case.qrels_and_run()
    asked = {f"{name}.{','.join(map(str, CUTOFFS))}" for name in _AT} | set(_WHOLE)
    return {
        query: {(_AT[name], str(k)): values[f"{name}_{k}"] for name in _AT for k in CUTOFFS}
        | {(column, "all"): values[name] for name, column in _WHOLE.items()}
        for query, values in tool.RelevanceEvaluator(qrels, asked).evaluate(run).items()
    }


def ir_measures(case: Case) -> Measured:
    tool = pytest.importorskip("ir_measures")
    qrels, run = case.qrels_and_run()
    columns = {
        "P": "precision",
        "R": "recall",
        "AP": "ap",
        "Success": "success",
        "RR": "rr",
        "Bpref": "bpref",
        "Rprec": "rprec",
    }
    asked = [measure @ k for measure in (tool.P, tool.R, tool.AP, tool.Success) for k in CUTOFFS]
    measured: Measured = {}
    for metric in tool.iter_calc([*asked, tool.AP, tool.RR, tool.Bpref, tool.Rprec], qrels, run):
        at = str(metric.measure.params.get("cutoff", "all"))
        measured.setdefault(metric.query_id, {})[columns[metric.measure.NAME], at] = metric.value
    return measured


def ranx(case: Case) -> Measured:
    tool = pytest.importorskip("ranx")
    qrels, run = case.qrels_and_run()
    judged = tool.Qrels(qrels)
    returned = tool.Run({query: run.get(query) or {"nothing": 0.0} for query in qrels})
    at = {
        "precision": "precision",
        "recall": "recall",
        "map": "ap",
        "mrr": "rr",
        "hit_rate": "success",
    }
    names = {f"{name}@{k}": (column, str(k)) for name, column in at.items() for k in CUTOFFS}
    names |= {"map": ("ap", "all"), "mrr": ("rr", "all"), "r-precision": ("rprec", "all")}
    tool.evaluate(judged, returned, list(names), make_comparable=False)
    return {
        q: {key: float(returned.scores[name][q]) for name, key in names.items()}
        for q in sorted(qrels)
    }


def beir_capped_recall(case: Case) -> dict[str, dict[int, float]]:
    """BEIR's R_cap at each cutoff, of the answered queries with a relevant document: it divides by 0 in others."""
    tool = pytest.importorskip("beir.retrieval.evaluation").EvaluateRetrieval
    qrels, run = case.qrels_and_run()
    measured = {}
    for query in sorted(qrels.keys() & run.keys()):
        if max(qrels[query].values()) > 0:
            # One query at a time: it prints means only, rounded to 5 decimals.
            values = tool.evaluate_custom(
                {query: qrels[query]}, {query: run[query]}, CUTOFFS, "r_cap"
            )
            measured[query] = {k: values[f"R_cap@{k}"] for k in CUTOFFS}
    return measured
