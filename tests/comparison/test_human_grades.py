"""Samples of published nights: what is drawn, what a file must be, and what its grades correct."""

import csv
import io
import json
import math
import subprocess
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from commands import command_line
from kept_nights import date
from page_nights import DEPTH, GRADES, lists_of, night

import ndcg_spark
from ndcg_spark.comparison.corrected import MEASURE
from ndcg_spark.comparison.human_grades import HumanGrades, estimate, sample_to_grade
from ndcg_spark.comparison.human_sample import drawn_documents
from ndcg_spark.comparison.moved_in_nights import moved_documents_of
from ndcg_spark.comparison.sample_file import read_sample
from ndcg_spark.errors import ConfigurationError, InputError
from ndcg_spark.nights.copies import keep_judgments, read_copy
from ndcg_spark.nights.log import committed
from ndcg_spark.nights.reader import read_rows

QUERIES = 40
BETTER = {"one": 0.8, "two": 0.6}


def kept_night(output, number, lists=None, **more):
    """A night that keeps its documents."""
    options = {"gain": "linear", **more.pop("options", {})}
    configuration = {"documents": "all", "cutoffs": [DEPTH], **more.pop("configuration", {})}
    own = lists_of(BETTER, QUERIES) if lists is None else lists
    night(output, number, own, options=options, configuration=configuration, **more)


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """Two nights: in the second, one has lost relevant documents of a third of the queries."""
    output = tmp_path_factory.mktemp("human") / "nights"
    kept_night(output, 0)
    kept_night(output, 1, lists_of(BETTER, QUERIES, lost={"one": QUERIES}, seed=1))
    return output


def drawn(output, documents=20, seed=7, **chosen):
    asked = {"run": "one", "baseline_date": date(0), **chosen}
    return sample_to_grade(str(output), documents, seed, **asked)


def filled(sample, grade=1, *, show_grades=False):
    """The text of a sample in which people gave one grade to all documents, or one by document."""
    header, _, rows = sample.text(show_grades).partition("query_id,")
    lines = list(csv.DictReader(io.StringIO(f"query_id,{rows}")))
    for line in lines:
        line["grade"] = grade(line["query_id"], line["doc_id"]) if callable(grade) else grade
    text = io.StringIO()
    writer = csv.DictWriter(text, lines[0], lineterminator="\n")
    writer.writeheader()
    writer.writerows(lines)
    return header + text.getvalue()


def saved(folder, text):
    file = folder / "sample.csv"
    file.write_text(text, encoding="utf-8")
    return file


def estimated(output, file, **more):
    return estimate(committed(str(output)), HumanGrades(file, **more))


def ndcg_of(output, number, run, judged_by=None):
    chosen = committed(str(output))[number]
    rows = read_rows([chosen], "query_scores", where={"run": [run]}).to_pylist()
    return {row["query_id"]: row["ndcg"] for row in rows}


def test_the_judges_difference_is_that_of_the_published_scores(nights):
    for chosen in ({}, {"baseline_date": None, "baseline": "two"}, {"baseline": "two"}):
        sample = drawn(nights, **chosen)
        other = 0 if chosen.get("baseline_date", date(0)) else 1
        after = ndcg_of(nights, 1, "one")
        before = ndcg_of(nights, other, sample.pair.baseline)
        moved = sample.moved
        differences = moved.sums(moved.weight * moved.gain)
        expected = [after[query] - before[query] for query in moved.queries]
        assert differences == pytest.approx(np.array(expected), abs=1e-12)
        assert moved.baseline == pytest.approx(np.array([before[q] for q in moved.queries]))
        assert len(moved.queries) == QUERIES


def test_a_sample_is_always_the_same_and_a_larger_one_contains_it(nights):
    sample = drawn(nights)
    assert drawn(nights).text() == sample.text()
    assert set(sample.documents) < set(drawn(nights, 60).documents)
    assert drawn(nights, seed=8).documents != sample.documents
    assert sample.documents == sorted(sample.documents)


def test_over_many_seeds_documents_are_drawn_as_often_as_their_pi_says(nights):
    seeds = range(200)
    sample = drawn(nights)
    pi = sample.pi
    found = [drawn_documents(sample.moved, pi, "shop", seed) for seed in seeds]
    assert found[7].tolist() == sample.drawn.tolist()
    shares = np.mean(found, axis=0)
    off = (shares - pi) / np.sqrt(np.maximum(pi * (1 - pi), 1e-9) / len(seeds))
    assert abs(off.mean()) < 0.3
    assert np.abs(off).max() < 5
    assert pi.sum() == pytest.approx(20)


