"""A site of nights: which pages are written again, and that each is whole and of one reading of the log."""

import json
import os
import resource
import shutil
import signal
from pathlib import Path

import pyarrow as pa
import pytest
from kept_nights import date
from logged import logged_steps
from page_nights import lists_of, night, verdict
from pages import Page
from programs import forked

from ndcg_spark import __version__
from ndcg_spark.comparison.needed_nights import needed_dates
from ndcg_spark.errors import StorageError
from ndcg_spark.nights.commit import log_attempt
from ndcg_spark.nights.expire import removable, remove
from ndcg_spark.nights.log import committed, revise
from ndcg_spark.report.labels import Label, Labels
from ndcg_spark.report.outline import Request
from ndcg_spark.report.site import write_site

RUNS = {"hybrid": 0.8, "bm25": 0.6}
NUMBERS = (0, 2, 4, 6)


def lists(seed=0):
    return lists_of(RUNS, 12, seed=seed)


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Four nights, every second day."""
    folder = tmp_path_factory.mktemp("made")
    for number in NUMBERS:
        night(folder / "out", number, lists(number))
    return folder


@pytest.fixture
def site(made, tmp_path, monkeypatch):
    """The site of the nights, in a folder of this test with `out`."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    write_site("out", tmp_path / "site", Request())
    return tmp_path / "site"


def files(folder):
    return {file.name: file.stat().st_ino for file in folder.glob("*.html")}


def written_again(site, request=None, output="out"):
    """The numbers of the nights whose pages are written."""
    before = files(site)
    write_site(output, site, request or Request())
    after = files(site)
    return [
        number
        for number in range(10)
        if after.get(f"{date(number)}.html") != before.get(f"{date(number)}.html")
    ]


def night_of(number):
    return next(night for night in committed("out") if night.evaluated_on == date(number))


def evaluate_again(number):
    night(Path("out"), number, lists(90 + number), evaluation_id="e-later")


def swap_queries(number):
    """Another evaluation of a night, in which each query has the lists of the next one."""
    swapped = {}
    for run, listed in lists(number).items():
        queries = [*listed]
        swapped[run] = dict(
            zip(queries, [listed[query] for query in [*queries[1:], queries[0]]], strict=True)
        )
    night(Path("out"), number, swapped, evaluation_id="e-later")


def acknowledge(number):
    """A night whose verdict failed is acknowledged; later pages warn of accepting it."""
    known = {"reason": "known", "until": date(9)}
    failed = verdict(baseline="good", nights=[2])
    night(Path("out"), number, lists(number), evaluation_id="e-later", verdict=failed)
    revise(night_of(number), acknowledged=known)
    passed = verdict("pass", run="bm25", baseline="good", nights=[2])
    night(Path("out"), 6, lists(6), evaluation_id="e-later", verdict=passed)


CHANGES = {
    "nothing": (lambda: None, []),
    "a night": (lambda: evaluate_again(6), [6]),
    "the night of a baseline": (lambda: evaluate_again(4), [4, 6]),
    "a night with the same means": (lambda: swap_queries(4), [4, 6]),
    "a night of a trend": (lambda: evaluate_again(0), [0, 2, 4, 6]),
    "a night between others": (lambda: night(Path("out"), 3, lists(3)), [3, 4, 6]),
    "a note": (lambda: revise(night_of(2), note="new index"), [2]),
    "an acceptance": (lambda: revise(night_of(2), accepted="known"), [2]),
    "a known loss": (lambda: acknowledge(4), [4, 6]),
    "a failure": (lambda: log_attempt("out", date(7), "x", StorageError("full"), 4), []),
    "another dataset on a date": (lambda: night(Path("out"), 4, lists(4), dataset="web"), [4, 6]),
    "a night that expired": (
        lambda: remove("out", removable("out", date=date(0), needed=needed_dates)[0]),
        [2, 4, 6],
    ),
}


@pytest.mark.parametrize("change", CHANGES)
def test_a_page_is_written_again_if_what_it_shows_has_changed(site, change):
    act, expected = CHANGES[change]
    act()
    assert written_again(site) == expected
    assert written_again(site) == []
    # What is kept is as a new site has it.
    write_site("out", Path("new"), Request())
    for file in Path("new").glob("*.html"):
        assert file.read_bytes() == (site / file.name).read_bytes()


