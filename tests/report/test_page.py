"""The report of a night, in a real browser: it opens from disk, asks for nothing, and says what was scored."""

import base64
import hashlib
import json
import re
import shutil
from pathlib import Path

import gated_nights
import kept_nights
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from commands import command_line
from pages import Page
from scipy import stats

from ndcg_spark.comparison.compare import Comparison
from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.nights.log import committed
from ndcg_spark.nights.read import read_rows
from ndcg_spark.report import reports
from ndcg_spark.report.baseline import Baseline, NightComparison, comparison_of
from ndcg_spark.report.night_data import headline, night_data
from ndcg_spark.report.night_tables import reasons
from ndcg_spark.report.queries import QueryScore, with_documents
from ndcg_spark.report.summary import points
from ndcg_spark.text import printable

ROOT = Path(__file__).parents[2]
HOSTILE = [
    "<script>alert(1)</script>",
    "\"'>&lt;",
    "🙂 é\u202e\x1b\x07\ufe0f",
    "x" * 10_000,
    "</style></script>{{7*7}}",
]

pytest.importorskip("vl_convert", reason="needs the extra report")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The example as two nights, the second with its documents."""
    folder = tmp_path_factory.mktemp("kept")
    for date in ("2026-11-19", "2026-11-20"):
        evaluated = ["--config", "conf/example.toml", "--engine", "embedded", "--output", folder, "--date", date]
        done = command_line("evaluate", *evaluated, "--documents", "all", cwd=ROOT)
        assert done.returncode == 0, done.stderr
    return folder


def reported(kept, *arguments):
    """The file of a report, which a program writes: comparing needs an engine of its own."""
    file = kept / f"{len(list(kept.glob('*.html')))}.html"
    done = command_line("report", kept, "--html", file, "--engine", "embedded", *arguments, cwd=kept)
    assert done.returncode == 0, done.stderr
    return file


@pytest.fixture(scope="module")
def page(kept):
    """The file of a report against a baseline."""
    return reported(kept, "--baseline", "bm25")


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """The file of a report whose every name wants to be something else."""
    folder = tmp_path_factory.mktemp("hostile")
    judged = [{"query_id": q, "doc_id": d, "relevance": at} for q in HOSTILE for at, d in enumerate(HOSTILE)]
    rows = [
        {"run": run, "query_id": q, "doc_id": d, "score": (at + sign) % 4}
        for sign, run in enumerate(HOSTILE)
        for q in HOSTILE
        for at, d in enumerate(HOSTILE[:-1])
    ]
    for name, lines in (("j", judged), ("r", rows)):
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    files = ["j.jsonl", "r.jsonl", "--engine", "embedded", "--dataset", HOSTILE[0]]
    done = command_line("evaluate", *files, "--baseline", HOSTILE[1], "--report", "report.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stderr.splitlines()] == ["engine", "read", "read", "scored", "report"]
    return folder / "report.html"


def scores(kept, run):
    (night,) = [each for each in committed(str(kept)) if each.evaluated_on == "2026-11-20"]
    rows = read_rows([night], "query_scores", where={"run": [run], "cutoff": [10]}).to_pylist()
    return {row["query_id"]: row for row in rows}


def test_differences_and_intervals_are_those_of_scipy(kept, page):
    rows = {row[0]: row for row in Page(page).rows if len(row) > 12}
    for run in ("dense", "hybrid"):
        own, other = scores(kept, run), scores(kept, "bm25")
        pairs = [(own[q]["ndcg"], other[q]["ndcg"]) for q in own if own[q]["ndcg"] is not None]
        one, baseline = zip(*pairs, strict=True)
        expected = stats.ttest_rel(one, baseline)
        ends = expected.confidence_interval()
        change = np.mean(one) - np.mean(baseline)
        # They stand next to the run.
        assert rows[run][1:3] == [f"{change:+.4f}", f"{ends.low:+.4f}, {ends.high:+.4f}"]
        mean = stats.ttest_1samp(one, 0.0).confidence_interval()
        assert f"{mean.low:.4f} to {mean.high:.4f}" in rows[run]
        signs = [(a > b) - (a < b) for a, b in pairs]
        assert rows[run][4:7] == [str(signs.count(sign)) for sign in (1, -1, 0)]
    assert rows["bm25"][1] == "baseline"
    # Queries of each pair of statuses.
    parts = [row for row in Page(page).rows if row[:2] in (["scored", "scored"], ["no_relevant", "no_relevant"])]
    assert sorted(parts) == [
        ["no_relevant", "no_relevant", "1"],
        ["scored", "scored", "59"],
    ]


def test_the_first_screen_answers_in_words(kept, page):
    own, other = scores(kept, "hybrid"), scores(kept, "bm25")
    differences = {q: own[q]["ndcg"] - other[q]["ndcg"] for q in own if own[q]["ndcg"] is not None}
    worst = min(differences, key=differences.get)
    words, (before, now) = Page(page).words, (np.mean([side[q]["ndcg"] for q in differences]) for side in (other, own))
    means = f"{now - before:+.4f} ndcg@10 ({before:.4f} to {now:.4f})"
    assert f"hybrid is better than bm25: {means}." in words
    doubtful = Page(reported(kept, "--baseline", "bm25", "--run", "dense")).words
    assert "dense is not shown to be worse than bm25: " in doubtful
    assert "is hardly detected with so few queries." in doubtful
    signs, before = [np.sign(difference) for difference in differences.values()], other[worst]["ndcg"]
    moved = f"{before:.4f} to {own[worst]['ndcg']:.4f}"
    counts = f"{signs.count(1)} won, {signs.count(-1)} lost, {signs.count(0)} tied"
    assert f"Which queries? {counts}; the largest losses: {worst} ({moved}), " in words
    lost = sum(difference for difference in differences.values() if difference < 0)
    assert f"Why? {signs.count(-1)} queries lost {-lost:.4f} NDCG in all: " in words
    # Of the two comparisons of the family.
    assert re.search(r"How sure\? 95 % interval [-+., 0-9]+, adjusted p 0\.\d+, 59 queries\.", words)
    assert f"; see {worst}." in words or f"Next Open {worst}." in words
    why = (
        rf"{worst} {moved}, ▼ {differences[worst]:+.4f} \d relevant documents? [a-z 0-9]+: -0\.\d+ of {before:.4f} NDCG"
    )
    assert re.search(why, words)


def test_the_causes_of_every_query_sum_to_its_difference(kept):
    (night,) = [each for each in committed(str(kept)) if each.evaluated_on == "2026-11-20"]
    own, other = scores(kept, "hybrid"), scores(kept, "bm25")
    queries = [QueryScore(q, row["ndcg"], other[q]["ndcg"]) for q, row in own.items() if row["ideal_dcg"]]
    for each in with_documents((night, "hybrid"), (night, "bm25"), 10, queries):
        assert each.cause.difference == pytest.approx(each.difference)
    # Without a baseline it is what the query lacks.
    for each in with_documents((night, "hybrid"), None, 10, queries):
        assert each.cause.difference == pytest.approx(each.score - 1)
        assert each.cause.at_unjudged is None


def test_without_a_baseline_a_night_is_compared_with_the_newest_of_the_same_judgments(kept, tmp_path):
    words = Page(reported(kept)).words
    assert "hybrid is unchanged against hybrid of 2026-11-19: ndcg@10 is" in words
    counts = "Of 3 runs: 0 worse, 0 better, 0 not told apart, 3 unchanged."
    assert f"How sure? All 59 queries score the same. All runs {counts}" in words
    assert "Next Check that the system produced new output." in words
    assert "Comparable? The judgments are the same." in words
    assert "Queries that lost most" not in words
    for number, judgments in enumerate(["new", "old", "new"]):
        kept_nights.night(tmp_path, number, {"r": 0.5}, judgments=judgments)
    nights = committed(str(tmp_path))
    rows = [{"dataset": "web", "baseline_night": kept_nights.FIRST}]
    found = Baseline(found=Comparison(rows, [], []))
    compared = comparison_of("out", nights[2], nights, found, ("ndcg", 10))
    assert (compared.date, list(compared.warnings)) == (kept_nights.date(0), [])
    assert comparison_of("out", nights[1], nights, found, ("ndcg", 10)) is None
    # If another is named, it says that the two do not mean the same.
    named = Baseline(date=kept_nights.date(0), found=Comparison(rows, [], ["of the comparison"]))
    compared = comparison_of("out", nights[1], nights, named, ("ndcg", 10))
    differ = "the judgments of web are not those of 2026-01-01"
    assert list(compared.warnings) == [differ, "of the comparison"]


@pytest.mark.parametrize(
    ("date", "p_value", "shown"), [("2026-11-19", 0.01, "dense"), ("2026-11-19", 0.5, "hybrid"), (None, 0.01, "hybrid")]
)
def test_a_run_that_has_become_worse_is_shown_before_the_best(kept, date, p_value, shown):
    first, second = committed(str(kept))
    row = {"measure": "ndcg", "cutoff": 10, "attribute": None, "weight_effective_n": None, "flags": []}
    rows = [{**row, "run": "hybrid", "difference": 0.1, "p_decides": 0.01}]
    rows += [{**row, "run": "dense", "difference": -0.1, "p_decides": p_value}]
    found = NightComparison(rows, None if date else "bm25", date, first if date else second)
    assert night_data(str(kept), second, ("ndcg", 10), None, found).run == shown


def test_of_many_failing_checks_the_largest_drops_are_on_the_first_screen(kept):
    first, second = committed(str(kept))
    sizes = {"bm25": ("fail", -0.1), "dense": ("fail", -0.3), "hybrid": ("undecided", -0.5), "other": ("fail", -0.2)}
    results = [
        {"run": run, "result": result, "severity": "fail", "difference": drop, "sentence": f"{run} fell"}
        for run, (result, drop) in sizes.items()
    ]
    verdict = {"verdict": "fail", "sentence": "dense fell (and 2 more)", "results": results}
    night = second.with_record({**second.record, "verdict": {**verdict, "warnings": ["a warning"]}})
    assert reasons(night.record) == [
        *("dense fell (and 2 more)", "other fell", "bm25 fell", "and 1 more results, below", "a warning")
    ]
    row = {"measure": "ndcg", "cutoff": 10, "attribute": None, "weight_effective_n": None, "flags": []}
    rows = [{**row, "run": run, "difference": -0.1, "p_decides": 0.01} for run in ("hybrid", "dense", "bm25")]
    found = NightComparison(rows, None, "2026-11-19", first)
    assert night_data(str(kept), night, ("ndcg", 10), None, found).run == "dense"


def test_an_unchanged_run_is_only_suspect_if_all_results_are_those_of_the_other_night(kept):
    first, second = committed(str(kept))
    row = {"run": "hybrid", "measure": "ndcg", "cutoff": 10, "attribute": None, "weight_effective_n": None}
    row |= {"difference": 0.0, "p_decides": 1.0, "queries": 11, "flags": ["unchanged"]}
    inputs = {**first.record["inputs"], "results": {"fingerprint": "of other results"}}
    other = first.with_record({**first.record, "inputs": inputs})
    for night, answer in ((first, "Check that the system produced new output."), (other, "No query changed.")):
        found = NightComparison([row], None, "2026-11-19", night)
        assert points(night_data(str(kept), second, ("ndcg", 10), "hybrid", found))[-1].answer == answer


@pytest.mark.parametrize(
    ("configuration", "measure", "place"),
    [
        ({"headline": "ndcg@100"}, None, ("ndcg", 5)),
        ({"measures": ["ndcg@100"], "headline": "ndcg@100"}, None, ("ndcg", 100)),
        ({"gate": {"check": [{"measure": "ndcg", "cutoff": 3}]}, "measures": ["ndcg@100"]}, None, ("ndcg", 3)),
        ({"gate": {"check": [{"measure": "ndcg", "cutoff": 3}]}}, "nDCG@100", ("ndcg", 100)),
        ({}, "ndcg", ("ndcg", 5)),
    ],
)
def test_a_page_is_about_the_named_measure_the_gates_first_check_or_the_cutoff_nearest_to_10(
    tmp_path, configuration, measure, place
):
    outputs = [tmp_path / str(cutoff) for cutoff in (3, 5, 100, None)]
    for output, cutoff in zip(outputs, (3, 5, 100, None), strict=True):
        kept_nights.night(output, 0, {"r": 0.5}, cutoff=cutoff)
    (night,), paths = committed(str(outputs[0])), [next(each.glob("dataset_scores/**/*.parquet")) for each in outputs]
    pq.write_table(pa.concat_tables(map(pq.read_table, paths)), paths[0])
    night.record["configuration"] = configuration
    assert headline(night, measure) == place
    with pytest.raises(ConfigurationError, match=r"ndcg@7 was not evaluated .* it has ndcg at 3, 5, 100, all"):
        headline(night, "ndcg@7")


@pytest.mark.slow
def test_the_verdict_and_the_numbers_of_a_gate_are_shown_without_an_engine(tmp_path):
    gated_nights.evaluated(
        tmp_path,
        gated_nights.settings(tmp_path, "2026-11-19", accepted="the first"),
        gated_nights.settings(tmp_path, "2026-11-20", worse=30, documents="all"),
    )
    output = str(tmp_path / "out")
    reports.write_report(output, tmp_path / "r.html")
    read = Page(tmp_path / "r.html")
    first, second = committed(output)
    (result,) = second.record["verdict"]["results"]
    assert "✗ fail hybrid is worse than hybrid of 2026-11-19: " in read.words
    assert f"The gate {result['sentence']}" in read.words
    interval = f"{result['interval_low']:+.4f}, {result['interval_high']:+.4f}"
    p = "<0.0001" if result["p"] < 0.0001 else f"{result['p']:.4f}"
    assert f"95 % interval {interval}, the p of the gate {p}, 60 queries. A drop of 0.01 is allowed." in read.words
    assert "Shaded: the drop of 0.01 that the gate allows." in read.words
    (row,) = [row for row in read.rows if row[:1] == ["hybrid"] and len(row) > 5 and row[2] == interval]
    assert row[3] == p
    assert "fail, dropped" in [cell for row in read.rows for cell in row]
    # Those queries lost whose relevant document fell from rank 1 or 2, 20 of 30; each 3rd of all was beyond it already.
    assert read.text.count("▼") == 20
    reports.write_report(output, tmp_path / "r.html", date=first.evaluated_on)
    assert "? no verdict (accepted)" in Page(tmp_path / "r.html").words


def test_every_query_that_changed_is_opened_by_a_link(kept, page):
    read = Page(page)
    opened = [attrs for tag, attrs in read.tags if tag == "details" and attrs.get("class") == "query"]
    own, other = scores(kept, "hybrid"), scores(kept, "bm25")
    apart = [row["ndcg"] - other[query]["ndcg"] for query, row in own.items() if row["ndcg"] is not None]
    assert len(opened) == sum(min(20, sum(sign * each > 1e-9 for each in apart)) for sign in (1, -1))
    ids = [attrs["id"] for _, attrs in read.tags if "id" in attrs]
    assert len(ids) == len({*ids})
    links = {attrs["href"] for tag, attrs in read.tags if tag == "a"}
    # One query did not change, and has its row alone.
    assert {f"#{attrs['id']}" for attrs in opened} < links <= {f"#{each}" for each in ids}
    assert {f"q-{query}" for query, row in scores(kept, "hybrid").items() if row["ndcg"] is not None} <= {*ids}
    # The dataset has two nights, so there is a trend.
    assert sum(tag == "svg" for tag, _ in read.tags) == 5
    worst = opened[0]["id"].removeprefix("q-")
    assert f"<title>{worst}: -0." in page.read_text(encoding="utf-8")


@pytest.mark.slow
def test_a_page_says_which_queries_were_not_compared_and_which_night_is_gone(tmp_path):
    first = gated_nights.settings(tmp_path, "2026-11-19", accepted="the first")
    gate = {"unchanged_queries": True, "min_queries": 10}
    second = gated_nights.settings(tmp_path, "2026-11-20", gate, regraded=5)
    # The first night is evaluated again after the second was compared with it.
    gated_nights.evaluated(tmp_path, first, second, first)
    reports.write_report(str(tmp_path / "out"), tmp_path / "r.html")
    words = Page(tmp_path / "r.html").words
    assert "5 queries have other judgments than on 2026-11-19" in words
    assert "he night of 2026-11-19 has been replaced since" in words
    assert "Differences, query by query" not in words


@pytest.mark.slow
def test_a_page_of_very_many_runs_and_ranks_stays_small(tmp_path):
    ranks = range(1, 61)
    documents = [f"document-{number:05d}" for number in range(200)]
    judged = [f"q{q} 0 {documents[(7 * q + n) % 200]} {n % 3}" for q in range(50) for n in range(100)]
    lines = [
        f"q{q} Q0 {documents[(q + run + rank * (1 + run % 3)) % 200]} {rank} {-rank} run-{run:03d}-of-a-long-name"
        for run in range(126)
        for q in range(50)
        for rank in ranks
    ]
    for name, text in (("qrels", judged), ("run", lines)):
        (tmp_path / name).write_text("\n".join(text) + "\n", encoding="utf-8")
    options = ("--output", "o", "--documents", "all", "--cutoffs", "10,60", "--measures", "ndcg@60")
    report = ("--baseline", "run-000-of-a-long-name", "--report", "r.html", "--engine", "embedded")
    done = command_line("evaluate", "qrels", "run", *options, *report, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    read = Page(tmp_path / "r.html")
    # The first ranks alone and 20 of whatever else, so deeper lists make no larger page.
    assert max(int(row[0]) for row in read.rows if len(row) == 11 and row[0].isdecimal()) == 50
    assert "40 of 126 runs: those at the ends" in read.words
    opened = sum(attrs.get("class") == "query" for _, attrs in read.tags)
    assert read.words.count("and 10 more in ndcg-spark explain") >= opened > 30
    assert (tmp_path / "r.html").stat().st_size < 3_000_000


@pytest.mark.parametrize("which", ["page", pytest.param("hostile", marks=pytest.mark.slow)])
def test_a_page_runs_nothing_but_its_own_script(request, which):
    file = request.getfixturevalue(which)
    read, text = Page(file), file.read_text(encoding="utf-8")
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    assert (len(scripts), sum(tag == "script" for tag, _ in read.tags)) == (1, 1)
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    (policy,) = [each["content"] for tag, each in read.tags if each.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none';")
    assert f"script-src 'sha256-{digest}'" in policy
    assert not {"iframe", "object", "embed", "form", "base"} & {tag for tag, _ in read.tags}
    addresses = [v for _, each in read.tags for n, v in each.items() if n in ("src", "href", "xlink:href") and v]
    assert [each for each in addresses if not each.startswith(("data:,", "#"))] == []


@pytest.mark.slow
def test_every_name_is_shown_as_the_text_that_it_is(hostile):
    read = Page(hostile)
    for name in HOSTILE:
        assert read.text.count(printable(name)) >= 5
    assert "49" not in [cell for row in read.rows for cell in row]
    assert not any(name.startswith("on") for _, each in read.tags for name in each)


def test_where_nothing_can_be_compared_the_lowest_and_the_highest_scores_are_opened(kept, tmp_path):
    reports.write_report(str(kept), tmp_path / "r.html", run="dense", date="2026-11-19")
    words = Page(tmp_path / "r.html").words
    assert "The lowest scores" in words
    assert "there is nothing to compare it with." in words
    assert "compared with" not in words


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"run": "bm52", "date": "2026-11-19"}, "run: no run is called 'bm52' (did you mean 'bm25'?)"),
        ({"baseline": Baseline("bm52")}, "baseline: no run is called 'bm52' (did you mean 'bm25'?)"),
        ({"date": "2026-11-18"}, "there is no night of 2026-11-18; the newest is of 2026-11-20"),
        ({"measure": "P@5"}, "measure: precision@5 was not evaluated in this night; it has no precision at all"),
        ({"dataset": "shop"}, "no dataset is called 'shop' (did you mean 'shop-search'?)"),
    ],
)
def test_what_is_not_kept_is_an_error(kept, tmp_path, asked, said):
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        reports.write_report(str(kept), tmp_path / "r.html", **asked)
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_written_is_an_error(kept, tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(ConfigurationError, match="cannot be written"):
        reports.write_report(str(kept), tmp_path / "file" / "r.html")
    with pytest.raises(StorageError, match="report: /dev/full cannot be written, No space left on device"):
        reports.write_report(str(kept), Path("/dev/full"), date="2026-11-19")
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_a_report_that_cannot_be_written_is_told_before_anything_is_computed(tmp_path):
    evaluated = ("evaluate", "--config", "conf/example.toml", "--engine", "embedded", "--output", tmp_path / "out")
    done = command_line(*evaluated, "--report", tmp_path, cwd=ROOT)
    assert (done.returncode, done.stdout, [*tmp_path.iterdir()]) == (2, "", [])
    assert done.stderr == f"ndcg-spark: report: {tmp_path} cannot be written, Is a directory; check --report\n"


def test_where_writing_it_fails_the_scores_are_printed_and_the_message_says_that_the_night_was_published(tmp_path):
    evaluated = ("evaluate", "--config", "conf/example.toml", "--engine", "embedded", "--output", tmp_path / "out")
    done = command_line(*evaluated, "--report", "/dev/full", cwd=ROOT)
    assert done.returncode == 4
    assert [line.split()[0] for line in done.stdout.splitlines() if line][:2] == ["run", "hybrid"]
    said = done.stderr.splitlines()[-1]
    assert said.endswith("/dev/full cannot be written, No space left on device; what was published stays")


def test_a_page_has_no_sign_that_cannot_be_seen(hostile):
    text = hostile.read_text(encoding="utf-8")
    assert {sign for sign in text if printable(sign) != sign} <= {"\n"}


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    """Debian's Chromium with a fresh profile, which logs what it is asked for."""
    webdriver = pytest.importorskip("selenium.webdriver", reason="needs selenium, which check.sh installs")
    if not (shutil.which("chromium") and shutil.which("chromedriver")):
        pytest.skip("needs Debian's chromium and chromium-driver")
    from selenium.webdriver.chrome.service import Service

    options = webdriver.ChromeOptions()
    profile = tmp_path_factory.mktemp("profile")
    for argument in ("--headless=new", "--no-sandbox", "--window-size=1280,1000", f"--user-data-dir={profile}"):
        options.add_argument(argument)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    opened = webdriver.Chrome(options=options, service=Service(shutil.which("chromedriver")))
    yield opened
    opened.quit()


