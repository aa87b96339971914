"""The command line as a person or a scheduler meets it: what it prints, where, and how it exits."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sessions
from commands import command_line
from kept_nights import night as kept_night
from servers import QUICK_JAVA

from ndcg_spark import __version__
from ndcg_spark.cli import app as cli
from ndcg_spark.convention.presets import PRESETS

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
QRELS = "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n"
RUN = "q1 Q0 a 1 3.0 bm25\nq1 Q0 b 2 2.5 bm25\nq2 Q0 c 1 1.0 bm25\n"


def ndcg_spark(*arguments, cwd=ROOT):
    return command_line(*arguments, cwd=cwd, COLUMNS="100", NO_COLOR="1")


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qrels.txt").write_text(QRELS, encoding="utf-8")
    (tmp_path / "run.txt").write_text(RUN, encoding="utf-8")
    return tmp_path


def evaluate(folder, *arguments, judgments="qrels.txt", results="run.txt"):
    return ndcg_spark(
        "evaluate", "--engine", "embedded", "--judgments", judgments, "--results", results, *arguments, cwd=folder
    )


@pytest.mark.parametrize(
    ("arguments", "golden"),
    [([], "help.txt"), *(([command], f"{command}-help.txt") for command in ("evaluate", "compare", "gate"))],
)
def test_help_is_as_it_was_agreed(arguments, golden):
    assert ndcg_spark(*arguments, "--help").stdout == (GOLDEN / golden).read_text(encoding="utf-8")


def test_without_any_argument_the_help_is_shown():
    done = ndcg_spark()
    assert (done.returncode, done.stderr.split()[:2]) == (2, ["Usage:", "ndcg-spark"])


def test_help_imports_neither_spark_nor_pandas_nor_pyarrow():
    slow = "pyspark", "pandas", "pyarrow", "pydantic", "numpy"
    program = f"import sys, ndcg_spark.cli.app; print([name for name in {slow} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


@pytest.mark.parametrize("command", ["nights", "trend"])
def test_what_reads_published_scores_does_not_wait_for_pandas_or_for_a_dataset_of_every_file(tmp_path, command):
    kept_night(tmp_path, 0, {"a": 0.5})
    program = """
import sys
from ndcg_spark.__main__ import main
try:
    main()
finally:
    print([name for name in ("pandas", "pyarrow.dataset") if name in sys.modules], file=sys.stderr)
"""
    done = subprocess.run(
        [sys.executable, "-c", program, command, str(tmp_path)], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stderr.strip()) == (0, "[]")


@pytest.mark.slow
def test_an_evaluation_without_a_gate_imports_no_statistics(folder):
    program = """
import sys
from ndcg_spark.cli.app import main
try:
    main(["evaluate", "qrels.txt", "run.txt", "--engine", "embedded", "--format", "json"])
except SystemExit as ended:
    print([name for name in sys.modules if name == "ndcg_spark.comparison.statistics"], ended.code, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=folder, capture_output=True, text=True, check=True)
    assert done.stderr.splitlines()[-1] == "[] 0"


def test_an_evaluation_prints_its_table_on_stdout_and_its_steps_on_stderr(folder):
    done = evaluate(folder, "--cutoffs", "1,all")
    assert done.returncode == 0
    assert done.stdout.splitlines()[0].split() == [
        *("run", "ndcg@1", "std", "error", "ndcg@all", "queries"),
        *("missing", "no", "relevant", "unjudged", "judged", "rate"),
    ]
    assert done.stdout.splitlines()[1].split() == ["bm25", "1.0000", "0.0000", "1.0000", "2", "0", "0", "0", "1.0000"]
    # The grade 2 is worth a note, as nobody chose a convention.
    assert [line.split()[0] for line in done.stderr.splitlines()] == ["engine", "read", "read", "note"]
    assert "3 judgments of 2 queries" in done.stderr


def test_json_is_one_object_with_the_rows_of_dataset_scores(folder):
    done = evaluate(folder, "--cutoffs", "3", "--format", "json", "--dataset", "tiny", "--date", "2026-11-20")
    found = json.loads(done.stdout)
    row = found["dataset_scores"][0]
    assert (row["dataset"], row["evaluated_on"], row["run"], row["cutoff"]) == ("tiny", "2026-11-20", "bm25", 3)
    assert (row["ndcg"], row["queries"], row["evaluation_id"]) == (1.0, 2, found["evaluation_id"])
    assert found["counts"]["results"] == 3
    assert {"convention", "rejected", "output", "seconds"} <= found.keys()


