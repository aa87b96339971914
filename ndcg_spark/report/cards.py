"""A page's layout: cards and folded parts, each made of blocks that the templates draw."""

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from markupsafe import Markup

from ndcg_spark.comparison.human_grades import HumanEstimate
from ndcg_spark.convention.measures import CATALOG_COLUMNS, RUN_COLUMNS, measure_at
from ndcg_spark.gate.verdict import DROPPED, FAIL, PASS, ROSE, checked_mean_of
from ndcg_spark.report import advice, charts, human_words, words
from ndcg_spark.report.answer import Answer, is_by_judge, notes
from ndcg_spark.report.compared_page import QueryScore
from ndcg_spark.report.details import PagePart, details
from ndcg_spark.report.human_chart import both_intervals
from ndcg_spark.report.night import NightPage
from ndcg_spark.report.night_tables import WORST_FIRST, against_of
from ndcg_spark.report.outline import fails_night
from ndcg_spark.report.sentences import Sentence, apply_rules, together
from ndcg_spark.report.words import TONES
from ndcg_spark.tables.format import difference, score
from ndcg_spark.tables.html import (
    NUMBER,
    TEXT,
    Block,
    Cell,
    HtmlTable,
    joined,
    marked,
    name_markup,
    plain_table,
)
from ndcg_spark.tables.macro import DATASETS, NO_MEANS, MacroMeans
from ndcg_spark.tables.table import best_first
from ndcg_spark.text import day
from ndcg_spark.tolerance import DECIMALS, EQUAL

Row = Mapping[str, Any]
#: How many runs without a difference are listed, and how many queries the queries card shows.
_RUNS, _QUERIES = 12, 3
_INDEX_LINK = Markup(' · <a href="index.html">all nights</a>')


class Card(NamedTuple):
    title: Markup
    blocks: Sequence[Block]
    #: The element's CSS class.
    kind: str = "card"


@dataclasses.dataclass(frozen=True)
class Section:
    """One night of a dataset on a page."""

    id: str
    #: The HTML elements of the section's heading and of the headings below it: `h1` and `h2`.
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
    macro: MacroMeans = NO_MEANS,
) -> Layout:
    """The page for these nights of one date, each with its answer.

    `in_site`: whether an index.html is in the same folder. `macro`: the means over the datasets.
    """
    index_link = _INDEX_LINK if in_site else Markup("")
    top = [Block("note", note)] if note else []
    if len(pages) == 1:
        # The only section's heading is also the page's heading.
        section = _section(pages[0], answers[0], "h1", "h2")
        section = dataclasses.replace(section, about=section.about + index_link)
        return Layout(top, [section])
    top.append(Block("title", _title(pages, index_link)))
    top.append(Block("overview", _overview(pages, answers)))
    if macro.notes:
        top.append(Block("overview", _macro_table(macro, *pages[0].metric)))
    sections = []
    for page, answer in zip(pages, answers, strict=True):
        sections.append(_section(page, answer, "h2", "h3"))
    return Layout(top, sections)


def _title(pages: Sequence[NightPage], index_link: Markup) -> dict[str, Markup]:
    names = joined([name_markup(page.night.dataset) for page in pages], ", ")
    date = day(pages[0].night.evaluated_on, year=True)
    return {"names": names, "about": marked("night of {}{}", date, index_link)}


def _overview(pages: Sequence[NightPage], answers: Sequence[Answer]) -> HtmlTable:
    """A row for each dataset of a page: the verdict, the run, its difference and the cause."""
    rows = []
    for page, answer in zip(pages, answers, strict=True):
        link = marked('<a href="#dataset{}">{}</a>', page.id, name_markup(page.night.dataset))
        verdict = marked('<b class="{}">{}</b>', answer.tone, answer.word.lower())
        change = difference(page.row["difference"]) if page.row else "-"
        cells = [Cell(TEXT, link), Cell(TEXT, verdict), Cell(TEXT, name_markup(page.run))]
        cells += [Cell(NUMBER, change), Cell(TEXT, _short_cause(page))]
        rows.append(cells)
    headings = ("dataset", "verdict", "run", "difference", "cause")
    return plain_table(headings, rows, "datasets")


def _macro_table(macro: MacroMeans, column: str, cutoff: int | None) -> HtmlTable:
    """Each run's mean over the datasets, by a column's measure at a cutoff."""
    means = [row for row in macro.rows if row["cutoff"] == cutoff]
    means.sort(key=lambda row: best_first(row.get(column), row["run"]))
    rows = []
    for row in means[:_RUNS]:
        mean = score(row.get(column))
        datasets = str(row[DATASETS])
        rows.append(
            [Cell(TEXT, name_markup(row["run"])), Cell(NUMBER, mean), Cell(NUMBER, datasets)]
        )
    headings = ("run", f"mean of {measure_at(column, cutoff)} over the datasets", DATASETS)
    table = plain_table(headings, rows, "over the datasets")
    return table._replace(notes=macro.notes)


