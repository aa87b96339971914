"""What a page says of the measures of the catalog."""

import html
import re

import pytest
import shown
from commands import command_line

from ndcg_spark.convention.measures import catalog_definitions
from ndcg_spark.convention.parsing import parse_measure_set
from ndcg_spark.report.page import read_page

HEADING = "What is shown of the catalog"


@pytest.fixture
def folder(tmp_path):
    shop = shown.shop(21, runs=2, queries=30)
    shown.write_files(shop, tmp_path)
    return shop, tmp_path


def part(folder, measures, *arguments):
    """The text of the part of a page about the catalog; none if there is no such part."""
    asked = ["--measures", measures, *arguments, "--output", "out"]
    done = command_line("evaluate", "qrels.csv", "runs.csv", *asked, cwd=folder)
    assert done.returncode == 0, done.stderr
    page = html.unescape(re.sub(r"<[^>]+>", " ", read_page(str(folder / "out")).html))
    text = re.sub(r"\s+", " ", page)
    begins = text.rfind(HEADING)
    return None if begins < 0 else text[begins:].partition(" Judgments ")[0]


def test_the_page_has_the_numbers_what_they_are_and_where_the_items_are_from(folder):
    shop, place = folder
    asked = ["--items", "items.csv", "--items-users", 50]
    text = part(place, "nDCG@5 Items@5 Coverage(unknown=count)@3", *asked)
    for run in shop.lists:
        assert f" {run} {shown.of_run(shop, run, {}, 5).items} " in text
    assert f"{len(shop.catalog)} items of 50 users, from items.csv." in text
    asked = parse_measure_set(["items@5", "coverage(unknown=count)@3"])
    for sentence in catalog_definitions(asked):
        assert sentence in text
    unknown = max(shown.of_run(shop, run, {}, 5).unknown for run in shop.lists)
    assert ("unknown items: the number" in text) == (unknown > 0)


def test_a_night_without_such_measures_has_no_such_part(folder):
    assert part(folder[1], "nDCG@5") is None


def test_what_needs_no_items_names_none(folder):
    text = part(folder[1], "nDCG@5 Personalization@5")
    assert " personalization: " in text
    assert "items.csv" not in text