def test_output_keeps_both_tables_and_the_log_by_date(folder):
    done = evaluate(folder, "--output", "out/{date}", "--date", "2026-11-20", "--dataset", "tiny", "--cutoffs", "1,3")
    assert done.returncode == 0, done.stderr
    rows = {
        name: pq.read_table(folder / "out/2026-11-20" / name / "evaluated_on=2026-11-20").num_rows
        for name in ("query_scores", "dataset_scores", "evaluations")
    }
    assert rows == {"query_scores": 1 * 2 * 2, "dataset_scores": 1 * 2, "evaluations": 1}


def test_two_runs_and_a_configuration_file_give_a_row_each(folder):
    (folder / "other.txt").write_text(RUN.replace("bm25", "dense"), encoding="utf-8")
    (folder / "c.toml").write_text('results.path = ["run.txt", "other.txt"]\njudgments.path = "qrels.txt"\n', "utf-8")
    done = ndcg_spark("evaluate", "--config", "c.toml", "--engine", "embedded", "--format", "json", cwd=folder)
    assert {row["run"] for row in json.loads(done.stdout)["dataset_scores"]} == {"bm25", "dense"}


def test_run_names_the_run_whatever_the_file_says(folder):
    rows = json.loads(evaluate(folder, "--run", "mine", "--format", "json").stdout)["dataset_scores"]
    assert {row["run"] for row in rows} == {"mine"}


def without_utf8(*arguments, **how):
    """The program under a locale that has no more than ASCII, as cron's."""
    return subprocess.run(
        [sys.executable, "-m", "ndcg_spark", *arguments],
        env={**os.environ, "PYTHONPATH": str(ROOT), "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        text=True,
        check=False,
        **how,
    )


@pytest.mark.slow
def test_a_name_that_is_not_ascii_is_printed_under_any_locale_and_a_full_stdout_is_told_with_what_stands(folder):
    (folder / "run.txt").write_text(RUN.replace("bm25", "système"), encoding="utf-8")
    arguments = ["evaluate", "--engine", "embedded", "--judgments", "qrels.txt", "--results", "run.txt"]
    done = without_utf8(*arguments, "--cutoffs", "1", cwd=folder, capture_output=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[1].split()[:2] == [r"syst\xe8me", "1.0000"]
    with Path("/dev/full").open("w", encoding="ascii") as full:
        more = ("--run", "naïve", "--output", "out")
        done = without_utf8(*arguments, *more, cwd=folder, stdout=full, stderr=subprocess.PIPE)
    assert done.returncode == 4
    (file,) = (folder / "out" / "dataset_scores").rglob("*.parquet")
    assert set(pq.ParquetFile(file).read()["run"].to_pylist()) == {"naïve"}
    assert "No space left on device" in done.stderr.splitlines()[-1]
    assert "Traceback" not in done.stderr


def in_a_shell(command):
    """The command in bash, where $nobody is a pipe that nobody reads any more."""
    reading, writing = os.pipe()
    os.close(reading)
    try:
        return subprocess.run(
            ["bash", "-c", command],
            cwd=ROOT,
            env={**os.environ, "nobody": str(writing)},
            pass_fds=[writing],
            capture_output=True,
            text=True,
            check=False,
        )
    finally:
        os.close(writing)


FULL = "stdout: the results could not be printed, [Errno 28] No space left on device"


@pytest.mark.parametrize(
    ("arguments", "where", "code", "said"),
    [
        ("conventions", ">/dev/full", 4, FULL),
        ("conventions", ">&-", 4, "stdout: it is closed"),
        ("conventions", ">&- 2>&-", 4, ""),
        ("conventions", ">&$nobody", 141, ""),
        ("conventions", "2>/dev/full", 0, ""),
        ("evaluate --help", ">/dev/full", 4, FULL),
        ("--help", ">&-", 0, ""),
    ],
)
def test_streams_that_take_nothing_end_the_program_by_a_code_and_not_by_a_traceback(arguments, where, code, said):
    done = in_a_shell(f"{sys.executable} -m ndcg_spark {arguments} {where}")
    assert done.returncode == code
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == bool(said)


def test_an_argument_that_is_no_utf_8_is_refused_by_one_line():
    command = f"{sys.executable} -m ndcg_spark nights $'o\\xff'"
    done = subprocess.run(["bash", "-c", command], cwd=ROOT, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (2, "ndcg-spark: arguments: 'o\\udcff' is not UTF-8; rename it\n")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["conventions", "trec_eval", "--compare", "q", "r"], "not only trec_eval; give one of them"),
        (["conventions", "--cutoffs", "5"], "are for comparisons; add --compare"),
        (["conventions", "--format", "csv"], "are for comparisons; add --compare"),
        (["conventions", "trec_eval", "--engine", "spark"], "are for comparisons; add --compare"),
        (
            ["evaluate", "--judgments", "q", "--results", "r", "--junit", "g.xml"],
            "--junit needs a [gate] in the configuration",
        ),
        (
            ["evaluate", "--judgments", "q", "--results", "r", "--accept-baseline", "x"],
            "--accept-baseline needs a gate",
        ),
        (["check", "--judgments", "q", "--results", "r", "--format", "csv"], "choose table or json"),
        (["evaluate", "--judgments", "q", "--results", "r", "--format", "cvs"], "did you mean 'csv'?"),
        (
            ["evaluate", "--judgments", "q", "--results", "r", "--format", "latex", "--per-query"],
            "prints table, json, csv, not latex",
        ),
        (["evaluate", "--judgments", "q", "--results", "r", "--sort", "ndgc"], "did you mean 'ndcg'?"),
        (["evaluate", "--judgments", "q", "--results", "r", "--sort", "ndcg@7"], "the cutoffs are 1, 3, 5, 10"),
        (["evaluate", "--judgments", "q", "--results", "r", "--sort", "run:up"], "write run:asc or run:desc"),
    ],
)
def test_an_option_that_would_be_ignored_is_refused(capsys, monkeypatch, arguments, words):
    monkeypatch.setattr("warnings.filters", [])
    with pytest.raises(SystemExit) as ended:
        cli.main(arguments)
    assert ended.value.code == 2
    assert words in capsys.readouterr().err