def requests_of(browser):
    found = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    return [each["params"]["request"]["url"] for each in found if each["method"] == "Network.requestWillBeSent"]


@pytest.mark.slow
@pytest.mark.parametrize("which", ["page", "hostile"])
def test_a_page_opens_from_disk_without_a_word_or_a_request(request, browser, which):
    file = request.getfixturevalue(which)
    browser.get("about:blank")
    browser.get_log("performance")
    browser.get(file.as_uri())
    assert browser.get_log("browser") == []
    assert {url for url in requests_of(browser) if not url.startswith("data:,")} == {file.as_uri()}
    for width in (390, 768, 1280):
        size = {"width": width, "height": 1000, "deviceScaleFactor": 1, "mobile": width < 500}
        browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
        # Only tables and plots scroll sideways, within themselves.
        assert browser.execute_script("return document.documentElement.scrollWidth") <= width
        # Where 0 is out of sight, a reader does not see which side a run is on.
        right = "return document.querySelector('[id^=forest] + figure svg').getBoundingClientRect().right"
        assert browser.execute_script(right) <= width
        # No name of a usual length is cut.
        left = "text.getBoundingClientRect().left - text.closest('svg').getBoundingClientRect().left"
        texts = "Array.from(document.querySelectorAll('figure svg text'))"
        cut = browser.execute_script(f"return Math.min(...{texts}.map((text) => {left}))")
        assert cut >= 0 or which == "hostile"
        _keep(request, browser, f"{which}-{width}")
    assert browser.execute_script("return document.querySelectorAll('svg path, svg line').length") > 25


