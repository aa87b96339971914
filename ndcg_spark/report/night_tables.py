"""The tables of a report: runs, what they were compared with, findings of the gate, coverage, where it comes from."""

from collections.abc import Iterable, Mapping
from typing import Any

from ndcg_spark.convention.measures import COLUMNS, MEASURES, written
from ndcg_spark.plain import message
from ndcg_spark.report.night_data import Mean, NightData
from ndcg_spark.sheets.comparisons import comparison_notes, comparison_sheet, p_value, signed
from ndcg_spark.sheets.sheet import Sheet, at, rounded, sheet
from ndcg_spark.sheets.verdicts import verdict_sheet

_COUNTS = ("queries", "missing_queries", "no_relevant_queries", "unjudged_queries")
_NAMES = {measure.column: name for name, measure in MEASURES.items()}


def runs_table(data: NightData) -> Sheet:
    """A row per run: its scores, its interval, how it compares, and what its scores are a mean of."""
    shown = _columns(data)
    headings = ["run", *shown, f"95 % interval of ndcg@{at(data.cutoff)}"]
    if data.compared:
        headings += ["difference", f"{_level(data)} interval of it", "p", "won", "lost", "tied"]
    first_count = len(headings)
    headings += ["queries", "missing", "no relevant", "unjudged", "judged rate"]
    rows = []
    for own in data.runs:
        name, by_cutoff = own[0]["run"], {row["cutoff"]: row for row in own}
        last = by_cutoff[data.cutoff]
        cells = [name, *(rounded(by_cutoff.get(k, {}).get(c)) for c, k in shown.values()), _interval(data.means[name])]
        cells += _compared(data, name) if data.compared else []
        rows.append([*cells, *(f"{last[count]:,}" for count in _COUNTS), rounded(last["judged_rate"])])
    # Counts that are the same for every run and say that nothing is wrong only make the table wide.
    dull = {first_count + place for place in (1, 2, 3) if all(row[first_count + place] == "0" for row in rows)}
    kept = [place for place in range(len(headings)) if place not in dull]
    return sheet([headings[p] for p in kept], ([row[p] for p in kept] for row in rows), range(1, len(kept)))


def _columns(data: NightData) -> dict[str, tuple[str, int | None]]:
    """The columns of scores with their cutoffs, by heading: what was asked for, in that order, and what is beside it.

    If nothing was, NDCG at every cutoff comes first.
    """
    cutoffs = [row["cutoff"] for row in data.runs[0]]
    pairs = data.asked.pairs or [("ndcg", cutoff) for cutoff in cutoffs]
    shown = {written(name, cutoff): (MEASURES[name].column, cutoff) for name, cutoff in pairs}
    for column in COLUMNS:
        for cutoff in cutoffs:
            has_values = any(row[column] is not None for own in data.runs for row in own if row["cutoff"] == cutoff)
            if has_values and (column, cutoff) not in shown.values():
                shown[written(_NAMES[column], cutoff) if column in _NAMES else f"{column}@{at(cutoff)}"] = (
                    column,
                    cutoff,
                )
    return shown


def _compared(data: NightData, run: str) -> list[str]:
    row = data.compared.get(run)
    if row is None:
        return ["baseline" if data.held and data.held.is_itself(run) else "-", "", "", "", "", ""]
    ends = Mean(row["difference"], row["interval_low"], row["interval_high"])
    counts = [f"{row[name]:,}" for name in ("wins", "losses", "ties")]
    return [signed(row["difference"]), _interval(ends, "+"), p_value(row["p_adjusted"]), *counts]


def compared_table(data: NightData) -> Sheet | None:
    """The comparisons of the run that is looked at: every measure, cutoff and slice; None if it has none."""
    held = data.held
    if held is None:
        return None
    every = comparison_sheet(held.family, held.correction, held.alpha, signs=None)
    place = (data.night.dataset, data.run)
    both = zip(held.family, every.rows, strict=True)
    shown = [(row, cells) for row, cells in both if (row["dataset"], row["run"]) == place]
    own = [cells for _, cells in shown]
    names = [name for name in every.headings if name not in ("dataset", "run", "")]
    # The stars, which have no heading, stand behind p.
    stars, p = every.headings.index(""), every.headings.index("p")
    places = [(every.headings.index(name), name) for name in names]
    cells = [[f"{row[at]}{row[stars]}" if at == p else row[at] for at, _ in places] for row in own]
    texts = {"measure", "slice", "flags"}
    right = [place for place, name in enumerate(names) if name not in texts]
    notes = comparison_notes([row for row, _ in shown], held.family, held.correction, held.alpha)
    return sheet(names, cells, right, notes) if own else None


