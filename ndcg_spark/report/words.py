"""The words of a page: names, dates and scores; the verdict, how sure it is, since when, and what the others do."""

import dataclasses
import datetime
import itertools
import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from markupsafe import Markup

from ndcg_spark.comparison.trend import Point, last_stretch
from ndcg_spark.errors import ConfigurationError, first_line
from ndcg_spark.report.comparisons import CONCLUSIONS, in_words
from ndcg_spark.tables.table import verdict_in_words
from ndcg_spark.text import message, printable

if TYPE_CHECKING:
    from ndcg_spark.report.night import NightData

Row = Mapping[str, Any]
#: What happened to relevant documents, by the keys of `Parts.sums`.
WHAT = {
    "left": "relevant left the {top}",
    "down": "relevant moved down",
    "up": "relevant moved up",
    "came_in": "relevant came in",
    "same_rank": "same rank, other gain",
}
#: Whether a difference may be chance, by its conclusion.
_CHANCE = {
    **dict.fromkeys(("better", "worse"), "it is not chance"),
    "same": "the difference is certainly too small to matter",
    "doubt": "the two tests disagree about whether it is chance",
}
#: A share of a difference that is worth a sentence, how many runs are named one by one, and the longest name.
_MAIN_CAUSE, _NAMED, _LONGEST = 0.5, 3, 80
#: The colour of a conclusion, and of a verdict.
TONES = {"better": "ok", "worse": "bad", "pass": "ok", "fail": "bad"}


def name(text: str) -> Markup:
    """A name, which may be written from right to left, so that it does not turn the sentence around it."""
    shown = printable(text)
    if len(shown) <= _LONGEST:
        return Markup("<bdi>{}</bdi>").format(shown)
    return Markup('<bdi title="{}">{}…</bdi>').format(shown[:1000], shown[:_LONGEST])


@dataclasses.dataclass(frozen=True)
class Labels:
    """The text of queries, and the title and the link of documents, by id."""

    queries: Mapping[str, str] = dataclasses.field(default_factory=dict)
    documents: Mapping[str, tuple[str | None, str | None]] = dataclasses.field(default_factory=dict)

    def query(self, query_id: str) -> Markup:
        """The text of a query, else its id."""
        return name(self.queries.get(query_id, query_id))

    def document(self, doc_id: str) -> Markup:
        """The title of a document with its link, else its id."""
        title, link = self.documents.get(doc_id, (None, None))
        shown = name(title or doc_id)
        # Nothing but an address: a page runs no script of others.
        is_link = str(link).startswith(("https://", "http://"))
        return Markup('<a href="{}" rel="noreferrer">{}</a>').format(link, shown) if is_link else shown


def read_labels(file: Path) -> Labels:
    """The labels in a CSV or TSV file with the columns query_id and text; or doc_id, text and perhaps link."""
    import pandas as pd

    separator = "\t" if file.suffix == ".tsv" else ","
    try:
        frame = pd.read_csv(file.expanduser(), sep=separator, dtype=str, keep_default_na=False)
    except (OSError, ValueError) as error:
        raise ConfigurationError(f"labels: {file} cannot be read, {first_line(error)}") from error
    if "text" not in frame or not {"query_id", "doc_id"} & {*frame}:
        raise ConfigurationError(f"labels: {file} has no columns query_id and text, or doc_id, text and perhaps link")
    rows = frame.to_dict("records")
    queries = {row["query_id"]: row["text"] for row in rows if row.get("query_id") and row["text"]}
    return Labels(queries, {row["doc_id"]: (row["text"], row.get("link")) for row in rows if row.get("doc_id")})


def day(date: str, year: bool = False) -> str:
    """A date as people write it: 20 November, perhaps with its year."""
    parsed = datetime.date.fromisoformat(date)
    return f"{parsed.day} {parsed:%B %Y}" if year else f"{parsed.day} {parsed:%B}"


def score(value: float | None) -> str:
    """A score to three decimals."""
    return "-" if value is None else f"{value:.3f}"


def change(value: float | None) -> str:
    """A difference to three decimals with its sign."""
    return "-" if value is None else f"{value:+z.3f}".replace("-", "\N{MINUS SIGN}")


def command(words: Iterable[str]) -> Markup:
    """A command line that a shell takes as it is."""
    return Markup("<code>{}</code>").format(message(shlex.join(["ndcg-spark", *words])))


def verdict_label(row: Row) -> tuple[str, str]:
    """The verdict of a night, or of its row of the log, in words, and its tone."""
    if not row["verdict"]:
        return "no gate", "mid"
    return verdict_in_words(row), TONES.get(row["verdict"], "mid")


class Banner(NamedTuple):
    """The first thing on a page."""

    word: str
    tone: str
    headline: Markup
    sentence: Markup


