"""What the templates of a page lay out: cards and folded parts, each made of blocks."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from ndcg_spark.comparison.human_grades import HumanEstimate
from ndcg_spark.convention.measures import CATALOG_COLUMNS, RUN_COLUMNS, measure_at
from ndcg_spark.convention.parsing import parse_cutoff
from ndcg_spark.gate.verdict import DROPPED, FAIL, PASS, ROSE
from ndcg_spark.report import advice, charts, human_words, words
from ndcg_spark.report.answer import Answer, is_by_judge, notes
from ndcg_spark.report.details import PagePart, details
from ndcg_spark.report.human_chart import both_intervals
from ndcg_spark.report.night import NightPage, QueryScore
from ndcg_spark.report.night_tables import WORST_FIRST
from ndcg_spark.report.sentences import Sentence, said, together
from ndcg_spark.report.words import TONES
from ndcg_spark.tables.format import difference, score
from ndcg_spark.tables.html import NUMBER, Block, Cell, HtmlTable, joined, marked, name, plain_table
from ndcg_spark.tables.macro import DATASETS, NO_MEANS, MacroMeans
from ndcg_spark.tables.table import best_first
from ndcg_spark.text import day
from ndcg_spark.tolerance import DECIMALS, EQUAL

Row = Mapping[str, Any]
#: How many runs without a difference are listed, and how many queries the queries card shows.
_RUNS, _QUERIES = 12, 3
_HOME = Markup(' · <a href="index.html">all nights</a>')


class Card(NamedTuple):
    title: Markup
    blocks: Sequence[Block]
    #: The CSS class of its element.
    kind: str = "card"


@dataclasses.dataclass(frozen=True)
class Section:
    """One night of a dataset on a page."""

    id: str
    #: The heading elements: for the section, and below it.
    heading: str
    below: str
    name: str
    dataset: Markup
    about: Markup
    answer: Answer
    notes: Sequence[Sentence]
    warnings: Sequence[Sentence]
    cards: Sequence[Card]
    parts: Sequence[PagePart]


@dataclasses.dataclass(frozen=True)
class Layout:
    """A page: the blocks at its top, and a section for each dataset."""

    top: Sequence[Block]
    sections: Sequence[Section]


def layout(
    pages: Sequence[NightPage],
    answers: Sequence[Answer],
    note: str | None,
    in_site: bool,
    over: MacroMeans = NO_MEANS,
) -> Layout:
    """The page for these nights of one date, each with its answer.

    `in_site`: whether an index.html is in the same folder. `over`: the means over the datasets.
    """
    home = _HOME if in_site else Markup("")
    top = [Block("note", note)] if note else []
    if len(pages) == 1:
        return Layout(top, [_section(pages[0], answers[0], ("h1", "h2"), home)])
    top.append(Block("title", _title(pages, home)))
    top.append(Block("overview", _overview(pages, answers)))
    if over.notes:
        top.append(Block("overview", _over_datasets(pages[0], over)))
    sections = []
    for page, answer in zip(pages, answers, strict=True):
        sections.append(_section(page, answer, ("h2", "h3"), Markup("")))
    return Layout(top, sections)


def _title(pages: Sequence[NightPage], home: Markup) -> dict[str, Markup]:
    names = joined([name(page.night.dataset) for page in pages], ", ")
    date = day(pages[0].night.evaluated_on, year=True)
    return {"names": names, "about": marked("night of {}{}", date, home)}


def _overview(pages: Sequence[NightPage], answers: Sequence[Answer]) -> HtmlTable:
    """The datasets of a page, the verdict on each, and the cause."""
    rows = []
    for page, top in zip(pages, answers, strict=True):
        link = marked('<a href="#dataset{}">{}</a>', page.id, name(page.night.dataset))
        verdict = marked('<b class="{}">{}</b>', top.tone, top.word.lower())
        change = difference(page.row["difference"]) if page.row else "-"
        plain = [Cell(Markup(""), value) for value in (link, verdict, name(page.run))]
        rows.append([*plain, Cell(NUMBER, change), Cell(Markup(""), _short_cause(page))])
    headings = ("dataset", "verdict", "run", "difference", "cause")
    return plain_table(headings, rows, "datasets")


def _over_datasets(page: NightPage, over: MacroMeans) -> HtmlTable:
    """The mean of each run over the datasets, by the measure of the first dataset."""
    column, cutoff = page.metric
    rows = [row for row in over.rows if row["cutoff"] == cutoff]
    rows.sort(key=lambda row: best_first(row.get(column), row["run"]))
    lines = []
    for row in rows[:_RUNS]:
        value = row.get(column)
        mean = Cell(NUMBER, "-" if value is None else score(value))
        lines.append([Cell(Markup(""), name(row["run"])), mean, Cell(NUMBER, str(row[DATASETS]))])
    headings = ("run", f"mean of {measure_at(column, cutoff)} over the datasets", DATASETS)
    table = plain_table(headings, lines, "over the datasets")
    return table._replace(notes=over.notes)


def _short_cause(page: NightPage) -> Markup:
    answers = said((words.unanswered, words.answered), page)
    most = words.cause(page) or words.slices(page)
    return together([*answers, most] if most else answers)


def _section(
    page: NightPage,
    answer: Answer,
    headings: tuple[str, str],
    home: Markup,
) -> Section:
    return Section(
        page.id,
        *headings,
        name=page.night.dataset,
        dataset=name(page.night.dataset),
        about=_about_night(page) + home,
        answer=answer,
        notes=notes(page),
        warnings=words.warnings(page),
        cards=_cards(page, answer),
        parts=details(page),
    )


def _about_night(page: NightPage) -> Markup:
    """`NDCG@10 · night of 20 November 2026 · 240 queries · compared with ...`."""
    counted = page.counted(page.run)
    compared = page.row["queries"] if page.row else counted
    queries = f"{compared:,} of {counted:,}" if compared < counted else f"{compared:,}"
    date = day(page.night.evaluated_on, year=True)
    parts = [marked("{}", page.measure), f"night of {date}", f"{queries} queries"]
    if page.baseline.label:
        parts.append(marked("compared with {}", name(page.baseline.label)))
    return joined(parts, " · ")


def _cards(page: NightPage, answer: Answer) -> list[Card]:
    cards = []
    if page.human is not None:
        cards.append(_people(page.human))
    cards += [_runs(page), _trend(page, answer.tone), _queries_card(page), _why(page, answer)]
    catalog = _catalog(page)
    if catalog is not None:
        cards.append(catalog)
    steps = Block("steps", advice.next_steps(page))
    cards.append(Card(Markup("What to do"), [steps], "card wide12"))
    return cards


def _catalog(page: NightPage) -> Card | None:
    """The checks of catalog measures, those that did not pass first."""
    results = [row for row in page.results if row["measure"] in CATALOG_COLUMNS]
    if not results:
        return None
    results.sort(key=lambda row: WORST_FIRST.index(row["result"]))
    # Only the baseline with the worst result of a check is shown.
    worst: dict[str, Row] = {}
    for row in results:
        worst.setdefault(_catalog_subject(row), row)
    rows = [_catalog_cells(subject, row) for subject, row in list(worst.items())[:_RUNS]]
    headings = ("", "against", "now", "before", "difference", "allowed", "")
    blocks = [Block("plain", plain_table(headings, rows, "catalog checks"))]
    note = "A higher or lower value is not an improvement: a check limits how far it may change."
    of_runs = [row["measure"] for row in results if row["measure"] in RUN_COLUMNS]
    if of_runs:
        named = ", ".join(dict.fromkeys(of_runs))
        note += f" Measures with one number per run ({named}) cannot be tested."
    blocks.append(Block("note", note))
    return Card(Markup("Catalog checks"), blocks, "card wide12")


def _catalog_subject(row: Row) -> str:
    """`weighted popularity@10 of als for language=de`."""
    measure = measure_at(row["measure"], parse_cutoff(row["cutoff"]))
    weighted = "weighted " if row["weighted"] else ""
    slice_ = f" for {row['slice']}" if row["slice"] else ""
    return f"{weighted}{measure} of {row['run']}{slice_}"


def _catalog_cells(subject: str, row: Row) -> list[Cell]:
    """The line of a result: what was checked, against what, the numbers, and a word."""
    text = Markup("")
    night = row["since"] or row["baseline_night"]
    against = " ".join(dict.fromkeys(filter(None, (row["baseline"], night)))) or "the minimum"
    numbers = [score(row["mean"]), score(row["baseline_mean"]), difference(row["difference"])]
    word = marked('<b class="{}">{}</b>', *_catalog_word(row))
    return [
        Cell(text, name(subject)),
        Cell(text, name(against)),
        *[Cell(NUMBER, value) for value in (*numbers, _allowed(row))],
        Cell(text, word),
    ]


def _allowed(row: Row) -> str:
    """How far a measure may change: `-100.0000 to +50.0000`."""
    if row["baseline"] is None:
        return "-"
    ends = []
    if row["allowed"] is not None:
        ends.append(difference(-row["allowed"]))
    if row["allowed_rise"] is not None:
        ends.append(difference(row["allowed_rise"]))
    return " to ".join(ends) or "-"


def _catalog_word(row: Row) -> tuple[str, str]:
    """The colour of a result, and its words."""
    if row["result"] == FAIL:
        what = {DROPPED: "fell too far", ROSE: "rose too far"}.get(row["reason"], "too low")
        return TONES[FAIL] if row["severity"] == FAIL else "mid", what
    if row["result"] == PASS:
        return TONES[PASS], "within"
    return "mid", str(row["reason"]).replace("_", " ")


def _people(human: HumanEstimate) -> Card:
    """The intervals of the judge and of people in one chart."""
    blocks = [Block("forest", both_intervals(human))]
    sentences = [human_words.on_all_queries(human), *human_words.doubts(human)]
    blocks += [Block("paragraph", one.text) for one in sentences]
    blocks.append(Block("note", human_words.WHAT_IT_IS))
    title = marked("Judge and people on {}", name(human.pair.run))
    return Card(title, blocks, "card wide12")


def _runs(page: NightPage) -> Card:
    chart = charts.forest(page)
    if chart is None:
        return Card(Markup("Runs"), [Block("plain", _means(page))])
    which = "Runs" if charts.has_more_runs(page) else "Every run"
    title = marked("{} against {}", which, name(page.baseline.label))
    if is_by_judge(page):
        title += ", by the judge"
    blocks = [Block("forest", chart)]
    sides = _sides(page)
    if sides is not None:
        blocks.append(Block("plain", sides))
    return Card(title, blocks)


def _sides(page: NightPage) -> HtmlTable | None:
    """By how much each run changed on both sides of a change of judgments, and their mean."""
    on_sides = [row for row in page.compared.values() if row["sides"]]
    drawn = [row for row in on_sides if row["difference"] is not None]
    if not drawn:
        return None
    drawn.sort(key=lambda row: (round(row["difference"], DECIMALS), row["run"]))
    rows = []
    for row in drawn[: words.DRAWN]:
        values = [side["difference"] for side in row["sides"]] + [row["difference"]]
        cells = [Cell(NUMBER, difference(value)) for value in values]
        rows.append([Cell(Markup(""), name(row["run"])), *cells])
    first = str(drawn[0]["sides"][0]["side"])
    headings = ("old judgments", "new judgments")
    if first.startswith("chain"):
        headings = ("lower sides", "higher sides")
    return plain_table(("run", *headings, "mean of both"), rows, "both sides")


def _means(page: NightPage) -> HtmlTable:
    """The means of runs that are not compared with anything."""
    rows = []
    for run in page.runs[:_RUNS]:
        number = Cell(NUMBER, score(page.value(run)))
        rows.append([Cell(Markup(""), name(run)), number])
    for row in page.missing:
        if row["run"]:
            none = Cell(Markup(' class="n bad"'), "no results")
            rows.append([Cell(Markup(""), name(row["run"])), none])
    return plain_table((), rows)


def _trend(page: NightPage, tone: str) -> Card:
    nights = len(page.trend.points)
    if nights < 2:
        title = marked("{}, its first night", name(page.run))
        return Card(title, [Block("paragraph", "The trend starts with the second night.")])
    title = marked("{}, the last {} nights", name(page.run), nights)
    chart = charts.place_trend(page.trend, tone, page.usual)
    note = together(said(words.TREND, page))
    return Card(title, [Block("trend", chart), Block("note", note)])


def _queries_card(page: NightPage) -> Card:
    blocks = []
    if page.row and page.row["queries"]:
        blocks.append(Block("split", charts.split(page.row)))
    first = _first_queries(page)
    if first:
        blocks.append(Block("plain", _first_queries_table(page, first)))
    if page.queries:
        text = '<a href="#queries{}">all {:,} queries</a>'
        blocks.append(Block("note", marked(text, page.id, len(page.queries))))
    else:
        blocks.append(Block("note", "There are no queries to compare."))
    return Card(Markup("Which queries"), blocks)


def _has_won(page: NightPage) -> bool:
    return page.compared_with.difference(page.run) > 0


def _first_queries(page: NightPage) -> list[QueryScore]:
    """The largest losses, or gains if the run won; the lowest scores if nothing is compared."""
    if not page.compares:
        return list(page.queries[:_QUERIES])
    if _has_won(page):
        won = list(reversed(page.queries[-_QUERIES:]))
        return [query for query in won if query.change > EQUAL]
    return [query for query in page.queries[:_QUERIES] if query.change < -EQUAL]


def _first_queries_table(page: NightPage, queries: Sequence[QueryScore]) -> HtmlTable:
    baseline = page.baseline
    now = name(page.run) if baseline.run else "now"
    headings = ["lowest scores", now]
    if page.compares:
        before = "before" if baseline.nights else name(baseline.run or "")
        what = words.change_in_words(page, page.compared_with.difference(page.run) or -1.0)
        largest = {"loss": "largest losses", "gain": "largest gains"}.get(what, f"largest {what}s")
        headings = [largest, before, now, "change"]
    rows = []
    for query in queries:
        label = page.request.labels.query(query.query_id)
        link = marked('<a href="#{}">{}</a>', page.anchors[query.query_id], label)
        cells = [Cell(Markup(""), link)]
        if page.compares:
            colour = charts.tone_of(query.change) if page.is_concluded else "mid"
            tone = marked(' class="n {}"', colour)
            cells.append(Cell(NUMBER, score(query.before)))
            cells.append(Cell(NUMBER, score(query.score)))
            cells.append(Cell(tone, difference(query.change)))
        else:
            cells.append(Cell(NUMBER, score(query.score)))
        rows.append(cells)
    return plain_table(headings, rows)


def _why(page: NightPage, answer: Answer) -> Card:
    # The card does not repeat what the answer says.
    there = {one.text for one in (answer.headline, *answer.sentences)}
    causes = [one for one in said(words.WHY, page) if one.text not in there]
    blocks = [Block("paragraph", one.text) for one in causes]
    moved = page.moved
    if moved and moved.sums and words.explains(page):
        blocks.append(Block("causes", charts.place_moved(moved, page.metric[1], page.is_concluded)))
        blocks += [Block("note", one.text) for one in said([words.partly], page)]
    else:
        blocks += [Block("paragraph", one.text) for one in said(words.UNMOVED, page)]
    blocks.append(Block("note", together(said(words.JUDGED, page))))
    return Card(_why_title(page), blocks)


def _why_title(page: NightPage) -> Markup:
    row = page.row
    if not page.compares or row is None:
        return Markup("Judged documents")
    if page.missing or row["conclusion"] not in TONES:
        return Markup("Why")
    is_loss = row["difference"] < 0
    what = "is behind" if is_loss else "is ahead"
    if page.baseline.nights:
        what = "lost" if is_loss else "won"
    return marked("Why {} {}", name(page.run), what)