def findings_table(record: Mapping[str, Any]) -> Sheet | None:
    """What the checks of the gate have found; None without a gate."""
    verdict = record.get("verdict")
    return verdict_sheet(verdict) if verdict and verdict["findings"] else None


def reasons(record: Mapping[str, Any], most: int = 20) -> list[str]:
    """Why the verdict is what it is: its reason, what the checks found that speaks against the night, warnings."""
    verdict = record.get("verdict")
    if not verdict:
        return []
    against = [each["reason"] for each in verdict["findings"] if each["effect"] != "pass"]
    word = verdict["verdict"]
    decide = word != "pass" and any(each["effect"] == word for each in verdict["findings"])
    # The reason of a verdict that findings decide against is the first of these.
    said = [*([] if decide else [verdict["reason"]]), *against[:most], *verdict["warnings"]]
    said += [f"and {len(against) - most:,} more findings, below"] if len(against) > most else []
    accepted = record.get("accepted")
    said += [f"accepted as a baseline of later nights: {accepted['reason']}"] if accepted else []
    return [message(each) for each in dict.fromkeys(said)]


def coverage_table(data: NightData) -> Sheet:
    """How much of the run and of what it is held against was measured."""
    own = next(row for of in data.runs for row in of if (row["run"], row["cutoff"]) == (data.run, data.cutoff))
    sides = {data.run: own}
    if data.baseline is not None and data.of_baseline is not None:
        sides[data.baseline] = data.of_baseline
    labels = {"queries": "queries in the mean", "missing_queries": "judged queries without results"}
    labels |= {"no_relevant_queries": "queries without a relevant document", "unjudged_queries": "unjudged queries"}
    cells = [[label, *(f"{row[count]:,}" for row in sides.values())] for count, label in labels.items()]
    cells.append(["judged documents, of those returned", *(rounded(row["judged_rate"]) for row in sides.values())])
    found, blank = data.compared.get(data.run), [""] * (len(sides) - 1)
    if found is not None:
        cells += [["compared with the baseline", f"{found['queries']:,}", *blank]]
        cells += [["scored by one side only", f"{found['unpaired_queries']:,}", *blank]]
    return sheet(["", *sides], cells, range(1, len(sides) + 1))


def transitions_table(data: NightData) -> Sheet | None:
    """What became of the status of queries, and what that did to the mean where it is known."""
    if not data.transitions or data.held is None:
        return None
    knows = "change" in data.transitions[0]
    headings = [f"with {data.held.named(data.run)}", f"with {data.run}", "queries"]
    cells = (
        [
            *(row[side] or "not there" for side in ("baseline_status", "status")),
            f"{row['queries']:,}",
            *([signed(row["change"])] if knows else []),
        ]
        for row in data.transitions
    )
    return sheet([*headings, *(["change of the mean"] if knows else [])], cells, [2, 3])


def origins_table(record: Mapping[str, Any]) -> Sheet:
    """Where the scores came from."""
    cells = [[name, str(record.get(name, "-"))] for name in ("evaluation_id", "committed_at", "engine")]
    cells += [[name, str(version)] for name, version in record.get("versions", {}).items()]
    for name, each in record.get("inputs", {}).items():
        files: Iterable[str] = [file["path"] for file in each.get("files", [])]
        first, more = [*files, ""][0], len(list(files)) - 1
        rows = f"{each['rows']:,} rows, " if "rows" in each else ""
        others = f" and {more:,} more" if more > 0 else ""
        cells.append([name, message(f"{rows}{first}{others}, fingerprint {each.get('fingerprint', '-')}")])
    return sheet(["", ""], cells, [])


def _level(data: NightData) -> str:
    return f"{100 * (1 - (data.held.alpha if data.held else 0.05)):g} %"


def _interval(mean: Mean, sign: str = "") -> str:
    return "-" if mean.low is None or mean.high is None else f"{mean.low:{sign}z.4f} to {mean.high:{sign}z.4f}"