def test_no_secret_of_a_path_is_printed(folder):
    done = evaluate(folder, results="s3://KEY:SECRET@bucket/run.txt?secret_key=HIDDEN")
    assert done.returncode == 3
    assert "s3://***@bucket/run.txt?secret_key=***" in done.stderr
    assert not {"KEY", "SECRET", "HIDDEN"} & set(done.stderr.replace(":", " ").replace("=", " ").split())
    assert "HIDDEN" not in done.stderr


def failure(capsys, *arguments):
    """The exit code of the program called as a function, what it printed, and what it said."""
    with pytest.raises(SystemExit) as ended:
        cli.main([*arguments])
    printed = capsys.readouterr()
    return ended.value.code, printed.out, printed.err


@pytest.mark.parametrize("wish", [["--format", "json"], ["--format=json"]])
@pytest.mark.parametrize(
    ("arguments", "code", "exit_code", "words"),
    [
        (["--convention", "trec"], "configuration", 2, "unknown preset 'trec'"),
        (["--no-such-option"], "configuration", 2, "No such option '--no-such-option'"),
        (["--results", "nowhere.txt"], "missing_input", 3, "no such path, nowhere.txt"),
        (["--engine", "spark", "--remote", "sc://nowhere.invalid:1;x"], "engine", 4, "engine: "),
    ],
)
def test_a_refusal_is_json_on_stdout_too_where_json_is_asked_for(
    capsys, monkeypatch, folder, wish, arguments, code, exit_code, words
):
    monkeypatch.setattr("warnings.filters", [])
    monkeypatch.chdir(folder)
    if exit_code == 3:
        pytest.importorskip("pysail")
        done = ndcg_spark("evaluate", "--engine", "embedded", "--judgments", "qrels.txt", *arguments, *wish, cwd=folder)
        ended, printed, said = done.returncode, done.stdout, done.stderr
    else:
        paths = ["--judgments", "qrels.txt", "--results", "run.txt"]
        ended, printed, said = failure(capsys, "evaluate", *paths, *arguments, *wish)
    found = json.loads(printed)["error"]
    assert (ended, found["exit_code"], found["code"]) == (exit_code, exit_code, code)
    assert words in found["message"]
    assert words in said


def write_parquet(path, **columns):
    pq.write_table(pa.table({"run": ["r", "r"], "query_id": ["q1", "q2"], "doc_id": ["a", "c"], **columns}), path)


def damaged_parquet(folder):
    write_parquet(folder / "whole.parquet", score=[2.0, 1.0])
    content = bytearray((folder / "whole.parquet").read_bytes())
    content[60:160] = bytes(100)
    (folder / "d.parquet").write_bytes(content)
    return "d.parquet"