@pytest.mark.slow
def test_a_table_is_sorted_by_its_heading_and_a_query_is_opened(browser, page):
    browser.get(page.as_uri())
    by = "css selector"
    (button,) = [b for b in browser.find_elements(by, "[aria-label=runs] th button") if b.text == "judged rate"]

    def runs():
        return [cell.text for cell in browser.find_elements(by, "[aria-label=runs] td:first-child")]

    assert runs() == ["hybrid", "bm25", "dense"]
    button.click()
    assert runs() == ["bm25", "hybrid", "dense"]
    button.click()
    assert runs() == ["dense", "hybrid", "bm25"]
    assert button.find_element("xpath", "..").get_attribute("aria-sort") == "ascending"
    query = browser.find_element(by, "details.query")
    assert not query.find_element(by, "table").is_displayed()
    browser.find_element(by, "dd a").click()
    assert query.find_element(by, "table").is_displayed()
    assert browser.current_url.endswith(f"#{query.get_attribute('id')}")
    browser.find_element(by, "input").send_keys("office-")
    assert [each.is_displayed() for each in browser.find_elements(by, "details.query")].count(True) == 1
    assert runs() == [""] * 3
    browser.find_element(by, "input").send_keys(*["\b"] * 7)
    browser.find_element(by, "button.all").click()
    section = browser.find_elements(by, "section section")[0]
    assert all(each.get_attribute("open") for each in section.find_elements(by, "details.query"))


# In the dark, nothing but colours is another, and two queries have all of them.
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "queries", "asked"), [("light", 1000, {}), ("dark", 2, COLOURS)])
def test_axe_finds_nothing(request, browser, page, scheme, queries, asked):
    axe = pytest.importorskip("axe_selenium_python", reason="needs axe, which check.sh installs")
    preferred = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", preferred)
    browser.get(page.as_uri())
    opening = "Array.from(document.querySelectorAll('details')).slice(0, arguments[0]).forEach((e) => { e.open = 1; });"
    browser.execute_script(opening, queries)
    script = Path(axe.__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
    browser.execute_script(script.read_text(encoding="utf-8"))
    # Half a minute is not enough where the machine is busy.
    browser.set_script_timeout(120)
    options = {"resultTypes": ["violations"], **asked}
    found = browser.execute_async_script("axe.run(arguments[0]).then(arguments[1]);", options)
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in found["violations"]] == []
    _keep(request, browser, scheme)


def _keep(request, browser, name):
    """A screenshot where who develops can look at it."""
    folder = request.config.rootpath / ".pytest_cache" / "report"
    folder.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(folder / f"{name}.png"))
