"""The guides: links lead somewhere, and what the README shows in Python runs as it stands there."""

import datetime
import json
import re
from pathlib import Path

import duckdb
import pytest
from gated_nights import evaluated, settings

from ndcg_spark.convention.options import OPTIONS
from ndcg_spark.nights.log import committed, revise
from ndcg_spark.report.comparisons import FLAGS
from ndcg_spark.rules import RULES
from ndcg_spark.schemas import EVALUATIONS, KEPT

ROOT = Path(__file__).parents[1]
GUIDES = {
    name: (ROOT / name).read_text(encoding="utf-8")
    for name in (
        "README.md",
        "ndcg_spark/README.md",
        "ndcg_spark/guides/REFERENCE.md",
        "ndcg_spark/guides/INPUT.md",
        "ndcg_spark/guides/COMING_FROM.md",
        "ndcg_spark/guides/MEASURES.md",
        "ndcg_spark/guides/COMPARING.md",
        "ndcg_spark/guides/GATE.md",
        "ndcg_spark/guides/CHANGED_JUDGMENTS.md",
        "ndcg_spark/guides/HUMAN_GRADES.md",
        "ndcg_spark/guides/CORRECTED.md",
        "ndcg_spark/guides/CHANGELOG.md",
        "ndcg_spark/guides/RECIPES.md",
        "ndcg_spark/guides/SPARK_3.md",
        "ndcg_spark/guides/TROUBLESHOOTING.md",
        "ndcg_spark/guides/GLOSSARY.md",
        "conf/README.md",
        "scripts/benchmark/README.md",
        "tests/README.md",
        ".github/CONTRIBUTING.md",
        ".github/RELEASING.md",
    )
}


def without_code(text):
    return re.sub(r"^ *```.*?^ *```", "", text, flags=re.DOTALL | re.MULTILINE)


