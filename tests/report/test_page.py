"""The report of a night, in a real browser: it opens from disk, asks for nothing, and says what was scored."""

import base64
import hashlib
import html.parser
import json
import re
import shutil
from pathlib import Path

import gated_nights
import kept_nights
import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats
from staying import command_line

from ndcg_spark.comparison.compare import Comparison
from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.nights.records import committed
from ndcg_spark.report import reports
from ndcg_spark.report.baseline import Baseline, compare_with_baseline
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
        done = command_line("evaluate", *evaluated, "--documents", "top", cwd=ROOT)
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
    return reported(kept, "--baseline", "bm25", "--png", kept / "plots")


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


class Tables(html.parser.HTMLParser):
    """The rows of all tables of a page, as lists of the text of their cells."""

    def __init__(self, file):
        super().__init__()
        self.rows, self.is_cell = [], False
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        if tag == "tr":
            self.rows.append([])
        if tag == "td":
            self.rows[-1].append("")
        self.is_cell = self.is_cell or tag == "td"

    def handle_endtag(self, tag):
        self.is_cell = self.is_cell and tag != "td"

    def handle_data(self, data):
        if self.is_cell:
            self.rows[-1][-1] += data


class Page(html.parser.HTMLParser):
    """The tags of a page with their attributes, and its text."""

    def __init__(self, file):
        super().__init__()
        self.tags, self.text = [], ""
        self.feed(file.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.text += data


def scores(kept, run):
    path = next((kept / "query_scores").rglob("evaluated_on=2026-11-20/*/*.parquet"))
    return {row["query_id"]: row for row in pq.read_table(path).to_pylist() if (row["run"], row["cutoff"]) == (run, 10)}


def test_differences_and_intervals_are_those_of_scipy(kept, page):
    rows = {row[0]: row for row in Tables(page).rows if len(row) > 12}
    for run in ("hybrid", "dense"):
        own, other = scores(kept, run), scores(kept, "bm25")
        pairs = [(own[q]["ndcg"], other[q]["ndcg"]) for q in own if own[q]["ndcg"] is not None]
        one, baseline = zip(*pairs, strict=True)
        expected = stats.ttest_rel(one, baseline).confidence_interval()
        assert f"{expected.low:+.4f} to {expected.high:+.4f}" in rows[run]
        mean = stats.ttest_1samp(one, 0.0).confidence_interval()
        assert f"{mean.low:.4f} to {mean.high:.4f}" in rows[run]
        signs = [(a > b) - (a < b) for a, b in pairs]
        at = rows[run].index(f"{expected.low:+.4f} to {expected.high:+.4f}")
        assert rows[run][at + 2 : at + 5] == [str(signs.count(sign)) for sign in (1, -1, 0)]
    assert "baseline" in rows["bm25"]
    # Queries of each pair of statuses, and what they did to the mean.
    parts = [row for row in Tables(page).rows if row[:2] in (["scored", "scored"], ["no_relevant", "no_relevant"])]
    # The loop ends with dense, and the page looks at the best.
    own = scores(kept, "hybrid")
    change = np.mean([own[q]["ndcg"] - other[q]["ndcg"] for q in own if own[q]["ndcg"] is not None])
    assert sorted(parts) == [
        ["no_relevant", "no_relevant", "1", "+0.0000"],
        ["scored", "scored", "11", f"{change:+.4f}"],
    ]


@pytest.mark.slow
def test_a_night_is_held_against_another_run_by_run(kept):
    read = Page(reported(kept, "--baseline-date", "2026-11-19", "--run", "dense"))
    assert "Run dense against dense of 2026-11-19" in " ".join(read.text.split())
    assert "unchanged: no query has changed" in read.text
    assert "Queries that lost most" not in read.text


def test_a_page_says_that_two_nights_do_not_mean_the_same(tmp_path):
    for number, judgments in enumerate(["old", "new"]):
        kept_nights.night(tmp_path, number, {"r": 0.5}, judgments=judgments)
    nights = committed(str(tmp_path))
    rows = [{"dataset": "web", "baseline_night": kept_nights.FIRST}]
    asked = Baseline(date=kept_nights.date(0), found=Comparison(rows, [], [], ["of the comparison"]))
    held = compare_with_baseline("out", nights[1:], nights, asked, lambda *_: None)["web"]
    assert list(held.warnings) == [
        "the judgments of web are not those of 2026-01-01",
        "of the comparison",
    ]


@pytest.mark.slow
def test_the_verdict_and_the_comparisons_of_a_gate_are_shown_without_an_engine(tmp_path):
    gated_nights.evaluated(
        tmp_path,
        gated_nights.settings(tmp_path, "2026-11-19", accepted="the first"),
        gated_nights.settings(tmp_path, "2026-11-20", worse=30, documents="top"),
    )
    output = str(tmp_path / "out")
    reports.write_report(output, tmp_path / "r.html")
    read, rows = Page(tmp_path / "r.html"), Tables(tmp_path / "r.html").rows
    (verdict,) = [night.record["verdict"] for night in committed(output) if night.evaluated_on == "2026-11-20"]
    (finding,) = verdict["findings"]
    assert "✗ failed" in read.text
    assert "Compared with hybrid of 2026-11-19" in read.text
    assert finding["reason"] in read.text
    (row,) = [row for row in rows if row[:1] == ["hybrid"] and len(row) > 5]
    assert f"{finding['interval_low']:+.4f} to {finding['interval_high']:+.4f}" in row
    assert "fail: dropped" in [cell for row in rows for cell in row]
    # Those queries lost whose relevant document fell from rank 1 or 2, 20 of 30; each 3rd of all was beyond it already.
    assert read.text.count("▼") == 20


def test_a_page_has_every_query_that_changed_with_its_documents(kept, page):
    read = Page(page)
    opened = [attrs for tag, attrs in read.tags if tag == "details" and attrs.get("class") == "query"]
    assert len(opened) == 11
    own, other = scores(kept, "hybrid"), scores(kept, "bm25")
    query = min((q for q in own if own[q]["ndcg"] is not None), key=lambda q: own[q]["ndcg"] - other[q]["ndcg"])
    assert f"{other[query]['ndcg']:.4f} to {own[query]['ndcg']:.4f}" in read.text
    # The dataset has two nights, so there is a trend.
    assert sum(tag == "svg" for tag, _ in read.tags) == 5


@pytest.mark.slow
def test_a_page_says_which_queries_were_not_compared_and_which_night_is_gone(tmp_path):
    first = gated_nights.settings(tmp_path, "2026-11-19", accepted="the first")
    gate = {"on_changed_judgments": "unchanged_queries", "min_queries": 10}
    second = gated_nights.settings(tmp_path, "2026-11-20", gate, regraded=5)
    # The first night is evaluated again after the second was compared with it.
    gated_nights.evaluated(tmp_path, first, second, first)
    reports.write_report(str(tmp_path / "out"), tmp_path / "r.html")
    read = Page(tmp_path / "r.html")
    assert "5 queries have other judgments than on 2026-11-19" in read.text
    assert "the night of 2026-11-19 has been replaced since" in read.text
    assert "Differences, query by query" not in read.text


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
    assert "49" not in [cell for row in Tables(hostile).rows for cell in row]
    assert not any(name.startswith("on") for _, each in read.tags for name in each)


def test_pictures_are_written_for_mail_and_chat(page):
    written = list((page.parent / "plots").iterdir())
    assert sorted(path.stem for path in written) == ["differences", "histogram", "pairs", "runs", "trend"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written)


def test_without_a_baseline_the_lowest_and_the_highest_scores_are_opened(kept, tmp_path):
    reports.write_report(str(kept), tmp_path / "r.html", run="dense")
    read = Page(tmp_path / "r.html")
    assert "The lowest scores" in read.text
    assert "Compared with" not in read.text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"run": "bm52"}, "run: no run is called 'bm52' (did you mean 'bm25'?)"),
        ({"baseline": Baseline("bm52")}, "baseline: no run is called 'bm52' (did you mean 'bm25'?)"),
        ({"date": "2026-11-18"}, "there is no night of 2026-11-18; the newest is of 2026-11-20"),
        ({"dataset": "shop"}, "no dataset is called 'shop' (did you mean 'shop-search'?)"),
    ],
)
def test_what_is_not_kept_is_an_error(kept, tmp_path, asked, said):
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        reports.write_report(str(kept), tmp_path / "r.html", **asked)
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_written_is_an_error(kept, tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    for asked in ({"html": tmp_path / "file" / "r.html"}, {"html": tmp_path / "r.html", "png": tmp_path / "file"}):
        with pytest.raises(ConfigurationError, match="cannot be written"):
            reports.write_report(str(kept), **asked)
    with pytest.raises(StorageError, match="report: /dev/full cannot be written, No space left on device"):
        reports.write_report(str(kept), Path("/dev/full"))
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
    assert said.endswith(
        f"/dev/full cannot be written, No space left on device; the night was published in {tmp_path}/out"
    )


def test_a_page_has_no_sign_that_cannot_be_seen(hostile):
    text = hostile.read_text(encoding="utf-8")
    assert {sign for sign in text if printable(sign) != sign} <= {"\n"}


def test_a_page_looks_at_the_first_cutoff_that_was_asked_for_and_not_at_the_deepest(tmp_path):
    evaluated = ("evaluate", "--config", "conf/example.toml", "--engine", "embedded", "--output", tmp_path / "out")
    done = command_line(*evaluated, "--documents", "top", "--measures", "nDCG@3 R@10", cwd=ROOT)
    assert done.returncode == 0, done.stderr
    (night,) = committed(str(tmp_path / "out"))
    assert night.record["configuration"]["headline"] == "ndcg@3"
    reports.write_report(str(tmp_path / "out"), tmp_path / "r.html")
    read, rows = Page(tmp_path / "r.html"), Tables(tmp_path / "r.html").rows
    assert "Run hybrid, ndcg@3." in " ".join(read.text.split())
    assert "the best by ndcg@3 on top" in read.text
    assert "recall@10" in read.text
    # Of each opened query the ranks down to 3, though ten of them are kept.
    assert {row[0] for row in rows if len(row) == 11 and row[0].isdecimal()} == {"1", "2", "3"}


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
        _keep(request, browser, f"{which}-{width}")
    assert browser.execute_script("return document.querySelectorAll('svg path, svg line').length") > 25


@pytest.mark.slow
def test_a_table_is_sorted_by_its_heading_and_a_query_is_opened(browser, page):
    browser.get(page.as_uri())
    by = "css selector"
    (button,) = [b for b in browser.find_elements(by, "[aria-label=runs] th button") if b.text == "ndcg@1"]

    def runs():
        return [cell.text for cell in browser.find_elements(by, "[aria-label=runs] td:first-child")]

    assert runs() == ["hybrid", "dense", "bm25"]
    button.click()
    assert runs() == ["dense", "bm25", "hybrid"]
    button.click()
    assert runs() == ["hybrid", "bm25", "dense"]
    assert button.find_element("xpath", "..").get_attribute("aria-sort") == "ascending"
    query = browser.find_element(by, "details.query")
    assert not query.find_element(by, "table").is_displayed()
    query.find_element(by, "summary").click()
    assert query.find_element(by, "table").is_displayed()
    browser.find_element(by, "button.all").click()
    section = browser.find_elements(by, "section section")[0]
    assert all(each.get_attribute("open") for each in section.find_elements(by, "details.query"))


# In the dark, nothing but colours is another, and two queries have all of them.
COLOURS = {"runOnly": {"type": "rule", "values": ["color-contrast"]}}


@pytest.mark.slow
@pytest.mark.parametrize(("scheme", "queries", "asked"), [("light", 1000, {}), ("dark", 2, COLOURS)])
def test_axe_finds_nothing_serious(request, browser, page, scheme, queries, asked):
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
    serious = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in serious] == []
    _keep(request, browser, scheme)


def _keep(request, browser, name):
    """A screenshot where who develops can look at it."""
    folder = request.config.rootpath / ".pytest_cache" / "report"
    folder.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(folder / f"{name}.png"))