ATTRIBUTES = pa.table(
    {"query_id": ["q0001", "q0002"], "attribute": ["kind"] * 2, "value": ["a", "b"]}
)
REQUESTS = [
    Request(run="bm25"),
    Request(measure="precision@10"),
    Request(baseline="bm25"),
    Request(baseline_date=date(0)),
    Request(baseline_date="good"),
    Request(dataset="shop"),
    Request(attributes=ATTRIBUTES),
    Request(attributes=ATTRIBUTES.set_column(2, "value", [["b", "a"]])),
    Request(labels=Labels({"q0001": "a mouse"})),
    Request(labels=Labels({}, {"d0": Label("a mouse")})),
    Request(labels=Labels({}, {"d0": Label("a mouse", "https://shop.example/1")})),
]


def test_all_pages_are_written_again_for_another_request(site):
    for request in REQUESTS:
        assert (written_again(site, request), written_again(site, request)) == ([*NUMBERS], []), (
            request
        )
    assert written_again(site) == [*NUMBERS]
    # The same rows in another order are the same slices.
    again = Request(attributes=ATTRIBUTES.take([1, 0]))
    assert (written_again(site, REQUESTS[6]), written_again(site, again)) == ([*NUMBERS], [])


def test_all_pages_are_written_again_by_another_program_and_for_a_folder_that_was_moved(site):
    for file in site.glob("*.json"):
        known = json.loads(file.read_text(encoding="utf-8"))
        file.write_text(json.dumps({**known, "program": "0.0.9"}), encoding="utf-8")
    assert (written_again(site), written_again(site)) == ([*NUMBERS], [])
    assert all(
        f'"{__version__} ' in file.read_text(encoding="utf-8") for file in site.glob("*.json")
    )
    Path("out").rename("moved")
    assert (written_again(site, output="moved"), written_again(site, output="moved")) == (
        [*NUMBERS],
        [],
    )


def test_notes_and_acceptances_that_are_added_at_once_are_shown(site):
    known = night_of(2)
    for added in ({"note": "new index"}, {"note": "new ranker"}, {"accepted": "known"}):
        # None of them knows of the others.
        revise(known, **added)
        assert written_again(site) == [2]
    page = Page(site / f"{date(2)}.html").words
    assert [words in page for words in ("new index", "new ranker", "Accepted: known")] == [True] * 3


def test_an_acceptance_after_which_others_are_compared_with_another_night_is_shown(site):
    good = Request(baseline_date="good")
    revise(night_of(0), accepted="the first")
    assert written_again(site, good) == [*NUMBERS]
    revise(night_of(2), accepted="known")
    assert written_again(site, good) == [2, 4, 6]
    assert "the night of 3 January" in Page(site / f"{date(6)}.html").words


