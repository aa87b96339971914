"""The documents that a published night keeps: explained, or to be judged. Neither inputs nor an engine are needed."""

import dataclasses
import struct
from collections.abc import Iterable, Sequence
from typing import Any

import pyarrow.compute as pc

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import deepest_finite, format_cutoff
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.explain import Explained, explain_runs
from ndcg_spark.explanation.facts import ExplainRequest, Facts, Row, query_facts
from ndcg_spark.nights.log import Night, Nights, committed
from ndcg_spark.nights.read import Where, night_rows, read_dataset_scores, read_rows
from ndcg_spark.nights.select import select_nights
from ndcg_spark.tables.table import DECIMALS
from ndcg_spark.text import unknown_name


def explain_night(output: str, date: str | None, request: ExplainRequest) -> Explained:
    """The explanations of a query of one night, the newest if no date is named; perhaps compared with another night."""
    return _explain_night(committed(output), output, date, request)


def _explain_night(known: Nights, output: str, date: str | None, request: ExplainRequest) -> Explained:
    query, nights = request.query, select_nights(known, output, date, request.dataset)
    dataset = request.dataset_from([night.dataset for night in nights])
    night = next(night for night in nights if night.dataset == dataset)
    if not night.kept_rows("ranked_documents"):
        raise _not_kept(night, "keeps no documents")
    scores = night_rows(night, "query_scores", query_id=[query])
    if not scores:
        count = len({row["query_id"] for row in night_rows(night, "query_scores", ["query_id"])})
        raise ConfigurationError(f"query: {query!r} is not one of the {count:,} judged queries")
    cutoff = _cutoff(night, scores, request)
    # A baseline of another night is no run of this one.
    own = dataclasses.replace(request, baseline=None) if request.baseline_date else request
    runs = own.runs(sorted(row["run"] for row in scores if row["cutoff"] == cutoff))
    facts = {run: facts for (run, _), facts in read_facts(night, runs, cutoff, [query]).items()}
    if not facts or not facts.keys() >= {own.run, own.baseline} - {None}:
        kept = f"keeps those of the queries that changed most, and {query!r} is not among them"
        raise _not_kept(night, kept)
    explained = explain_runs(facts, [run for run in runs if run in facts], own)
    if request.baseline_date is None:
        return explained
    (other,) = select_nights(known, output, request.baseline_date, dataset)
    names = {run: request.baseline or run for run in facts}
    before = read_facts(other, [*{*names.values()}], cutoff, [query])
    baselines = {
        run: (before[name, query], f"{name} of {other.evaluated_on}")
        for run, name in names.items()
        if (name, query) in before
    }
    if not baselines:
        raise ConfigurationError(
            f"baseline-date: the night {other.evaluated_on} keeps no documents of {query!r} and these runs; choose a "
            "night that was evaluated with --documents all"
        )
    return explained._replace(baselines=baselines)


def _not_kept(night: Night, why: str) -> ConfigurationError:
    return ConfigurationError(
        f"documents: the night {night.evaluated_on} of {night.dataset} {why}; evaluate it with --documents all, or "
        "explain from --judgments and --results"
    )


def read_facts(
    night: Night, runs: Sequence[str], cutoff: int | None, queries: Sequence[str]
) -> dict[tuple[str, str], Facts]:
    """The facts of the lists of these runs and queries whose documents a night keeps, by run and query."""
    if not queries or not night.kept_rows("ranked_documents"):
        return {}
    convention, keeps_all = stored_convention(night.record), night.record["configuration"].get("documents") == "all"
    documents: dict[str, list[Row]] = {query: [] for query in queries}
    for row in night_rows(night, "ranked_documents", query_id=queries, run=[*runs, None]):
        documents[row["query_id"]].append(row)
    facts = {}
    for score in night_rows(night, "query_scores", query_id=queries, run=runs, cutoff=[cutoff]):
        run, query = score["run"], score["query_id"]
        kept = documents[query]
        # A list without documents is kept if the ideal ranking of its query is.
        is_kept = keeps_all or any(row["run"] == run or score["returned"] == 0 for row in kept)
        if is_kept:
            judged = [row for row in kept if row["run"] is None]
            if convention.ideal == "retrieved":
                judged = [row for row in kept if row["relevance"] is not None]
            listed = _listed((row for row in kept if row["run"] == run), convention)
            facts[run, query] = query_facts(score, listed, judged, convention, whole=False)
    return facts


def stored_convention(record: Row) -> Convention:
    """The convention of a night's record."""
    based_on = str(record.get("convention", "")).partition(" ")[0]
    options = Convention(**record["options"])
    return Convention(**options.options(), based_on=based_on) if based_on in PRESETS else options


def _cutoff(night: Night, scores: Iterable[Row], request: ExplainRequest) -> int | None:
    known = list(dict.fromkeys(row["cutoff"] for row in scores))
    deepest = deepest_finite(known)
    # Documents are kept down to the deepest rank, also where the whole ranking is scored.
    ranks = known if deepest is None else [rank for rank in known if rank is not None]
    cutoff = request.cutoff_or(night.measure_set.main_cutoff("ndcg", ranks))
    if cutoff not in known or (cutoff is None and deepest is not None):
        kept = ", ".join(format_cutoff(rank) for rank in sorted(rank for rank in known if rank is not None)) or "all"
        raise ConfigurationError(
            f"cutoff: the night keeps the documents down to {format_cutoff(deepest)}, and scores at {kept}; "
            f"{format_cutoff(cutoff)} is not one of these, so explain it from --judgments and --results"
        )
    return cutoff


def _listed(documents: Iterable[Row], convention: Convention) -> list[dict[str, Any]]:
    """The documents of a list as `query_facts` takes them; neighbours with the same score are tied."""
    is_exact, before, rows = convention.score_precision == "float64", None, list[dict[str, Any]]()
    for row in sorted(documents, key=lambda row: row["rank"]):
        score = row["score"] if is_exact or row["score"] is None else struct.pack("f", row["score"])
        group = rows[-1]["tie_group"] if rows and row["tied"] and (True, score) == before else row["rank"]
        before = row["tied"], score
        rows.append({**row, "on_list": True, "returned_rank": row["rank"], "tie_group": group, "own_gain": row["gain"]})
    return rows


def night_documents_to_judge(
    output: str, limit: int, date: str | None = None, dataset: str | None = None, run: str | None = None
) -> list[dict[str, Any]]:
    """The first rows of TO_JUDGE, at most `limit`, as `documents_to_judge` orders them; of a run or of all."""

    def read() -> list[dict[str, Any]]:
        nights = select_nights(committed(output), output, date, dataset)
        if not any(night.kept_rows("ranked_documents") for night in nights):
            raise ConfigurationError(f"documents: {nights[0]} keeps none; evaluate it with --documents all")
        runs = {row["run"] for rows in read_dataset_scores(nights) for row in rows}
        if run is not None and run not in runs:
            raise unknown_name("run", "run", run, runs)
        where: Where = {"relevance": [None], **({} if run is None else {"run": [run]})}
        key = ["dataset", "query_id", "doc_id"]
        rows = read_rows(nights, "ranked_documents", [*key, "run", "rank", "discount"], where).group_by(key)
        sums = rows.aggregate([("run", "count"), ("rank", "min"), ("discount", "sum")])
        named = sums.rename_columns([*key, "runs", "best_rank", "weight"])
        order = [("order", "descending"), *((name, "ascending") for name in key)]
        ordered = named.append_column("order", pc.round(named["weight"], DECIMALS)).sort_by(order)
        return list(ordered.drop_columns(["order"]).slice(0, limit).to_pylist())

    return read()