def test_a_parquet_file_whose_footer_alone_is_whole_is_told_with_the_failure_of_the_engine(folder):
    done = evaluate(folder, results=damaged_parquet(folder))
    assert done.returncode == 4
    assert re.search(r"or a file is damaged, .*/d\.parquet", done.stderr)


def test_a_score_of_the_wrong_type_is_refused(folder):
    write_parquet(folder / "b.parquet", score=[True, False])
    done = evaluate(folder, results="b.parquet")
    assert (done.returncode, "score is boolean" in done.stderr) == (3, True)


@pytest.mark.parametrize(
    ("table", "line", "reason"),
    [
        ("results", "q2 Q0 x 3", "1 line(s) that are not rows, e.g. q2 Q0 x 3"),
        ("results", "q2 Q0 c 3 0.5 bm25", "1 document(s) returned twice for one query"),
        ("judgments", "q1 0 z 2000", "1 grade(s) without a finite gain: too large for it, or not in its table"),
        ("judgments", "q1 0 a 2", "1 document(s) judged twice for one query, e.g. query_id=q1 doc_id=a"),
    ],
)
def test_bad_rows_are_refused_with_a_reason_and_exit_code_3(folder, table, line, reason):
    (folder / "bad.txt").write_text((QRELS if table == "judgments" else RUN) + f"{line}\n", encoding="utf-8")
    done = evaluate(folder, "--output", "out", **{table: "bad.txt"})
    assert (done.returncode, done.stdout) == (3, "")
    assert reason in done.stderr
    assert not list(folder.glob("out/*/*/*/*.parquet"))


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["--convention", "treceval"], "did you mean 'trec_eval'?"),
        (["--set", "tie=rank"], "unknown option tie (did you mean 'ties'?)"),
        (["--engine", "embeded"], "engine: "),
        (["--run-from", "colum"], "results.run_from: "),
        (["--column", "docid=x"], "did you mean 'doc_id'?"),
        (["--column", "resluts.doc_id=x"], "did you mean 'results'?"),
        (["--cutoffs", "0"], "invalid cutoff 0"),
        (["--date", "2026-13-01", "--engine", "flink"], "2 problem(s)"),
        (["--set", "gain=python:no.such.function"], "cannot be imported"),
        (["--no-such-option"], "No such option"),
    ],
)
def test_wrong_arguments_are_told_with_exit_code_2(folder, arguments, reason):
    done = ndcg_spark("evaluate", "--judgments", "qrels.txt", "--results", "run.txt", *arguments, cwd=folder)
    assert (done.returncode, done.stdout) == (2, "")
    assert reason in done.stderr


def test_an_output_that_cannot_be_written_ends_with_exit_code_4(folder):
    done = evaluate(folder, "--output", "run.txt/out")
    assert (done.returncode, done.stdout) == (4, "")
    assert "output: " in done.stderr


def test_conventions_lists_the_presets_and_shows_the_options_of_one():
    listed = ndcg_spark("conventions").stdout
    shown = ndcg_spark("conventions", "trec_eval_9").stdout
    assert {"standard", "trec_eval", "pytrec_eval"} <= {line.split()[0] for line in listed.splitlines() if line}
    assert "score_precision" in shown
    assert "float32" in shown
    assert ndcg_spark("conventions", "nothing").returncode == 2


