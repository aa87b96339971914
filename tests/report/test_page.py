"""The report of a night, in a real browser: it opens from disk, asks for nothing, and says what was scored."""

import base64
import hashlib
import html.parser
import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from programs import command_line
from scipy import stats

from ndcg_spark.errors import ConfigurationError, StorageError
from ndcg_spark.nights.committed import committed
from ndcg_spark.report import reports
from ndcg_spark.report.night_data import night_data

ROOT = Path(__file__).parents[2]
HOSTILE = ["<script>alert(1)</script>", "\"'>&lt;", "🙂 é\u202e", "x" * 10_000, "</style></script>{{7*7}}"]

pytest.importorskip("vl_convert", reason="needs the extra report")
pytest.importorskip("altair", reason="needs the extra report")
pytest.importorskip("jinja2", reason="needs the extra report")


@pytest.fixture(scope="module")
def kept(tmp_path_factory):
    """The example as two nights, the second with its documents."""
    folder = tmp_path_factory.mktemp("kept")
    for date in ("2026-11-19", "2026-11-20"):
        evaluated = ["--config", "conf/example.toml", "--engine", "embedded", "--output", folder, "--date", date]
        done = command_line("evaluate", *evaluated, "--documents", "top", cwd=ROOT)
        assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def page(kept):
    """The file of a report against a baseline."""
    file = kept / "report.html"
    reports.write(str(kept), file, baseline="bm25")
    return file


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
    done = command_line("evaluate", *files, "--report", "report.html", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert [line.split()[0] for line in done.stderr.splitlines()] == ["engine", "read", "read", "scored", "report"]
    return folder / "report.html"


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
    path = next((kept / "query_scores").rglob("evaluated_on=2026-11-20/*.parquet"))
    return {row["query_id"]: row for row in pq.read_table(path).to_pylist() if (row["run"], row["cutoff"]) == (run, 10)}


def test_differences_and_intervals_are_those_of_scipy(kept):
    data = night_data(str(kept), committed(str(kept))[-1], None, "bm25")
    for run in ("hybrid", "dense"):
        own, other = scores(kept, run), scores(kept, "bm25")
        pairs = [(own[q]["ndcg"], other[q]["ndcg"]) for q in own if own[q]["ndcg"] is not None]
        one, baseline = zip(*pairs, strict=True)
        expected = stats.ttest_rel(one, baseline).confidence_interval()
        found = data.differences[run]
        assert (found.difference.low, found.difference.high) == pytest.approx((expected.low, expected.high), abs=1e-12)
        signs = [(a > b) - (a < b) for a, b in pairs]
        assert (found.wins, found.ties, found.losses) == tuple(signs.count(sign) for sign in (1, 0, -1))
        assert (found.queries, found.unpaired) == (11, 1)
        mean = stats.ttest_1samp(one, 0.0).confidence_interval()
        assert (data.means[run].low, data.means[run].high) == pytest.approx((mean.low, mean.high), abs=1e-12)
    assert data.run == "hybrid"
    assert data.transitions == {("scored", "scored"): 11, ("no_relevant", "no_relevant"): 1}
    assert [each.difference < 0 for each in data.worst] == [True] * len(data.worst)
    assert len(data.worst) + len(data.best) == sum(a != b for a, b in pairs)


def test_a_page_has_every_query_that_changed_with_its_documents(kept, page):
    read = Page(page)
    opened = [attrs for tag, attrs in read.tags if tag == "details" and attrs.get("class") == "query"]
    assert len(opened) == 11
    own, other = scores(kept, "hybrid"), scores(kept, "bm25")
    query = min((q for q in own if own[q]["ndcg"] is not None), key=lambda q: own[q]["ndcg"] - other[q]["ndcg"])
    assert f"{other[query]['ndcg']:.4f} to {own[query]['ndcg']:.4f}" in read.text
    # The dataset has two nights, so there is a trend.
    assert sum(tag == "svg" for tag, _ in read.tags) == 5


@pytest.mark.parametrize("which", ["page", "hostile"])
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


def test_every_name_is_shown_as_the_text_that_it_is(hostile):
    read = Page(hostile)
    for name in HOSTILE:
        assert read.text.count(name.replace("\u202e", "\\u202e")) >= 5
    assert "49" not in re.findall(r"\{\{7\*7\}\}|\b49\b", read.text)
    assert not any(name.startswith("on") for _, each in read.tags for name in each)


def test_pictures_are_written_for_mail_and_chat(kept, tmp_path):
    written = reports.write(str(kept), tmp_path / "r.html", baseline="bm25", png=tmp_path / "plots")
    assert sorted(path.stem for path in written[1:]) == ["differences", "histogram", "pairs", "runs", "trend"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in written[1:])


def test_without_a_baseline_the_lowest_and_the_highest_scores_are_opened(kept, tmp_path):
    reports.write(str(kept), tmp_path / "r.html", run="dense")
    read = Page(tmp_path / "r.html")
    assert "The lowest scores" in read.text
    assert "Against" not in read.text


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"baseline": "bm52"}, "baseline: 'bm52' is none of the 3 runs, did you mean 'bm25'?"),
        ({"date": "2026-11-18"}, "there is no night 2026-11-18; of 2, the newest is 2026-11-20"),
        ({"dataset": "shop"}, "there is no night 2026-11-20 of shop"),
    ],
)
def test_what_is_not_kept_is_an_error(kept, tmp_path, asked, said):
    with pytest.raises(ConfigurationError, match=re.escape(said)):
        reports.write(str(kept), tmp_path / "r.html", **asked)
    assert list(tmp_path.iterdir()) == []


def test_a_page_that_cannot_be_written_is_an_error(kept, tmp_path):
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(StorageError, match="cannot be written"):
        reports.write(str(kept), tmp_path / "file" / "r.html")


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


def test_a_table_is_sorted_by_its_heading_and_a_query_is_opened(browser, page):
    browser.get(page.as_uri())
    by = "css selector"
    (button,) = [b for b in browser.find_elements(by, "table.sorted th button") if b.text == "ndcg@1"]

    def runs():
        return [cell.text for cell in browser.find_elements(by, "table.sorted tbody td:first-child")]

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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(request, browser, page, scheme):
    axe = pytest.importorskip("axe_selenium_python", reason="needs axe, which check.sh installs")
    preferred = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", preferred)
    browser.get(page.as_uri())
    browser.execute_script("document.querySelectorAll('details').forEach((each) => { each.open = true; });")
    script = Path(axe.__file__).parent / "node_modules" / "axe-core" / "axe.min.js"
    browser.execute_script(script.read_text(encoding="utf-8"))
    # In the dark only the colours are others.
    only = "" if scheme == "light" else "{runOnly: ['color-contrast']}"
    found = browser.execute_async_script(f"axe.run({only}).then(arguments[0]);")
    serious = [each for each in found["violations"] if each["impact"] in ("serious", "critical")]
    assert [(each["id"], each["nodes"][0]["html"][:200]) for each in serious] == []
    _keep(request, browser, scheme)


def _keep(request, browser, name):
    """A screenshot where who develops can look at it."""
    folder = request.config.rootpath / ".pytest_cache" / "report"
    folder.mkdir(parents=True, exist_ok=True)
    browser.save_screenshot(str(folder / f"{name}.png"))