def test_a_file_records_what_it_was_drawn_for_and_shows_grades_only_if_asked(nights, tmp_path):
    sample = drawn(nights)
    header = read_sample(saved(tmp_path, filled(sample))).header
    first, second = committed(str(nights))
    assert header["evaluation"] == second.evaluation_id
    assert header["baseline_evaluation"] == first.evaluation_id
    recorded = [header[name] for name in ("run", "measure", "cutoff", "documents", "seed")]
    assert recorded == ["one", "ndcg", DEPTH, 20, 7]
    assert header["convention"] == "standard"
    assert "machine_grade" not in sample.text()
    shown = sample.frame(show_grades=True)
    for (_, document), grade in zip(sample.documents, shown["machine_grade"], strict=True):
        expected = "unjudged" if document in ("x0", "x1") else f"{GRADES.get(document, 0):g}"
        assert grade == expected


def test_people_who_agree_with_the_judge_change_nothing(nights, tmp_path):
    sample = drawn(nights)
    agree = filled(sample, lambda _, document: GRADES.get(document, 0))
    found = estimated(nights, saved(tmp_path, agree)).corrected
    assert found.difference == pytest.approx(found.machine)
    assert found.errors == 0
    assert found.flags == ["few_errors"]
    mean = np.mean(list(ndcg_of(nights, 1, "one").values()))
    before = np.mean(list(ndcg_of(nights, 0, "one").values()))
    assert found.machine == pytest.approx(mean - before)
    assert found.baseline_mean == pytest.approx(before)


def test_where_all_are_graded_the_difference_is_that_by_people_at_the_judges_ideal(
    nights, tmp_path
):
    sample = drawn(nights, 10_000)
    assert len(sample.documents) == len(sample.moved)
    people = filled(sample, lambda query, document: (len(document) + int(query[-1])) % 4)
    found = estimated(nights, saved(tmp_path, people))
    gains = [(len(document) + int(query[-1])) % 4 for query, document in sample.documents]
    expected = np.sum(sample.moved.weight * np.array(gains, float)) / QUERIES
    assert found.corrected.difference == pytest.approx(expected)
    assert found.conclusion in ("better", "worse")


def test_a_spreadsheet_may_write_the_file_in_its_own_way(nights, tmp_path):
    sample = drawn(nights)
    text = filled(sample, 2)
    expected = estimated(nights, saved(tmp_path, text)).corrected
    rows = list(csv.reader(io.StringIO(text)))
    other = io.StringIO()
    writer = csv.writer(other, delimiter=";")
    for row in rows:
        # Padded to one width, with decimal commas and a note; every other line is empty.
        cells = [cell.replace(".", ",") if len(row) > 2 else cell for cell in row]
        writer.writerows([[*cells, *[""] * (5 - len(cells))], [""] * 5])
    file = tmp_path / "excel.csv"
    saved_text = other.getvalue().replace("grade;", "grade;note", 1).replace(date(1), "02.01.2026")
    file.write_text("\ufeff" + saved_text, encoding="utf-8")
    assert estimated(nights, file).corrected == expected
    in_python = ndcg_spark.compare(nights, human=file, full=True)
    assert in_python["difference"].iloc[1] == expected.difference


def changed_file(sample, change):
    """The rows of a graded sample after a change."""
    header, _, rows = filled(sample).partition("query_id,")
    lines = rows.splitlines()
    change(lines)
    return f"{header}query_id," + "\n".join(lines) + "\n"


def set_cell(lines, at, column, value):
    cells = lines[at].split(",")
    cells[column] = value
    lines[at] = ",".join(cells)