def banner(data: "NightData") -> Banner:
    """The verdict, or the conclusion without a gate, with one headline and a few sentences."""
    row, verdict, headline, said = data.row, data.verdict, _headline(data), _evidence(data)
    word, tone = verdict_label(data.night.row)
    if not verdict:
        tone = TONES.get(str(row["conclusion"]), "mid") if row and data.baseline.nights else "mid"
    elif row is None or verdict["verdict"] not in ("pass", (data.result(data.run) or {}).get("result")):
        # It is about something else than the difference of the run, and may begin with the name of a run.
        said = [headline] if row is not None else []
        headline = Markup("{}.").format(message(verdict["sentence"]).rstrip("."))
    return Banner(word.upper(), tone, headline, Markup(" ").join([*said, *_others(data)]))


def _headline(data: "NightData") -> Markup:
    row, run, baseline = data.row, name(data.run), data.baseline
    if row is None or row["difference"] is None:
        missing = "it cannot be compared" if baseline.label else "there is no earlier night to compare it with yet"
        return Markup("{} scores {}; {}.").format(run, score(data.mean.get(data.metric[0])), missing)
    if "unchanged" in row["flags"]:
        return Markup("{} is unchanged: {}.").format(run, score(row["mean"]))
    word, (down, side) = row["conclusion"], ("down", "worse") if row["difference"] < 0 else ("up", "better")
    what = "the same" if word == "same" else side if word in TONES else f"not shown to be {side}"
    if baseline.run:
        what = Markup("{} {} {}").format(what, "as" if word == "same" else "than", name(baseline.label))
    since = _since(data, row) if word in TONES and baseline.nights else ""
    numbers = (score(row["mean"]), down, score(abs(row["difference"])), score(row["baseline_mean"]))
    return Markup("{} is {}: {}, {} {} from {}{}.").format(run, what, *numbers, since)


def _since(data: "NightData", row: Row) -> str:
    def is_near(point: Point) -> bool:
        return point.value is not None and abs(point.value - row["mean"]) <= abs(point.value - row["baseline_mean"])

    points = data.trend.points
    near = list(itertools.takewhile(is_near, reversed(last_stretch(points))))
    if not near or near[-1] is points[0]:
        return ""
    return f", since {'tonight' if len(near) == 1 else day(near[-1].date)}"


def _evidence(data: "NightData") -> list[Markup]:
    """The cause by slice, what is allowed, and whether it may be chance."""
    row = data.row
    if row is None or row["difference"] is None or "unchanged" in row["flags"]:
        return [Markup("All {:,} queries score the same.").format(row["queries"])] if row and row["queries"] else []
    p, result, conclusion = row["p_decides"], data.result(data.run) or {}, row["conclusion"]
    sure = [] if p is None else ["p < 0.0001" if p < 0.0001 else f"p = {p:.2g}"]
    if row["interval_low"] is not None:
        sure.insert(0, f"{data.level} interval {change(row['interval_low'])} to {change(row['interval_high'])}")
    chance = _CHANCE.get("doubt" if "doubt" in row["flags"] else conclusion, "it may be chance")
    numbers = f"{chance}: {', '.join(sure)}" if sure else f"{row['queries']} queries are too few to test it"
    if result.get("allowed") is not None and row["difference"] < 0:
        size = "larger than" if -row["difference"] > result["allowed"] else "within"
        numbers = f"the drop is {size} the {result['allowed']:g} that is allowed, and {numbers}"
    said = [cause(data.cause, row)] if data.cause and data.cause["share"] >= _MAIN_CAUSE else []
    return [*said, Markup.escape(f"{numbers[:1].upper()}{numbers[1:]}.")]


def cause(share: Row, row: Row) -> Markup:
    """The share of a difference that a slice has."""
    numbers = (name(share["attribute"]), name(share["value"]), share["queries"], share["of_queries"])
    what = "loss" if row["difference"] < 0 else "gain"
    return Markup("{} = {}: {:,} of {:,} queries, {:.0f} % of the {}.").format(*numbers, 100 * share["share"], what)


def _others(data: "NightData") -> list[Markup]:
    runs: dict[str, list[Markup]] = {}
    for run, row in sorted(data.compared.items(), key=lambda pair: pair[1]["difference"] or 0.0):
        if run != data.run:
            runs.setdefault(in_words(row), []).append(name(run))
    ordered = {word: runs[word] for word in CONCLUSIONS if word in runs}
    total = sum(map(len, runs.values()))
    if total > _NAMED:
        listed = ", ".join(f"{len(named):,} {word}" for word, named in ordered.items())
        return [Markup("Of {:,} other runs: {}.").format(total, listed)]
    return [Markup("{}: {}.").format(Markup(", ").join(named), word) for word, named in ordered.items()]


def is_lost(data: "NightData") -> bool:
    """Whether the score dropped."""
    return data.row is not None and (data.row["difference"] or 0.0) < 0 and "unchanged" not in data.row["flags"]
