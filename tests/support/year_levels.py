"""How often the gate is right in a year of simulated shops.

python tests/support/year_levels.py KIND QUERIES PERIOD WORLD FROM TO NIGHTS FILE
    Judges shops of the seeds FROM to TO and adds a line of JSON for each to the file. KIND is quiet
    (nothing happens) or events; PERIOD the nights between two changes of judgments; WORLD the
    number of a world of shops.WORLDS. With changes, a run loses up to a tenth on nights of new
    judgments; with chain, the nights are how many changes lie between the accepted night and
    tonight, and two thirds of the shops have lost something.
python tests/support/year_levels.py table FILE...
    Prints the tables of what was measured.
"""

import collections
import json
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import ndtr
from shop_nights import ALLOWED, GATE, Said, beside_accepted, year
from shops import RUNS, TRUTH, WORLDS, Event, Shop, calendar

from ndcg_spark.comparison import statistics
from ndcg_spark.gate.verdict import Verdict

#: With at least this many queries, random signs are taken to be normal, as drawing them takes longest.
_MANY = 200
#: A loss is found in time if it is found at most this many nights after it exceeds what is allowed.
_WEEK = 7
#: What a run loses on nights of new judgments.
_PLANTED = (0.0, 0.02, 0.03, 0.05, 0.1)
#: What shops have lost since the accepted night.
_LOST = (0.0, 0.0168, 0.03)
#: Half of a 95 % interval in standard errors.
_HALF = 1.96


def normal_signs(differences: np.ndarray, *, precise: bool = False) -> float:
    """The p value of random signs where there are so many that their sum is normal."""
    return float(2 * ndtr(-abs(differences.sum()) / np.sqrt(np.sum(differences**2))))