def anchors(text):
    """What GitHub calls the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", without_code(text), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("guide", GUIDES)
def test_a_link_leads_to_a_file_and_a_heading_that_are_there(guide):
    lost = []
    for link in re.findall(r"\]\(([^)\s]+)\)", without_code(GUIDES[guide])):
        path, _, anchor = link.partition("#")
        if "://" in link:
            continue
        target = (ROOT / guide).parent / path if path else ROOT / guide
        if not target.exists() or (
            anchor and anchor not in anchors(target.read_text(encoding="utf-8"))
        ):
            lost.append(link)
    assert lost == []


@pytest.mark.parametrize("guide", GUIDES)
def test_a_file_that_is_named_is_there(guide):
    named = re.findall(
        r"`((?:\.github|conf|jobs|ndcg_spark|scripts|tests)/[\w/.-]*)", GUIDES[guide]
    )
    assert [name for name in named if not (ROOT / name).exists()] == []


def test_a_module_that_the_page_for_builders_names_is_there():
    named = set(re.findall(r"`(\w+/\w+\.(?:py|md))`", GUIDES["ndcg_spark/README.md"]))
    assert [
        name
        for name in named
        if not any((ROOT / base / name).exists() for base in ("ndcg_spark", "."))
    ] == []


def test_the_page_for_builders_describes_every_room():
    section = GUIDES["ndcg_spark/README.md"].partition("## The rooms")[2].partition("\n## ")[0]
    first_cells = "".join(
        line.split("|")[1] for line in section.splitlines() if line.startswith("| `")
    )
    modules = {
        path.stem
        for path in (ROOT / "ndcg_spark").iterdir()
        if path.suffix == ".py" or path.is_dir()
    }
    rooms = modules - {"__init__", "__main__", "__pycache__", "guides"}
    assert sorted(re.findall(r"`(\w+)`", first_cells)) == sorted(rooms)


@pytest.mark.parametrize(
    "guide", [name for name in GUIDES if "/guides/" in name or name == "conf/README.md"]
)
def test_a_guide_is_not_too_long(guide):
    assert len(GUIDES[guide].splitlines()) <= 400


def test_the_readme_is_short_enough_for_a_first_reading():
    assert len(GUIDES["README.md"].splitlines()) <= 150


@pytest.mark.parametrize(
    ("guide", "numbers"),
    [
        ("README.md", ["0.95085", "10.291488", "0.9494"]),
        (
            "ndcg_spark/README.md",
            ["[7.0, 1.0, 3.0, 0.0, 3.0]", "[7.0, 3.0, 3.0, 1.0, 0.0]", "0.95084"],
        ),
    ],
)
@pytest.mark.filterwarnings("ignore")
def test_the_python_of_a_page_prints_the_ndcg_computed_by_hand(guide, numbers, monkeypatch, capsys):
    monkeypatch.chdir(ROOT)
    program = "".join(re.findall(r"```python\n(.*?)```", GUIDES[guide], flags=re.DOTALL))
    exec(program, {})  # noqa: S102  # the page's own program
    printed = capsys.readouterr().out
    assert [number for number in numbers if number not in printed] == []


@pytest.mark.parametrize("table", [*KEPT, "evaluations"])
def test_the_guide_describes_every_column_of_a_table(table):
    section = GUIDES["ndcg_spark/guides/REFERENCE.md"].partition(f"**`{table}`**:")[2]
    section = re.split(r"\n\*\*|\n## ", section)[0]
    first_cells = "".join(
        line.split("|")[1] for line in section.splitlines() if line.startswith("| `")
    )
    assert sorted(re.findall(r"`(\w+)`", first_cells)) == sorted(
        {**KEPT, "evaluations": EVALUATIONS}[table].names
    )


def test_the_guide_describes_every_flag_of_a_comparison():
    flags = GUIDES["ndcg_spark/guides/COMPARING.md"].partition("## Flags")[2].partition("\n##")[0]
    first_cells = "".join(
        line.split("|")[1] for line in flags.splitlines() if line.startswith("| `")
    )
    assert sorted(re.findall(r"`(\w+)`", first_cells)) == sorted(FLAGS)


def test_the_guide_describes_every_option_of_a_convention_with_every_word_it_takes():
    section = (
        GUIDES["ndcg_spark/guides/REFERENCE.md"].partition("### Options")[2].partition("###")[0]
    )
    rows = re.findall(r"^\| `(\w+)` \|(.*)$", section, flags=re.MULTILINE)
    described = {name: re.findall(r"`([\w.]+)`", cells) for name, cells in rows}
    assert list(described) == list(OPTIONS)
    assert {
        name: [word for word in OPTIONS[name].words if word not in described[name]]
        for name in OPTIONS
    } == {name: [] for name in OPTIONS}


def test_the_guide_describes_every_rule_for_a_row():
    section = (
        GUIDES["ndcg_spark/guides/REFERENCE.md"]
        .partition("## Input contract")[2]
        .partition("\n## ")[0]
    )
    assert [code for code in RULES if f"`{code}`" not in section] == []


@pytest.mark.slow
@pytest.mark.classic
def test_the_views_of_the_nights_show_what_counts_in_duckdb_and_in_spark(tmp_path, session):
    check = {"runs": ["hybrid"], "cutoff": 10, "max_drop": 0.01}
    days = [datetime.date(2026, 11, 16), datetime.date(2026, 11, 17)]
    nights = [(days[0], {}), (days[0], {}), (days[1], {"worse": 5, "regraded": 3})]
    made = [
        settings(
            tmp_path, str(day), **files, cutoffs=[10], gate={"check": [check]}, engine="embedded"
        )
        for day, files in nights
    ]
    _, again, worse = evaluated(
        tmp_path, *({**night, "accepted": "good"} for night in made[:2]), made[2]
    )
    known_loss = {"reason": "repaired", "until": "2026-12-01"}
    for said in (
        {"accepted": "by mistake"},
        {"withdrawn": ["acceptance"], "accepted": None, "is_baseline": False},
    ):
        revise(committed(str(tmp_path / "out"))[-1], **said)
    revise(committed(str(tmp_path / "out"))[-1], acknowledged=known_loss)
    half = tmp_path / f"out/query_scores/evaluated_on={days[0]}/evaluation_id=killed"
    (half / "_temporary/0").mkdir(parents=True)
    for name in ("a.parquet#1", "_temporary/0/b.parquet"):
        (half / name).write_bytes(b"PAR1")
    of_duckdb, of_spark, queries = (
        [
            sql.strip().removesuffix(";")
            for sql in re.split(r";\n", block.replace("OUTPUT", str(tmp_path / "out")))
        ]
        for block in re.findall(
            r"```sql\n(.*?)\n```", GUIDES["ndcg_spark/guides/RECIPES.md"], re.DOTALL
        )
    )
    with duckdb.connect() as connection:
        for view in of_duckdb:
            connection.execute(view)
        verdicts, trend, lost = (connection.execute(query).fetchall() for query in queries)
        good = connection.execute(
            "SELECT is_baseline FROM evaluations ORDER BY evaluated_on"
        ).fetchall()
    assert good == [(True,), (False,)]
    assert [row[1:3] for row in verdicts] == [
        (days[1], worse["verdict"]),
        (days[0], again["verdict"]),
    ]
    assert [row[4] for row in verdicts] == [None, "good"]
    assert [row[5] and json.loads(row[5]) for row in verdicts] == [known_loss, None]
    points = [(row[1], row[2], row[4]) for row in trend]
    assert points == [(run, day, 60) for run in ("bm25", "hybrid") for day in days]
    assert ("hybrid", "q4", days[1]) in [row[1:4] for row in lost]
    assert all(difference < 0 for *_, difference in lost)
    for view in of_spark:
        session.sql(view)
    kept = "accepted, acknowledged, is_baseline FROM evaluations ORDER BY evaluated_on"
    of_each = session.sql(f"SELECT {kept}").collect()
    assert [(row[0], row[1] is None, row[2]) for row in of_each] == [
        ("good", True, True),
        (None, False, False),
    ]
    rows = session.sql(
        queries[1].replace("GROUP BY ALL", "GROUP BY dataset, run, evaluated_on")
    ).collect()
    assert [(row[1], str(row[2]), row[4]) for row in rows] == [
        (run, str(day), 60) for run, day, _ in points
    ]
    assert [row[3] for row in rows] == pytest.approx([row[3] for row in trend])