def test_an_acceptance_of_a_failed_night_changes_what_is_advised_for_the_next_one(
    tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    configuration = {"file": "/conf/nightly.toml"}
    chance = verdict("none", nights=[0], reason="may_be_chance", result="undecided")
    for number, said in enumerate([verdict("pass"), verdict(nights=[0]), chance]):
        shown = lists_of(RUNS, 12, lost={"hybrid": 12 * (number > 0)})
        night(Path("out"), number, shown, verdict=said, configuration=configuration)
    page = tmp_path / "site" / f"{date(2)}.html"
    write_site("out", page.parent, Request())
    assert "accepts the loss of 2 January" in Page(page).words
    revise(night_of(1), accepted="known")
    assert written_again(page.parent) == [1, 2]
    assert "accepts the loss" not in Page(page).words


DAMAGE = {
    "cut": lambda file: file.write_bytes(file.read_bytes()[:500]),
    "cut at its end": lambda file: file.write_bytes(file.read_bytes()[:-1]),
    "edited": lambda file: file.write_bytes(file.read_bytes().replace(b"hybrid", b"hybrit")),
    "empty": lambda file: file.write_bytes(b""),
    "gone": Path.unlink,
    "of another night": lambda file: shutil.copy(file.with_name(f"{date(0)}{file.suffix}"), file),
    "a list": lambda file: file.write_bytes(b"[[]]"),
    "of other types": lambda file: file.write_bytes(b'{"shown": {"shop": 1}, "nights": 2}'),
    "no text": lambda file: file.write_bytes(b"\xff\x00"),
    "nested": lambda file: file.write_bytes(b"[" * 100_000),
}


@pytest.mark.parametrize("suffix", ["html", "json"])
def test_a_page_that_is_not_as_it_was_written_is_written_again(site, suffix):
    for name, damage in DAMAGE.items():
        whole = (site / f"{date(2)}.html").read_bytes()
        damage(site / f"{date(2)}.{suffix}")
        assert (written_again(site), written_again(site)) == ([2], []), name
        assert (site / f"{date(2)}.html").read_bytes() == whole


def test_the_newest_page_and_the_index_are_written_if_they_are_others(site):
    before = files(site)
    write_site("out", site, Request())
    assert files(site) == before
    for name in ("latest.html", "index.html"):
        whole = (site / name).read_bytes()
        (site / name).write_bytes(whole[:2000])
        write_site("out", site, Request())
        assert (site / name).read_bytes() == whole


def _write_site_in(size):
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
    write_site("out", Path("site"), Request())


def test_a_full_disk_leaves_the_page_that_was_there_which_is_then_written(site, tmp_path):
    evaluate_again(4)
    before = {file.name: file.read_bytes() for file in site.iterdir()}
    failed = forked(_write_site_in, 5_000, cwd=tmp_path)
    assert (failed.returncode, "cannot be written, File too large" in failed.stderr) == (1, True)
    assert {file.name: file.read_bytes() for file in site.iterdir()} == before
    assert written_again(site) == [4, 6]


@pytest.mark.parametrize("is_removed", [False, True])
def test_a_night_that_is_evaluated_while_pages_are_written_is_shown_in_one_evaluation(
    site, is_removed
):
    # The first page says that it lacks the run; then the log has another evaluation of the last one.
    night(Path("out"), 0, lists_of({"bm25": 0.6}, 12), evaluation_id="without")
    acted = []

    def act(step):
        if step == "note" and not acted:
            acted.append(step)
            evaluate_again(6)
            for folder in Path("out").glob("*/*/evaluation_id=e006-4") if is_removed else ():
                shutil.rmtree(folder)

    with logged_steps(act):
        write_site("out", site, Request(run="hybrid"))
    assert acted
    pages = [site / f"{date(6)}.html", site / "index.html", site / "latest.html"]
    before = [page.read_bytes() for page in pages]
    assert (b"e-later" in before[0]) == is_removed
    # If the rows are gone, all was read again; if not, the next site has it.
    assert written_again(site, Request(run="hybrid")) == ([] if is_removed else [6])
    is_same = [page.read_bytes() == text for page, text in zip(pages, before, strict=True)]
    assert (is_same, b"<td>e-later</td>" in pages[0].read_bytes()) == ([is_removed] * 3, True)


@pytest.mark.slow
def test_a_night_before_those_of_a_trend_changes_its_range(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for number in range(31):
        night(Path("out"), number, lists_of({"hybrid": 0.8}, 2, seed=number), documents=False)
    write_site("out", tmp_path / "site", Request())
    lost = lists_of({"hybrid": 0.0}, 2)
    night(Path("out"), 1, lost, documents=False, evaluation_id="later")
    before = files(tmp_path / "site")
    write_site("out", tmp_path / "site", Request())
    after = files(tmp_path / "site")
    # The last page shows the nights from 3 on.
    assert after[f"{date(30)}.html"] != before[f"{date(30)}.html"]


def test_datasets_whose_names_have_one_checksum_have_anchors_of_their_own(tmp_path):
    # These two have the same CRC-32.
    for dataset in ("plumless", "buckeroo"):
        night(tmp_path / "out", 0, lists(), dataset=dataset, evaluation_id=dataset)
    write_site(str(tmp_path / "out"), tmp_path / "site", Request())
    tags = Page(tmp_path / "site" / "latest.html").tags
    anchors = [attributes["id"] for _, attributes in tags if "id" in attributes]
    links = {
        attributes["href"][1:]
        for tag, attributes in tags
        if tag == "a" and attributes["href"][0] == "#"
    }
    assert (len(anchors), links <= {*anchors}) == (len({*anchors}), True)


def test_a_site_has_no_parts_of_files_and_pages_that_everybody_may_read(site):
    names = sorted(file.name for file in site.iterdir())
    own = [f"{date(number)}.{suffix}" for number in NUMBERS for suffix in ("html", "json")]
    assert names == [*own, "index.html", "latest.html"]
    mask = os.umask(0)
    os.umask(mask)
    assert {file.stat().st_mode & 0o777 for file in site.iterdir()} == {0o666 & ~mask}


def test_the_index_shows_the_first_by_name_of_the_best_runs_of_an_earlier_night(tmp_path):
    (same,) = lists_of({"x": 0.8}, 12).values()
    night(tmp_path / "out", 0, {"y": same, "x": same})
    night(tmp_path / "out", 2, lists())
    write_site(str(tmp_path / "out"), tmp_path / "site", Request())
    rows = Page(tmp_path / "site" / "index.html").rows
    (row,) = [row for row in rows if date(0) in row]
    assert "x" in row
    assert "y" not in row