def _short_cause(page: NightPage) -> Markup:
    sentences = apply_rules((words.unanswered, words.answered), page)
    cause = words.cause(page) or words.slices(page)
    if cause is not None:
        sentences.append(cause)
    return together(sentences)


def _section(page: NightPage, answer: Answer, heading: str, below: str) -> Section:
    """A night's section. `heading`, `below`: the HTML elements of its headings."""
    return Section(
        id=page.id,
        heading=heading,
        below=below,
        name=page.night.dataset,
        dataset=name_markup(page.night.dataset),
        about=_about_night(page),
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
        parts.append(marked("compared with {}", name_markup(page.baseline.label)))
    return joined(parts, " · ")


def _cards(page: NightPage, answer: Answer) -> list[Card]:
    """A night's cards in display order."""
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
    # A mean that is compared with several baselines is shown once, with the worst result.
    worst: dict[str, Row] = {}
    for row in results:
        worst.setdefault(checked_mean_of(row, row["run"]), row)
    rows = []
    for subject, row in list(worst.items())[:_RUNS]:
        rows.append(_catalog_cells(subject, row))
    headings = ("", "against", "now", "before", "difference", "allowed", "")
    table = plain_table(headings, rows, "catalog checks")
    blocks = [Block("plain", table), Block("note", _catalog_note(results))]
    return Card(Markup("Catalog checks"), blocks, "card wide12")


def _catalog_note(results: Sequence[Row]) -> str:
    note = "A higher or lower value is not an improvement: a check limits how far it may change."
    of_runs = [row["measure"] for row in results if row["measure"] in RUN_COLUMNS]
    if of_runs:
        measures = ", ".join(dict.fromkeys(of_runs))
        note += f" Measures with one number per run ({measures}) cannot be tested."
    return note


def _catalog_cells(subject: str, row: Row) -> list[Cell]:
    """A result's cells: what was checked, against what, the numbers, and the outcome."""
    outcome = marked('<b class="{}">{}</b>', _catalog_tone(row), _catalog_outcome(row))
    return [
        Cell(TEXT, name_markup(subject)),
        Cell(TEXT, name_markup(against_of(row) or "")),
        Cell(NUMBER, score(row["mean"])),
        Cell(NUMBER, score(row["baseline_mean"])),
        Cell(NUMBER, difference(row["difference"])),
        Cell(NUMBER, _allowed_range(row)),
        Cell(TEXT, outcome),
    ]


def _allowed_range(row: Row) -> str:
    """How far a measure may change: `-100.0000 to +50.0000`."""
    if row["baseline"] is None:
        return "-"
    ends = []
    if row["allowed"] is not None:
        ends.append(difference(-row["allowed"]))
    if row["allowed_rise"] is not None:
        ends.append(difference(row["allowed_rise"]))
    return " to ".join(ends) or "-"


def _catalog_tone(row: Row) -> str:
    """A result's colour. A failed check that only warns is not red."""
    if fails_night(row):
        return TONES[FAIL]
    return TONES[PASS] if row["result"] == PASS else "mid"


def _catalog_outcome(row: Row) -> str:
    """A result in words: `fell too far`, `within`, or the reason why there is no result."""
    if row["result"] == PASS:
        return "within"
    if row["result"] != FAIL:
        return str(row["reason"]).replace("_", " ")
    failures = {DROPPED: "fell too far", ROSE: "rose too far"}
    return failures.get(row["reason"], "too low")


def _people(human: HumanEstimate) -> Card:
    """The judge's and people's intervals in one chart."""
    blocks = [Block("forest", both_intervals(human))]
    sentences = [human_words.on_all_queries(human), *human_words.doubts(human)]
    blocks += [Block("paragraph", one.text) for one in sentences]
    blocks.append(Block("note", human_words.WHAT_IT_IS))
    title = marked("Judge and people on {}", name_markup(human.pair.run))
    return Card(title, blocks, "card wide12")


def _runs(page: NightPage) -> Card:
    chart = charts.forest(page)
    if chart is None:
        return Card(Markup("Runs"), [Block("plain", _means(page))])
    which = "Runs" if charts.has_more_runs(page) else "Every run"
    title = marked("{} against {}", which, name_markup(page.baseline.label))
    if is_by_judge(page):
        title += ", by the judge"
    blocks = [Block("forest", chart)]
    sides = _sides(page)
    if sides is not None:
        blocks.append(Block("plain", sides))
    return Card(title, blocks)


def _sides(page: NightPage) -> HtmlTable | None:
    """By how much each run changed on both sides of a change of judgments, and their mean."""
    compared = [row for row in page.compared.values() if row["difference"] is not None]
    compared = [row for row in compared if row["sides"]]
    if not compared:
        return None
    compared.sort(key=lambda row: (round(row["difference"], DECIMALS), row["run"]))
    rows = []
    for row in compared[: words.DRAWN]:
        cells = [Cell(TEXT, name_markup(row["run"]))]
        for side in row["sides"]:
            cells.append(Cell(NUMBER, difference(side["difference"])))
        cells.append(Cell(NUMBER, difference(row["difference"])))
        rows.append(cells)
    sides = ("old judgments", "new judgments")
    if page.compared_with.chains:
        sides = ("lower sides", "higher sides")
    return plain_table(("run", *sides, "mean of both"), rows, "both sides")


def _means(page: NightPage) -> HtmlTable:
    """The means of runs that are not compared with anything."""
    rows = []
    for run in page.runs[:_RUNS]:
        rows.append([Cell(TEXT, name_markup(run)), Cell(NUMBER, score(page.value(run)))])
    for row in page.missing:
        # A missing dataset has no run.
        if row["run"]:
            no_results = Cell(Markup(' class="n bad"'), "no results")
            rows.append([Cell(TEXT, name_markup(row["run"])), no_results])
    return plain_table((), rows)


def _trend(page: NightPage, tone: str) -> Card:
    nights = len(page.trend.points)
    if nights < 2:
        title = marked("{}, its first night", name_markup(page.run))
        return Card(title, [Block("paragraph", "The trend starts with the second night.")])
    title = marked("{}, the last {} nights", name_markup(page.run), nights)
    chart = charts.place_trend(page.trend, tone, page.usual)
    note = together(apply_rules(words.TREND, page))
    return Card(title, [Block("trend", chart), Block("note", note)])


def _queries_card(page: NightPage) -> Card:
    blocks = []
    if page.row and page.row["queries"]:
        blocks.append(Block("split", charts.split(page.row)))
    first = _first_queries(page)
    if first and page.compares:
        blocks.append(Block("plain", _largest_changes_table(page, first)))
    elif first:
        blocks.append(Block("plain", _lowest_scores_table(page, first)))
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


def _lowest_scores_table(page: NightPage, queries: Sequence[QueryScore]) -> HtmlTable:
    rows = []
    for query in queries:
        rows.append([Cell(TEXT, _query_link(page, query)), Cell(NUMBER, score(query.score))])
    return plain_table(["lowest scores", _heading_of_run(page)], rows)


def _largest_changes_table(page: NightPage, queries: Sequence[QueryScore]) -> HtmlTable:
    baseline = page.baseline
    before = "before" if baseline.nights else name_markup(baseline.run or "")
    headings = [_largest_changes(page), before, _heading_of_run(page), "change"]
    rows = []
    for query in queries:
        tone = charts.tone_of(query.change) if page.is_concluded else "mid"
        cells = [
            Cell(TEXT, _query_link(page, query)),
            Cell(NUMBER, score(query.before)),
            Cell(NUMBER, score(query.score)),
            Cell(marked(' class="n {}"', tone), difference(query.change)),
        ]
        rows.append(cells)
    return plain_table(headings, rows)


def _largest_changes(page: NightPage) -> str:
    """`largest losses` or `largest gains`; for a catalog measure, `largest drops` or `rises`."""
    has_won = _has_won(page)
    if page.is_of_catalog:
        return "largest rises" if has_won else "largest drops"
    return "largest gains" if has_won else "largest losses"


def _heading_of_run(page: NightPage) -> str:
    """The heading of tonight's scores: the run if it is compared with a different run."""
    return name_markup(page.run) if page.baseline.run else "now"


def _query_link(page: NightPage, query: QueryScore) -> Markup:
    label = page.request.labels.query(query.query_id)
    return marked('<a href="#{}">{}</a>', page.anchors[query.query_id], label)


def _why(page: NightPage, answer: Answer) -> Card:
    """Why the run lost or won: sentences on causes, and what moved in its lists."""
    # The card does not repeat what the answer says.
    in_answer = {one.text for one in (answer.headline, *answer.sentences)}
    causes = [one for one in apply_rules(words.WHY, page) if one.text not in in_answer]
    blocks = [Block("paragraph", one.text) for one in causes]
    moved = page.moved
    if moved and moved.sums and words.explains(page):
        blocks.append(Block("causes", charts.place_moved(moved, page.metric[1], page.is_concluded)))
        blocks += [Block("note", one.text) for one in apply_rules([words.partly], page)]
    else:
        blocks += [Block("paragraph", one.text) for one in apply_rules(words.UNMOVED, page)]
    blocks.append(Block("note", together(apply_rules(words.JUDGED, page))))
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
    return marked("Why {} {}", name_markup(page.run), what)
