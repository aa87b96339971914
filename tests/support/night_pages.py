"""A page of a night in memory, and the same with something changed: what a rule about a page is tested with."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from page_nights import lists_of, night, verdict

from ndcg_spark.comparison.trend import History
from ndcg_spark.nights.log import committed
from ndcg_spark.report import advice, answer, words
from ndcg_spark.report.night import NightPage, load_night
from ndcg_spark.report.outline import Request
from ndcg_spark.report.sentences import apply_rules

FILE = "/conf/nightly.toml"


def failed_page(folder: Any) -> NightPage:
    """Hybrid lost German queries, has failed the gate against the night before, and may be repaired."""
    runs = {"hybrid": 0.8, "dense": 0.75}
    known = {"languages": ("en", "fr", "de"), "configuration": {"file": FILE, "gate": {}}}
    for number in range(2):
        lists = lists_of(runs, 60, lost={"hybrid": 36 * number})
        said = verdict(nights=[0]) if number else verdict("pass")
        night(folder, number, lists, verdict=said, **known)
    history = History(committed(str(folder)))
    return load_night(history, history.nights[-1], Request(), "/out")


def changed(
    page: NightPage,
    *,
    record: Mapping[str, Any] | None = None,
    result: Mapping[str, Any] | None = None,
    row: Mapping[str, Any] | None = None,
    **fields: Any,
) -> NightPage:
    """The page with other fields; `record`, `result` of the gate and `row` of its run are changed in part."""
    if row is not None:
        compared = fields.get("compared_with", page.compared_with)
        rows = {**compared.rows, page.run: {**compared.rows[page.run], **row}}
        fields["compared_with"] = dataclasses.replace(compared, rows=rows)
    outline = fields.get("outline", page.outline)
    own = {**outline.night.record, **(record or {})}
    if result is not None:
        (known,) = own["verdict"]["results"]
        own["verdict"] = {**own["verdict"], "results": [{**known, **result}]}
    night = dataclasses.replace(outline.night)
    # What is cached is not computed.
    vars(night)["record"] = own
    fields["outline"] = dataclasses.replace(outline, night=night)
    return dataclasses.replace(page, **fields)


def judged(page: NightPage, word: str, **more: Any) -> dict[str, Any]:
    """The record of a night with another verdict."""
    return {"verdict": {**page.record["verdict"], "verdict": word, **more}}


def against(page: NightPage, **fields: Any) -> dict[str, Any]:
    """The outline of a page with another baseline."""
    baseline = dataclasses.replace(page.baseline, **fields)
    return {"outline": dataclasses.replace(page.outline, baseline=baseline)}


def last_point(page: NightPage, **fields: Any) -> dict[str, Any]:
    """The trend of a page whose last night is another."""
    *before, last = page.trend.points
    points = [*before, dataclasses.replace(last, **fields)]
    return {"trend": dataclasses.replace(page.trend, points=points)}


def kinds(page: NightPage) -> set[str]:
    """The kinds of all sentences of a page, those of advice too."""
    top = answer.answer(page)
    found = [top.headline, *top.sentences, *answer.notes(page), *words.warnings(page)]
    found += apply_rules((*words.TREND, *words.WHY, *words.JUDGED), page)
    rules = (
        [words.partly] if page.moved and page.moved.sums and words.explains(page) else words.UNMOVED
    )
    return {
        sentence.kind for sentence in (*found, *apply_rules(rules, page), *advice.next_steps(page))
    }