def measured(
    kind: str,
    queries: int,
    period: int,
    world: int,
    seed: int,
    nights: int,
) -> dict[str, Any]:
    """What was said of each night of a shop, and what was true."""
    events = _EVENTS_OF[kind](seed, nights, period)
    shop = Shop(queries, seed, WORLDS[world], period, events)
    # Two sides of three tenths of other queries are of 42 queries of 60.
    held = GATE.model_copy(update={"min_queries": min(50, queries // 2)})
    rows = []
    # Slices take longest, so they are looked at in one shop of each kind.
    has_slices = kind == "events" and seed == 1
    for said in year(shop, nights, held, has_slices=has_slices):
        rows.append(_row(shop, said, period))
    return {
        "kind": kind,
        "queries": queries,
        "period": period,
        "world": WORLDS[world].name,
        "seed": seed,
        "nights": rows,
    }


def _at_changes(seed: int, nights: int, period: int) -> list[Event]:
    """Losses that begin on nights of new judgments and last three nights."""
    events = []
    for number in range(1, nights // period):
        loss = _PLANTED[(number + seed) % len(_PLANTED)]
        at = number * period
        events.append(Event("loss", at, at + 2, loss=loss))
    return events


#: By kind, the events of a shop by its seed, its nights and the nights between two changes.
_EVENTS_OF: Mapping[str, Callable[[int, int, int], list[Event]]] = {
    "quiet": lambda *_: [],
    "events": calendar,
    "changes": _at_changes,
}


def measured_chain(
    queries: int, period: int, world: int, seed: int, changes: int
) -> dict[str, Any]:
    """The differences of every run from the accepted night over so many changes of judgments."""
    at = changes * period + period // 2
    lost = _LOST[seed % len(_LOST)]
    # After the nights of the reference.
    events = [Event("loss", period, at, run, lost) for run in RUNS] if lost else []
    shop = Shop(queries, seed, WORLDS[world], period, events)
    line: dict[str, Any] = {"kind": "chain", "queries": queries, "period": period}
    line |= {"world": WORLDS[world].name, "seed": seed, "changes": changes, "runs": {}}
    for run in RUNS:
        beside = beside_accepted(shop, at, run)
        begins = 0 if beside.reference is None else number_at(beside.reference.first)
        true = shop.loss(run, begins) - shop.loss(run, at)
        rows = []
        for row in beside.rows:
            rows.append(
                [row["reading"], row["difference"], row["interval_low"], row["interval_high"]]
            )
        line["runs"][run] = {"true": true, "begins": begins, "rows": rows}
    return line


def _row(shop: Shop, said: Said, period: int) -> dict[str, Any]:
    verdict = said.verdict
    row: dict[str, Any] = {
        "at": said.at,
        "said": verdict.verdict,
        "reason": verdict.reason,
        "run": verdict.run,
        "changed": said.at >= period and said.at // period != (said.at - 1) // period,
        "said_of": {run: _sentences_about(verdict, run) for run in RUNS},
        "lost_slices": len(verdict.lost_slices),
        "loss": {run: round(shop.loss(run, said.at), 6) for run in RUNS},
        "events": [event.kind for event in shop.events if event.is_on(said.at)],
        "drifts": any(event.by_night and event.is_on(said.at) for event in shop.events),
        "results": [],
    }
    for result in verdict.results:
        numbers = (result.difference, result.interval_low, result.interval_high)
        rounded = [None if number is None else round(number, 6) for number in numbers]
        answer = [result.run, result.baseline, result.result, result.reason, *rounded]
        row["results"].append(answer)
    row["links"] = [_link(shop, link) for link in said.links]
    return row


def _sentences_about(verdict: Verdict, run: str) -> int:
    """How many sentences beside the verdict are about a run tonight, not about an old change."""
    sentences = [*verdict.warnings, *verdict.notes]
    return sum(run in one and "it is unclear how" not in one for one in sentences)


def _link(shop: Shop, link: Mapping[str, Any]) -> dict[str, Any]:
    """Both sides of a change of judgments, and what truly changed on the same queries.

    Judgments that know fewer documents have lower scores, so that the truth is given in their units.
    """
    before, after = (number_at(link[name]) for name in ("before", "after"))
    both = np.intersect1d(shop.active(shop.number(before)), shop.active(shop.number(after)))
    at = RUNS.index(link["run"])
    was = shop.scores(before, TRUTH).ndcg[at, both]
    apart = shop.scores(after, TRUTH).ndcg[at, both] - was
    unit = np.nanmean(shop.scores(before, shop.number(before)).ndcg[at, both]) / was.mean()
    names = ("run", "old", "new", "old_error", "new_error")
    return {**{name: link[name] for name in names}, "true": float(unit * apart.mean())}


def number_at(evaluated_on: str) -> int:
    return int((np.datetime64(evaluated_on) - np.datetime64("2026-01-01")).astype(int))


# What was right, of a night with what was true.


def deserves(night: Mapping[str, Any]) -> bool:
    """Whether a night deserves an alarm: a run lost more than it may, or has no scores."""
    is_absent = {"missing", "ids"} & {*night["events"]}
    return bool(is_absent) or any(night["loss"][run] > ALLOWED[run] + 1e-9 for run in RUNS)


def has_alarm(night: Mapping[str, Any]) -> bool:
    """Whether a night has the alarm that it deserves: for what is absent, no verdict says so."""
    if {"missing", "ids"} & {*night["events"]}:
        return night["said"] == "none" and night["reason"] in ("missing_run", "not_measured")
    return bool(night["said"] == "fail")


def is_silent(night: Mapping[str, Any]) -> bool:
    """Whether a loss above what is allowed and two standard errors passes without a sentence."""
    if night["said"] != "pass":
        return False
    return any(_is_large(night, run) and not night["said_of"][run] for run in RUNS)


def _is_large(night: Mapping[str, Any], run: str) -> bool:
    for of_run, baseline, _, _, _, low, high in night["results"]:
        if of_run == run and baseline == "good" and low is not None:
            error = (high - low) / 2 / _HALF
            return bool(night["loss"][run] > ALLOWED[run] + 2 * error)
    return False


def counts(nights: Sequence[Mapping[str, Any]]) -> collections.Counter[str]:
    """How many nights of a shop were what."""
    found: collections.Counter[str] = collections.Counter()
    since = 0
    for night in nights[1:]:
        found["nights"] += 1
        is_lost = any(night["loss"].values())
        since = since + 1 if night["drifts"] and deserves(night) else 0
        if deserves(night):
            is_early = 0 < since < _WEEK
            kind = "drift" if night["drifts"] else "sudden"
            kind = "absent" if {"missing", "ids"} & {*night["events"]} else kind
            if is_early and not has_alarm(night):
                found["drift within a week"] += 1
                continue
            found["deserve"] += 1
            found[f"{kind} deserve"] += 1
            found["alarm"] += has_alarm(night)
            found[f"{kind} alarm"] += has_alarm(night)
            found["missed: none"] += not has_alarm(night) and night["said"] == "none"
            found["missed: pass"] += night["said"] == "pass"
        elif is_lost:
            found["early"] += night["said"] == "fail"
        else:
            found["quiet"] += 1
            found["false"] += night["said"] == "fail"
            found["quiet none"] += night["said"] == "none"
            found[f"none: {night['reason']}"] += night["said"] == "none"
            found["false on a change"] += night["said"] == "fail" and night["changed"]
            found["changes"] += night["changed"]
            found["changes none"] += night["said"] == "none" and night["changed"]
        found["silent"] += is_silent(night)
        found["not silent"] += night["said"] == "pass" and deserves(night) and not is_silent(night)
        found["identical no pass"] += "identical" in night["events"] and night["said"] != "pass"
    return found


def brackets(nights: Iterable[Mapping[str, Any]]) -> collections.Counter[str]:
    """How many links hold what truly changed between their sides, and in the union of their intervals."""
    found: collections.Counter[str] = collections.Counter()
    for night in nights:
        for link in night["links"]:
            ends = sorted((link["old"], link["new"]))
            low = min(
                link["old"] - _HALF * link["old_error"], link["new"] - _HALF * link["new_error"]
            )
            high = max(
                link["old"] + _HALF * link["old_error"], link["new"] + _HALF * link["new_error"]
            )
            found["links"] += 1
            found["between"] += ends[0] <= link["true"] <= ends[1]
            found["in intervals"] += low <= link["true"] <= high
    return found


# Tables.


def _share(part: float, whole: float) -> str:
    return f"{100 * part / whole:.1f} %" if whole else "-"


def _groups(lines: Iterable[Mapping[str, Any]]) -> dict[tuple[Any, ...], list[Any]]:
    groups: dict[tuple[Any, ...], list[Any]] = {}
    for line in lines:
        key = (line["kind"], line["world"], line["period"], line["queries"])
        groups.setdefault(key, []).append(line)
    return dict(sorted(groups.items()))


def _write(cells: Iterable[object]) -> None:
    sys.stdout.write(f"| {' | '.join(map(str, cells))} |\n")


def _table_of(
    lines: list[Any], name: str, columns: Sequence[tuple[str, Callable[..., str]]]
) -> None:
    _write(["world", "judgments change every", "queries", "shops", *(one for one, _ in columns)])
    _write(["---"] * (len(columns) + 4))
    for (kind, world, period, queries), shops in _groups(lines).items():
        if kind != name:
            continue
        total: collections.Counter[str] = collections.Counter()
        for shop in shops:
            total += counts(shop["nights"])
            total += brackets(shop["nights"])
        when = f"{period} nights" if period < 1_000 else "never"
        shown = [make(total, shops) for _, make in columns]
        _write([world, when, f"{queries:,}", len(shops), *shown])
    sys.stdout.write("\n")


def _false_a_year(_: Any, shops: Sequence[Mapping[str, Any]]) -> str:
    """Nights that failed, by year: mean, median, 90th percentile and most of the shops."""
    years = []
    for shop in shops:
        found = counts(shop["nights"])
        years.append(365 * found["false"] / max(found["quiet"], 1))
    ends = np.percentile(years, [50, 90, 100])
    return f"{np.mean(years):.1f}; {ends[0]:.0f}, {ends[1]:.0f}, {ends[2]:.0f}"


def _reasons(total: collections.Counter[str], _: Any) -> str:
    named = {name[6:]: many for name, many in total.items() if name.startswith("none: ")}
    return ", ".join(
        f"{name} {many}" for name, many in sorted(named.items(), key=lambda one: -one[1])
    )


def _part(part: str, whole: str) -> Callable[..., str]:
    def cell(total: collections.Counter[str], _: Any) -> str:
        return f"{total[part]} of {total[whole]} ({_share(total[part], total[whole])})"

    return cell


_QUIET: Sequence[tuple[str, Callable[..., str]]] = (
    ("nights that fail", _part("false", "quiet")),
    ("of them nights of new judgments", _part("false on a change", "changes")),
    ("no verdict", _part("quiet none", "quiet")),
    ("why", _reasons),
    ("on nights of new judgments", _part("changes none", "changes")),
    ("false nights a year: mean; median, 90th percentile, most", _false_a_year),
    ("true change between the sides", _part("between", "links")),
    ("in their intervals", _part("in intervals", "links")),
)
_EVENTS: Sequence[tuple[str, Callable[..., str]]] = (
    ("nights that deserve an alarm and have it", _part("alarm", "deserve")),
    ("sudden losses", _part("sudden alarm", "sudden deserve")),
    ("drifts, a week after", _part("drift alarm", "drift deserve")),
    ("absent runs, other ids", _part("absent alarm", "absent deserve")),
    ("missed: pass", _part("missed: pass", "deserve")),
    ("missed: no verdict", _part("missed: none", "deserve")),
    ("false", _part("false", "quiet")),
    ("early", lambda total, _: str(total["early"])),
    ("no verdict though quiet", _part("quiet none", "quiet")),
    ("why", _reasons),
    ("missed, and not silent", _part("not silent", "missed: pass")),
    ("silent: above max_drop + 2 errors", lambda total, _: str(total["silent"])),
    ("identical lists that do not pass", lambda total, _: str(total["identical no pass"])),
    ("true change between the sides", _part("between", "links")),
    ("in their intervals", _part("in intervals", "links")),
)


def _by_loss(_: Any, shops: Sequence[Mapping[str, Any]]) -> str:
    """By loss, what was said on nights of new judgments: fail, no verdict, pass."""
    said: dict[float, collections.Counter[str]] = {}
    for shop in shops:
        for night in shop["nights"]:
            if night["changed"]:
                words = said.setdefault(night["loss"]["ltr"], collections.Counter())
                words[night["said"]] += 1
    cells = []
    for loss, words in sorted(said.items()):
        cells.append(f"{loss:g}: {words['fail']}, {words['none']}, {words['pass']}")
    return "; ".join(cells)


def _large_that_pass(_: Any, shops: Sequence[Mapping[str, Any]]) -> str:
    large = passed = 0
    for shop in shops:
        for night in shop["nights"]:
            if night["changed"] and _is_large(night, "ltr"):
                large += 1
                passed += night["said"] == "pass"
    return f"{passed} of {large}"


_CHANGES: Sequence[tuple[str, Callable[..., str]]] = (
    ("loss on a night of new judgments: fail, no verdict, pass", _by_loss),
    ("losses above max_drop + 2 errors that pass", _large_that_pass),
    ("true change between the sides", _part("between", "links")),
    ("in their intervals", _part("in intervals", "links")),
)


def _table_of_chains(lines: Sequence[Mapping[str, Any]]) -> None:
    groups: dict[tuple[Any, ...], list[Mapping[str, Any]]] = {}
    for line in lines:
        key = (line["world"], line["changes"], line["period"], line["queries"])
        for name, run in line["runs"].items():
            groups.setdefault(key, []).append({**run, "run": name})
    names = [
        "world",
        "changes",
        "nights between",
        "queries",
        "chains",
        "whole",
        "truth in the interval",
    ]
    names += ["in that of one side", "reading 1 is off by", "reading 2 is off by"]
    names += ["fail, by loss", "only reading 1 fails"]
    _write(names)
    _write(["---"] * len(names))
    for key, runs in sorted(groups.items()):
        _write([*key, len(runs), *_of_chains(runs)])


def _of_chains(runs: Sequence[Mapping[str, Any]]) -> list[str]:
    there = [run for run in runs if run["rows"]]
    whole = sum(run["begins"] == 0 for run in there)
    inside = one = 0
    off: dict[int, list[float]] = {1: [], 2: []}
    for run in there:
        first = [row for row in run["rows"] if row[0] == 1]
        low = min(row[2] for row in first)
        high = max(row[3] for row in first)
        inside += low <= run["true"] <= high
        one += first[0][2] <= run["true"] <= first[0][3]
        for reading, differences in off.items():
            own = [row[1] for row in run["rows"] if row[0] == reading]
            differences.append(float(np.mean(own)) - run["true"])
    means = [f"{np.mean(differences):+.4f}" for differences in off.values()]
    shares = [_share(inside, len(there)), _share(one, len(there))]
    by_loss: dict[float, list[Mapping[str, Any]]] = {}
    for run in there:
        # What a run may lose is neither right nor wrong.
        if not run["true"] or -run["true"] > ALLOWED[run["run"]]:
            by_loss.setdefault(abs(run["true"]), []).append(run)
    return [_share(whole, len(runs)), *shares, *means, *_failed(by_loss)]


def _failed(by_loss: Mapping[float, Sequence[Mapping[str, Any]]]) -> list[str]:
    """By loss, which share fails, and which share fails in the first reading only."""
    both, alone = [], []
    for loss, runs in sorted(by_loss.items()):
        first = [run for run in runs if _falls(run, 1)]
        failed = [run for run in first if _falls(run, 2)]
        both.append(f"{loss:g}: {_share(len(failed), len(runs))}")
        alone.append(f"{loss:g}: {_share(len(first) - len(failed), len(runs))}")
    return ["; ".join(both), "; ".join(alone)]


def _falls(run: Mapping[str, Any], reading: int) -> bool:
    """Whether both sides of a chain fell by more than is allowed, in one reading."""
    rows = [row for row in run["rows"] if row[0] == reading]
    return all(row[1] < -ALLOWED[run["run"]] and row[3] < 0 for row in rows)


def _lines(files: Iterable[str]) -> Iterator[Any]:
    for file in files:
        for line in Path(file).read_text().splitlines():
            yield json.loads(line)


def main() -> None:
    """Measure, or print the tables of what was measured."""
    if sys.argv[1] == "table":
        lines = list(_lines(sys.argv[2:]))
        _table_of(lines, "quiet", _QUIET)
        _table_of(lines, "events", _EVENTS)
        _table_of(lines, "changes", _CHANGES)
        _table_of_chains([line for line in lines if line["kind"] == "chain"])
        return
    kind, file = sys.argv[1], sys.argv[8]
    queries, period, world, first, last, nights = map(int, sys.argv[2:8])
    if queries >= _MANY:
        statistics.random_signs = normal_signs
    for seed in range(first, last):
        if kind == "chain":
            line = measured_chain(queries, period, world, seed, nights)
        else:
            line = measured(kind, queries, period, world, seed, nights)
        with Path(file).open("a") as written:
            written.write(json.dumps(line) + "\n")


if __name__ == "__main__":
    main()
