"""Explain one query of a published night, from the documents that it keeps; neither inputs nor an engine are needed."""

import struct
from collections.abc import Iterable, Sequence
from typing import Any

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.cutoffs import deepest_finite, format_cutoff
from ndcg_spark.convention.parsing import measure_set_in
from ndcg_spark.convention.presets import PRESETS
from ndcg_spark.errors import ConfigurationError
from ndcg_spark.explanation.from_rows import Row, explained_of, facts_of
from ndcg_spark.explanation.model import Facts
from ndcg_spark.explanation.request import Explained, ExplainRequest
from ndcg_spark.nights.read import NightRows
from ndcg_spark.nights.records import CommittedNight, committed, read_again_if_replaced
from ndcg_spark.nights.selection import select_nights
from ndcg_spark.text import unknown_name


def explain_night(output: str, date: str | None, request: ExplainRequest) -> Explained:
    """The explanations of a query of one night, the newest if no date is named.

    Raises
    ------
    ConfigurationError
        There is no such night, query, run or cutoff, or the night does not keep its documents.
    StorageError
        The output cannot be read.
    """
    return read_again_if_replaced(lambda: _explain_night(output, date, request))


def _explain_night(output: str, date: str | None, request: ExplainRequest) -> Explained:
    night = _night(committed(output), output, date, request)
    tables = NightRows(night)
    if not tables.has_documents():
        raise ConfigurationError(
            f"documents: the night {night.evaluated_on} of {night.dataset} keeps no documents; evaluate it with "
            "--documents all, or explain from --judgments and --results"
        )
    scores = tables.rows_of("query_scores", request.query)
    if not scores:
        names = tables.queries()
        raise unknown_name("query", "judged query", request.query, _near(request.query, names), len(names))
    cutoff = _cutoff(night, scores, request)
    documents = tables.rows_of("ranked_documents", request.query)
    runs = _kept_runs(night, [row for row in scores if row["cutoff"] == cutoff], documents, request)
    explained = [row for row in scores if row["run"] in runs and row["cutoff"] == cutoff]
    return explained_of(facts_of_night(night, explained, documents), runs, request)


def keeps(night: CommittedNight, score: Row, documents: Iterable[Row]) -> bool:
    """Whether the night keeps the documents of a list; `documents` are all that it keeps of the query.

    `score` is the list's row of QUERY_SCORES. A list without documents is kept if its query is.
    """
    if not isinstance(night.record.get("configuration", {}).get("documents"), int):
        return True
    runs = {row["run"] for row in documents}
    return score["run"] in runs or (score["returned"] == 0 and bool(runs))


def _kept_runs(
    night: CommittedNight, scores: Sequence[Row], documents: Sequence[Row], request: ExplainRequest
) -> list[str]:
    """The runs to explain: the requested ones, or all whose documents are kept. Raises ConfigurationError."""
    runs = request.runs(sorted(row["run"] for row in scores))
    kept = {row["run"] for row in scores if keeps(night, row, documents)}
    lacking = [name for name in (request.run, request.baseline) if name is not None and name not in kept]
    if lacking or not kept:
        of_run = f" of the run {lacking[0]!r}" if lacking else ""
        raise ConfigurationError(
            f"documents: the night {night.evaluated_on} of {night.dataset} keeps those of the queries that changed "
            f"most, and {request.query!r}{of_run} is not among them; evaluate it with --documents all, or explain from "
            "--judgments and --results"
        )
    return [run for run in runs if run in kept]


def facts_of_night(night: CommittedNight, scores: Iterable[Row], documents: Sequence[Row]) -> dict[str, Facts]:
    """The facts of one query by run, from its rows of QUERY_SCORES at one cutoff and of RANKED_DOCUMENTS."""
    convention = convention_of(night.record)
    judged = [row for row in documents if row["run"] is None]
    if convention.ideal == "retrieved":
        judged = [row for row in documents if row["relevance"] is not None]
    facts = {}
    for row in scores:
        listed = _listed(documents, row["run"], convention)
        score = {**row, "dataset": night.dataset}
        facts[row["run"]] = facts_of(score, listed, judged, convention, whole=False)
    return facts


def convention_of(record: Row) -> Convention:
    """The convention of a night's record."""
    based_on = str(record.get("convention", "")).partition(" ")[0]
    options = Convention(**record["options"])
    return Convention(**options.options(), based_on=based_on) if based_on in PRESETS else options


def _night(nights: Sequence[CommittedNight], output: str, date: str | None, request: ExplainRequest) -> CommittedNight:
    of_date = select_nights(nights, output, date, request.dataset)
    dataset = request.dataset_of([night.dataset for night in of_date])
    return next(night for night in of_date if night.dataset == dataset)


def _cutoff(night: CommittedNight, scores: Iterable[Row], request: ExplainRequest) -> int | None:
    known = list(dict.fromkeys(row["cutoff"] for row in scores))
    deepest = deepest_finite(known)
    # Documents are kept down to the deepest rank, also where the whole ranking is scored.
    ranks = known if deepest is None else [each for each in known if each is not None]
    cutoff = request.cutoff_or(measure_set_in(night.record.get("configuration") or {}).main_cutoff("ndcg", ranks))
    if cutoff not in known or (cutoff is None and deepest is not None):
        kept = ", ".join(format_cutoff(each) for each in sorted(each for each in known if each is not None)) or "all"
        raise ConfigurationError(
            f"cutoff: the night keeps the documents down to {format_cutoff(deepest)}, and scores at {kept}; "
            f"{format_cutoff(cutoff)} is not one of these, so explain it from --judgments and --results"
        )
    return cutoff


def _listed(documents: Iterable[Row], run: str, convention: Convention) -> list[dict[str, Any]]:
    """The documents of a run as `facts_of` takes them; neighbours with the same score are tied."""
    ranked = sorted((row for row in documents if row["run"] == run), key=lambda row: row["rank"])
    rows: list[dict[str, Any]] = []
    for row in ranked:
        before = rows[-1] if rows else None
        together = before and before["tied"] and row["tied"] and _same(before["score"], row["score"], convention)
        group = before["tie_group"] if before and together else row["rank"]
        rows.append({**row, "on_list": True, "place": row["rank"], "tie_group": group, "own_gain": row["gain"]})
    return rows


def _same(one: float | None, other: float | None, convention: Convention) -> bool:
    if one is None or other is None or convention.score_precision == "float64":
        return one == other
    return struct.pack("f", one) == struct.pack("f", other)


def _near(query: str, names: Iterable[str], most: int = 20_000) -> list[str]:
    """The names among which the nearest is searched for: of very many, those that begin with the same letters."""
    known = list(names)
    for letters in range(1, len(query)):
        if len(known) <= most:
            break
        known = [name for name in known if name[:letters] == query[:letters]]
    return known[:most]