@pytest.mark.spark
def test_spark_submit_ends_with_the_exit_code_of_the_job(folder):
    submit = Path(sys.executable).with_name("spark-submit")
    done = subprocess.run(
        [submit, "--master", "local[1]", ROOT / "jobs/evaluate.py", "--judgments", "no.txt", "--results", "run.txt"],
        cwd=folder,
        env=sessions.environment(**QUICK_JAVA, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 3
    assert "no such path, no.txt" in done.stdout


@pytest.mark.slow
def test_the_guide_shows_the_tiny_case_under_every_preset_as_the_program_prints_it():
    tiny = ["tests/golden/tiny.qrels", "tests/golden/tiny.run"]
    done = ndcg_spark("conventions", "--compare", *tiny, "--cutoffs", "3", "--engine", "embedded")
    assert done.returncode == 0, done.stderr
    table = "\n".join(line.rstrip() for line in done.stdout.strip().splitlines())
    assert len(table.splitlines()) == 1 + len(PRESETS)
    assert table in (ROOT / "ndcg_spark" / "REFERENCE.md").read_text(encoding="utf-8")
    shown = (ROOT / "README.md").read_text(encoding="utf-8").partition("tiny.run --cutoffs 3\n")[2].partition("```")[0]
    assert len(shown.splitlines()) > 2
    assert set(shown.splitlines()) <= set(table.splitlines())


@pytest.mark.slow
def test_a_comparison_says_which_presets_refuse_the_data_and_which_lack_ranks(folder):
    (folder / "negative.txt").write_text(QRELS + "q1 0 z -1\n", encoding="utf-8")
    write_parquet(folder / "unranked.parquet", score=[2.0, 1.0])
    paths = ("negative.txt", "unranked.parquet")
    done = ndcg_spark("conventions", "--compare", *paths, "--engine", "embedded", cwd=folder)
    assert "lightgbm ties=doc_id_asc" in done.stdout
    assert "retrieved_list refuses: results: no column rank" in done.stdout
    assert "sklearn refuses: judgments: 1 negative grade(s)" in done.stdout


def test_data_that_every_preset_refuses_ends_with_exit_code_3(folder):
    done = ndcg_spark("conventions", "--compare", "qrels.txt", "nowhere.txt", "--engine", "embedded", cwd=folder)
    assert (done.returncode, done.stdout) == (3, "")


def test_check_holds_the_input_to_the_contract_and_counts_it(folder):
    arguments = ["--judgments", "qrels.txt", "--results", "run.txt", "--engine", "embedded", "--format", "json"]
    done = ndcg_spark("check", *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    counts = {"judgments": 3, "judged_queries": 2, "results": 3, "runs": 1, "unjudged_queries": 0}
    found = json.loads(done.stdout)
    assert counts.items() <= found["counts"].items()
    assert (found["rejected"], [row["judged_rate"] for row in found["judged_rate"]]) == ([], [1.0])


def test_check_finds_a_duplicate_that_an_evaluation_need_not_look_for(folder):
    deep = RUN + "".join(f"q1 Q0 deep{place} {place} -{place} bm25\n" for place in (3, 4, 5, 4))
    (folder / "deep.txt").write_text(deep, encoding="utf-8")
    assert evaluate(folder, "--cutoffs", "1", results="deep.txt").returncode == 0
    paths = ["--judgments", "qrels.txt", "--results", "deep.txt", "--engine", "embedded"]
    done = ndcg_spark("check", *paths, cwd=folder)
    assert (done.returncode, done.stdout) == (3, "")
    assert "results: 1 document(s) returned twice for one query, e.g. run=bm25 query_id=q1 doc_id=deep4" in done.stderr
    assert ndcg_spark("check", *paths, "--set", "duplicates=best", cwd=folder).returncode == 0


def test_nights_are_listed_and_expired(folder):
    evaluate(folder, "--output", "out", "--date", "2020-01-01", "--dataset", "tiny")
    listed = ndcg_spark("nights", "out", cwd=folder).stdout.splitlines()
    assert listed[0].split()[:8] == ["dataset", "date", "verdict", "best", "run", "measure", "best", "runs"]
    assert listed[1].split()[:9] == ["tiny", "2020-01-01", "-", "bm25", "ndcg@10", "1.0000", "1", "2", "standard"]
    rows = list(csv.DictReader(ndcg_spark("nights", "out", "--format", "csv", cwd=folder).stdout.splitlines()))
    assert [(row["run"], row["cutoff"], row["ndcg"]) for row in rows] == [
        ("bm25", k, "1.0") for k in ("1", "3", "5", "10")
    ]
    night, *others = json.loads(ndcg_spark("nights", "out", "--format", "json", cwd=folder).stdout)
    assert (others, [row["cutoff"] for row in night["dataset_scores"]]) == ([], [1, 3, 5, 10])
    dry = ndcg_spark("expire", "out", "--keep-days", "30", "--dry-run", cwd=folder)
    assert (dry.returncode, dry.stdout) == (0, "would remove the nights of 2020-01-01\n")
    assert ndcg_spark("nights", "out", cwd=folder).stdout.splitlines() == listed
    assert ndcg_spark("expire", "out", "--keep-days", "30", cwd=folder).stdout == "removed the nights of 2020-01-01\n"
    assert ndcg_spark("nights", "out", "--format", "json", cwd=folder).stdout == "[]\n"


def test_a_column_that_is_missing_is_told_with_all_that_the_file_has(folder):
    (folder / "r.csv").write_text("question,run,document,score\nq1,a,d,1\n", encoding="utf-8")
    done = evaluate(folder, results="r.csv")
    assert done.returncode == 3
    assert "2 column(s) missing, query_id, doc_id; it has question, run, document, score; map names" in done.stderr


def test_the_version_is_that_of_the_package():
    assert ndcg_spark("--version").stdout == f"ndcg-spark {__version__}\n"