REFUSED = {
    "blank": (lambda lines: set_cell(lines, 3, 3, ""), "no grade"),
    "all blank": (
        lambda lines: [set_cell(lines, at, 3, "") for at in range(1, len(lines))],
        "no row",
    ),
    "no number": (lambda lines: set_cell(lines, 3, 3, "good"), "unknown grade"),
    "too high": (lambda lines: set_cell(lines, 3, 3, "11"), "0 to 3"),
    "too low": (lambda lines: set_cell(lines, 3, 3, "-1"), "0 to 3"),
    "infinite": (lambda lines: set_cell(lines, 3, 3, "inf"), "unknown grade"),
    "edited pi": (lambda lines: set_cell(lines, 3, 2, "0.9999"), "different pi"),
    "no pi": (lambda lines: set_cell(lines, 3, 2, ""), "different pi"),
    "duplicate": (lambda lines: lines.append(lines[2]), "twice"),
    "missing": (lambda lines: lines.pop(2), "missing"),
    "added": (lambda lines: lines.append("q0001,d99,0.5,1"), "not drawn"),
    "other id": (lambda lines: set_cell(lines, 3, 1, "1"), "not drawn"),
    "lost column": (lambda lines: set_cell(lines, 0, 1, "probability"), "column pi"),
}


@pytest.mark.parametrize("kind", REFUSED)
def test_a_file_that_was_changed_is_refused(nights, tmp_path, kind):
    change, said = REFUSED[kind]
    file = saved(tmp_path, changed_file(drawn(nights), change))
    with pytest.raises(InputError, match=said) as refused:
        estimated(nights, file)
    assert str(file) in str(refused.value)


def test_blank_grades_are_listed_and_count_only_if_they_are_missing_at_random(nights, tmp_path):
    sample = drawn(nights, 60)
    few = sample.documents[:2]
    text = filled(sample, lambda *document: "" if document in few else 1)
    file = saved(tmp_path, text)
    with pytest.raises(InputError) as refused:
        estimated(nights, file)
    for query, document in few:
        assert f"{document} for query {query}" in str(refused.value)
    found = estimated(nights, file, assume_missing_at_random=True).corrected
    assert found.drawn - found.graded == 2
    assert "missing_grades" in found.flags


@pytest.mark.parametrize(
    "key",
    [
        "documents",
        "seed",
        "cutoff",
        "evaluation",
        "baseline_evaluation",
        "run",
        "errors",
        "convention",
        "measure",
    ],
)
def test_first_lines_that_were_changed_are_refused(nights, tmp_path, key):
    lines = filled(drawn(nights)).splitlines()
    other = {
        "documents": "21",
        "seed": "8",
        "cutoff": "5",
        "errors": '"{""0"": 2.0, ""1"": 1.0}"',
        "run": "two",
    }
    at = next(at for at, line in enumerate(lines) if line.startswith(f"# {key},"))
    lines[at] = f"# {key},{other.get(key, 'other')}"
    with pytest.raises((InputError, ConfigurationError)):
        estimated(nights, saved(tmp_path, "\n".join(lines)))
    del lines[at]
    with pytest.raises(InputError, match="not a sample"):
        estimated(nights, saved(tmp_path, "\n".join(lines)))


def test_what_is_no_sample_is_refused(nights, tmp_path):
    for text in (
        "",
        "query_id,doc_id\nq1,d1\n",
        "query_id,doc_id,pi,grade\nq1,d1,0.5,1\n",
        "\udcff",
    ):
        file = tmp_path / "other.csv"
        file.write_text(text, encoding="utf-8", errors="surrogateescape")
        with pytest.raises(InputError, match="human"):
            estimated(nights, file)
    with pytest.raises(InputError, match="cannot be read"):
        estimated(nights, tmp_path / "absent.csv")


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"ties": "average"}, "order"),
        ({"ties": "best"}, "order"),
        ({"unjudged": "drop"}, "on a list"),
        ({"negative": "drop"}, "on a list"),
        ({"ideal": "retrieved"}, "ideal"),
        ({"ideal": "retrieved_at_k"}, "ideal"),
        ({"ideal": "judged_capped"}, "ideal"),
        ({"gain": "judged"}, "grades"),
    ],
)
def test_conventions_in_which_grades_decide_more_than_gains_are_refused(tmp_path, options, said):
    for number in range(2):
        kept_night(tmp_path, number, options=options)
    with pytest.raises(ConfigurationError, match=said):
        drawn(tmp_path)


def test_nights_that_keep_no_whole_lists_are_refused(tmp_path):
    kept_night(tmp_path, 0)
    kept_night(tmp_path, 1, configuration={"documents": 5})
    with pytest.raises(ConfigurationError, match="documents=all"):
        drawn(tmp_path)
    kept_night(tmp_path, 2, configuration={"cutoffs": [5]})
    with pytest.raises(ConfigurationError, match="no scores at 5"):
        drawn(tmp_path, cutoff=5, date=date(2))


def test_what_is_compared_must_be_clear(nights, tmp_path):
    for chosen in (
        {"run": None},
        {"run": "other"},
        {"baseline_date": date(1)},
        {"baseline": "other"},
        {"baseline_date": None},
        {"date": date(9)},
    ):
        with pytest.raises(ConfigurationError):
            drawn(nights, **chosen)
    same = lists_of(BETTER, 5)
    for number in range(2):
        kept_night(tmp_path, number, same)
    with pytest.raises(ConfigurationError, match="no document moved"):
        drawn(tmp_path)


def test_a_night_that_was_evaluated_again_has_no_sample_any_more(tmp_path):
    output = tmp_path / "nights"
    kept_night(output, 0)
    lists = lists_of(BETTER, QUERIES, lost={"one": QUERIES})
    kept_night(output, 1, lists)
    file = saved(tmp_path, filled(drawn(output)))
    estimated(output, file)
    kept_night(output, 1, lists, evaluation_id="e999")
    with pytest.raises(ConfigurationError, match="again or removed"):
        estimated(output, file)


def test_where_judgments_have_changed_both_nights_have_the_grades_of_tonight(tmp_path):
    kept_night(tmp_path, 0, unjudged=DEPTH)
    lists = lists_of(BETTER, QUERIES, lost={"one": QUERIES})
    kept_night(tmp_path, 1, lists, judgments="j2")
    with pytest.raises(ConfigurationError, match="did not keep its judgments"):
        drawn(tmp_path)
    tonight = committed(str(tmp_path))[1]
    grades = {**GRADES, **{f"x{at}": 0.0 for at in range(2, DEPTH)}}
    rows = [
        (f"q{number:04}", document, grade)
        for number in range(QUERIES)
        for document, grade in grades.items()
    ]
    judgments = pd.DataFrame(rows, columns=["query_id", "doc_id", "relevance"])
    keep_judgments(
        tonight.store, tonight.dataset, "j2", pa.Table.from_pandas(judgments, preserve_index=False)
    )
    moved = moved_documents_of(drawn(tmp_path).pair)
    for document, grade in zip(moved.doc_ids, moved.grade, strict=True):
        assert grade == grades[document] if document in grades else math.isnan(grade)


def test_queries_without_an_ideal_and_those_of_one_side_are_counted_and_left_out(tmp_path):
    lists = lists_of({"one": 0.8}, QUERIES)
    kept_night(
        tmp_path,
        0,
        {"one": {query: listed for query, listed in lists["one"].items() if query != "q0003"}},
    )
    kept_night(tmp_path, 1, lists_of({"one": 0.6}, QUERIES, seed=1))
    moved = drawn(tmp_path).moved
    assert (len(moved.queries), moved.unpaired, moved.without_ideal) == (QUERIES - 1, 1, 0)
    assert "q0003" not in moved.queries


def test_a_sample_is_continued_with_its_seed_and_with_another_drawn_by_its_errors(nights, tmp_path):
    few = drawn(nights)
    file = saved(tmp_path, filled(few, lambda _, document: GRADES.get(document, 2)))
    more = drawn(nights, 60, human=[file])
    assert more.header["errors"] == {}
    grades = dict(zip(more.documents, more.frame()["grade"], strict=True))
    assert {document for document, grade in grades.items() if grade} == set(few.documents)
    other = drawn(nights, 60, seed=8, human=[file])
    errors = other.header["errors"]
    # People gave 2 to what the judge gave 0, and agreed about the rest.
    assert errors["0"] > 1 > errors["1"] > 0
    text = filled(other, lambda *document: 1)
    assert estimated(nights, saved(tmp_path, text)).corrected.graded == len(other.documents)
    saved(tmp_path, filled(few))
    with pytest.raises(ConfigurationError, match="different seed"):
        drawn(nights, 60, baseline="two", human=[file])


def test_of_several_samples_the_one_that_is_refused_is_named(nights, tmp_path):
    good, bad = tmp_path / "good.csv", tmp_path / "bad.csv"
    few = drawn(nights)
    good.write_text(filled(few), encoding="utf-8")
    rows = filled(few).splitlines(keepends=True)
    refused = {
        "unknown grade": (filled(few, 99), 8),
        "lost row": ("".join(rows[:-1]), 8),
        "no header": ("query_id,doc_id,grade\n", 8),
        "another sample": (filled(drawn(nights, baseline="two")), 7),
    }
    for text, seed in refused.values():
        bad.write_text(text, encoding="utf-8")
        with pytest.raises((ConfigurationError, InputError), match=r"human \(.*bad\.csv\)"):
            drawn(nights, 60, seed=seed, human=[good, bad])


# As commands and in Python.


def test_the_commands_draw_estimate_and_refuse(nights, tmp_path):
    baseline = ("--baseline-date", date(0), "--run", "one")
    printed = command_line(
        "judge-next", nights, *baseline, "--sample", 20, "--seed", 7, cwd=tmp_path
    )
    assert printed.stdout == drawn(nights).text()
    file = saved(tmp_path, filled(drawn(nights), lambda _, document: 3 - GRADES.get(document, 0)))
    compare = ("compare", nights, *baseline, "--human", file)
    done = command_line(*compare, "--format", "json", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    human = json.loads(done.stdout)["human"]
    expected = estimated(nights, file)
    assert human["difference"] == pytest.approx(expected.corrected.difference)
    assert human["these_queries"]["conclusion"] == expected.conclusion
    rows = list(
        csv.DictReader(io.StringIO(command_line(*compare, "--format", "csv", cwd=tmp_path).stdout))
    )
    assert [row["measure"] for row in rows] == ["ndcg", MEASURE]
    assert float(rows[1]["difference"]) == human["difference"]
    assert rows[1]["mean"] == ""
    table = command_line(*compare, cwd=tmp_path).stdout
    assert "judge's ideal" in table
    refused = {
        ("compare", nights, "--baseline-date", date(0), "--run", "two", "--human", file): 3,
        ("compare", nights, "--baseline", "two", "--human", file): 3,
        ("compare", nights, *baseline, "--assume-missing-at-random"): 2,
        ("compare", nights, *baseline, "--human", file, "--over-datasets"): 2,
        ("judge-next", nights, *baseline, "--show-grades"): 2,
        ("judge-next", nights, *baseline, "--sample", 5, "--format", "json"): 2,
        ("judge-next", nights, *baseline, "--sample", 5, "--cutoffs", "1,3"): 2,
        ("judge-next", "qrels.txt", "a.run", "--sample", 5): 2,
        ("report", nights, "--site", tmp_path / "site", "--human", file): 2,
        ("report", nights, "--date", date(0), "--html", tmp_path / "a.html", "--human", file): 3,
    }
    for words, code in refused.items():
        assert command_line(*words, cwd=tmp_path).returncode == code, words


def test_in_python_a_sample_is_a_table_that_compare_takes(nights, tmp_path):
    asked = {"run": "one", "baseline_date": date(0), "sample": 20, "seed": 7}
    table = ndcg_spark.judge_next(nights, **asked, file=tmp_path / "sample.csv")
    assert (tmp_path / "sample.csv").read_text(encoding="utf-8") == drawn(nights).text()
    table["grade"] = 1
    compared = ndcg_spark.compare(nights, human=table, full=True)
    assert compared["measure"].tolist() == ["ndcg", MEASURE]
    file = saved(tmp_path, filled(drawn(nights)))
    again = ndcg_spark.compare(nights, human=file, full=True)
    assert again.attrs["human"]["difference"] == compared["difference"].iloc[1]
    shown = ndcg_spark.compare(nights, human=file)
    assert shown["measure"].tolist() == ["ndcg", MEASURE]
    with pytest.raises(InputError, match="attrs"):
        ndcg_spark.compare(nights, human=pd.DataFrame(table.to_dict("list")))
    refused = [{"baseline": "two"}, {"query_scores": pd.DataFrame()}, {"over_datasets": True}]
    for arguments in refused:
        with pytest.raises(ConfigurationError):
            ndcg_spark.compare(**{"query_scores": nights, "human": file, **arguments})
    with pytest.raises(ConfigurationError):
        ndcg_spark.compare(pd.DataFrame({"run": ["a"], "query_id": ["q"], "ndcg": [0.5]}))
    listed = ndcg_spark.judge_next(nights, run="one")
    assert set(listed["doc_id"]) <= {"x0", "x1"}
    with pytest.raises(ConfigurationError):
        ndcg_spark.judge_next(nights, run="one", show_grades=True)


# Of evaluated nights.


def evaluated(folder, number, grades, lists):
    """A night that is evaluated, from grades by query and document, and documents by query."""
    qrels = [f"{query} 0 {document} {grade}\n" for (query, document), grade in grades.items()]
    run = []
    for query, listed in lists.items():
        run += [
            f"{query} Q0 {document} {rank} {-rank} one\n" for rank, document in enumerate(listed, 1)
        ]
    (folder / f"{number}.qrels").write_text("".join(qrels), encoding="utf-8")
    (folder / f"{number}.run").write_text("".join(run), encoding="utf-8")
    tables = (f"{number}.qrels", f"{number}.run")
    options = ("--cutoffs", "2,3", "--documents", "all", "--output", "out", "--date", date(number))
    done = command_line("evaluate", *tables, *options, cwd=folder)
    assert done.returncode == 0, done.stderr


def test_of_evaluated_nights_the_judges_difference_is_that_of_ndcg(tmp_path):
    grades = {}
    for at in range(12):
        for document in "abcde":
            grades[f"q{at}", document] = (at + ord(document)) % 4
    # A query without an ideal, and documents that nobody judges.
    grades |= {("q10", document): 0 for document in "abcde"}
    old = {f"q{at}": ["xabcd", "badce", "ecabd"][at % 3] for at in range(12)}
    new = {f"q{at}": ["axbcd", "abdec", "ceabd"][at % 3] for at in range(11)}
    evaluated(tmp_path, 0, grades, old)
    evaluated(tmp_path, 1, grades, new)
    sample = drawn(tmp_path / "out", cutoff=3)
    assert (len(sample.moved.queries), sample.moved.without_ideal) == (11, 1)
    assert sample.moved.unpaired == 0
    moved = sample.moved
    rows = []
    for one in committed(str(tmp_path / "out")):
        scores = read_rows([one], "query_scores", where={"cutoff": [3]}).to_pylist()
        rows.append({row["query_id"]: row["ndcg"] for row in scores})
    differences = moved.sums(moved.weight * moved.gain)
    expected = [rows[1][query] - rows[0][query] for query in moved.queries]
    assert differences == pytest.approx(np.array(expected), abs=1e-12)


def test_of_nights_with_other_judgments_it_is_that_under_the_grades_of_tonight(tmp_path):
    before, after = {}, {}
    for at in range(12):
        for document in "abcde":
            before[f"q{at}", document] = (at + ord(document)) % 4
            after[f"q{at}", document] = (2 * at + ord(document)) % 4
    old = {f"q{at}": ["xabcd", "badce", "ecabd"][at % 3] for at in range(12)}
    new = {f"q{at}": ["axbcd", "abdec", "ceabd"][at % 3] for at in range(12)}
    evaluated(tmp_path, 0, before, old)
    evaluated(tmp_path, 1, after, new)
    done = command_line("rescore", "out", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    first, second = committed(str(tmp_path / "out"))
    fingerprint = second.row["judgments_fingerprint"]
    copied = read_copy(first, fingerprint).to_pylist()
    theirs = {row["query_id"]: row["ndcg"] for row in copied if row["cutoff"] == 3}
    scores = read_rows([second], "query_scores", where={"cutoff": [3]}).to_pylist()
    ours = {row["query_id"]: row["ndcg"] for row in scores}
    moved = drawn(tmp_path / "out", cutoff=3).moved
    differences = moved.sums(moved.weight * moved.gain)
    expected = [ours[query] - theirs[query] for query in moved.queries]
    assert differences == pytest.approx(np.array(expected), abs=1e-12)
    assert len(moved.queries) == 12


def test_no_engine_is_needed(nights):
    program = """if True:
        import sys, ndcg_spark
        output, night = sys.argv[1:]
        sample = ndcg_spark.judge_next(output, run="one", baseline_date=night, sample=20)
        assert len(ndcg_spark.compare(output, human=sample.assign(grade=1))) == 2
        assert not {"pyspark", "pysail"} & {*sys.modules}
    """
    words = [sys.executable, "-c", program, str(nights), date(0)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
