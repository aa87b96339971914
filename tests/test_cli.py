"""The command line as a person or a scheduler meets it: what it prints, where, and how it exits."""

import csv
import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from commands import command_line
from kept_nights import night as kept_night
from servers import QUICK_JAVA

from ndcg_spark import __version__
from ndcg_spark.__main__ import _print_traceback
from ndcg_spark.cli.shared_options import load_arguments
from ndcg_spark.convention.presets import PRESETS

ROOT = Path(__file__).parents[1]
GOLDEN = ROOT / "tests" / "golden"
QRELS = "q1 0 a 2\nq1 0 b 0\nq2 0 c 1\n"
RUN = "q1 Q0 a 1 3.0 bm25\nq1 Q0 b 2 2.5 bm25\nq2 Q0 c 1 1.0 bm25\n"
FILES = {
    "qrels.txt": QRELS,
    "run.txt": RUN,
    "negative.txt": QRELS + "q1 0 z -1\n",
    "twice.qrels": QRELS + "q1 0 a 2\n",
    "broken.txt": RUN + "q2 Q0 x 3\n",
    "twice.txt": RUN + "q2 Q0 c 3 0.5 bm25\n",
    "two.txt": RUN + RUN.replace("bm25", "dense") + "q3 Q0 c 1 1.0 bm25\n",
    "slices.csv": "qid,language\nq1,de,en\n",
    "gate.toml": "[[gate.check]]\ncutoff = 3\nmax_drop = 0.1\n",
    "typos.toml": 'measures = []\n[gate]\nalpha = true\nbaseline = "gud"\n'
    "[[gate.check]]\ncutof = 3\nmax_drp = 1\nsensitivity = 2\n",
    "deep.txt": RUN + "".join(f"q1 Q0 deep{rank} {rank} -{rank} bm25\n" for rank in (3, 4, 5, 4)),
}


def ndcg_spark(*arguments, cwd=ROOT):
    return command_line(*arguments, cwd=cwd, COLUMNS="100", NO_COLOR="1")


@pytest.fixture
def folder(tmp_path):
    for name, text in FILES.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def evaluate(folder, *arguments, results="run.txt"):
    return ndcg_spark(
        "evaluate", "qrels.txt", results, "--engine", "embedded", *arguments, cwd=folder
    )


def started(*words, cwd=ROOT, descriptors=(), **settings):
    """A process with these variables of the environment."""
    env = {**os.environ, "PYTHONPATH": str(ROOT), **settings}
    return subprocess.run(
        words,
        cwd=cwd,
        env=env,
        pass_fds=descriptors,
        capture_output=True,
        encoding="utf-8",
        check=False,
    )


def agreed(name, text):
    """Whether this is the text of a golden file; UPDATE_GOLDEN=1 writes it."""
    if os.environ.get("UPDATE_GOLDEN"):
        (GOLDEN / name).write_text(text, encoding="utf-8")
    return text == (GOLDEN / name).read_text(encoding="utf-8")


@pytest.mark.parametrize("command", ["", "evaluate", "compare", "gate"])
def test_help(command):
    assert agreed(f"{command}-help.txt".lstrip("-"), ndcg_spark(*command.split(), "--help").stdout)
    if not command:
        assert ndcg_spark().returncode == 2


def test_errors(folder, monkeypatch):
    """Every line of errors.txt that begins with $ is a command; its exit code and the last line of stderr follow."""
    monkeypatch.delenv("NOWHERE", raising=False)
    kept, lines = (
        ("--output", "kept", "--date", "2026-11-20", "--documents", "all", "--cutoffs", "1,3"),
        [],
    )
    assert evaluate(folder, *kept, results="two.txt").returncode == 0
    kept_night(folder / "one", 0, {"a": 0.5})
    for line in (GOLDEN / "errors.txt").read_text(encoding="utf-8").splitlines():
        if line.startswith("$ "):
            done = ndcg_spark(*shlex.split(line)[2:], cwd=folder)
            assert (done.stdout, list(folder.glob("out/*"))) == ("", []), line
            said = done.stderr.splitlines()[-1].replace(str(folder), "FOLDER")
            lines += [line, f"{done.returncode} {said}"]
            assert not {"SECRET", "HIDDEN"} & {*said.replace("=", ":").replace("@", ":").split(":")}
    assert agreed("errors.txt", "\n".join(lines) + "\n")


def test_check_ends_well_where_no_returned_document_is_judged(folder):
    (folder / "other.txt").write_text("q1 Q0 nowhere 1 2.5 r\n", encoding="utf-8")
    done = ndcg_spark("check", "qrels.txt", "other.txt", "--format", "json", cwd=folder)
    assert (done.returncode, json.loads(done.stdout)["judged_rate"][0]["judged_rate"]) == (0, 0)


@pytest.mark.parametrize("wish", [["--format", "json"], ["--format=json"]])
@pytest.mark.parametrize(
    ("arguments", "code", "exit_code"),
    [
        (["--convention", "trec"], "configuration", 2),
        (["--no-such-option"], "configuration", 2),
        (["nowhere.txt"], "missing_input", 3),
        (["--output", "run.txt/out"], "storage", 4),
    ],
)
def test_errors_are_json_on_stdout_where_json_is_asked_for(
    folder, wish, arguments, code, exit_code
):
    done = evaluate(folder, *arguments, *wish)
    error = json.loads(done.stdout)["error"]
    assert (done.returncode, error["exit_code"], error["code"]) == (exit_code, exit_code, code)
    assert error["message"] in done.stderr


def test_help_imports_neither_spark_nor_pandas_nor_pyarrow():
    slow = "pyspark", "pandas", "pyarrow", "pydantic", "numpy"
    code = (
        f"import sys, ndcg_spark.__main__; print([name for name in {slow} if name in sys.modules])"
    )
    assert started(sys.executable, "-c", code).stdout == "[]\n"


#: Commands, and the modules that none of them has imported by its end.
WITHOUT = {
    "nights out": ["pandas", "pyarrow.dataset", "pydantic"],
    "trend out": ["pandas", "pyarrow.dataset", "scipy"],
    "trend changed": ["scipy", "pyspark"],
    "evaluate qrels.txt run.txt --slices slices.csv --engine embedded": ["scipy"],
}


@pytest.mark.slow
def test_commands_do_not_wait_for_modules_that_they_do_not_need(folder):
    # One after the other in one process, as what one has imported is there for the next ones, too.
    kept_night(folder / "out", 0, {"a": 0.5})
    (folder / "slices.csv").write_text("query_id,language\nq1,en\n", encoding="utf-8")
    for number, judgments in enumerate(("j1", "j2")):
        kept_night(folder / "changed", number, {"a": 0.5}, judgments=judgments)
    code = "import sys\nfrom ndcg_spark.__main__ import main\n"
    for arguments, slow in WITHOUT.items():
        code += f"try: main({arguments.split()})\nexcept SystemExit as end:\n"
        imported = f"[name for name in {slow} if name in sys.modules]"
        code += f"    print('ended', end.code, {imported})\n"
    done = started(sys.executable, "-c", code, cwd=folder)
    told = [line for line in done.stdout.splitlines() if line.startswith("ended")]
    assert told == ["ended 0 []"] * len(WITHOUT), done.stderr


def test_the_table_is_on_stdout_and_the_steps_are_on_stderr(folder):
    done = evaluate(folder, "--cutoffs", "1,all")
    heading, row, *_ = done.stdout.splitlines()
    columns = "run ndcg@1 std error ndcg@all queries missing no relevant unjudged judged rate"
    assert (done.returncode, heading.split()) == (0, columns.split())
    assert row.split() == ["bm25", "1.0000", "0.0000", "1.0000", "2", "0", "0", "0", "1.0000"]
    assert [line.split()[0] for line in done.stderr.splitlines()] == ["engine", "read", "read"]


def test_a_configuration_file_and_an_output_by_date(folder):
    (folder / "other.txt").write_text(RUN.replace("bm25", "dense"), encoding="utf-8")
    (folder / "c.toml").write_text(
        'results.path = ["run.txt", "other.txt"]\njudgments = "qrels.txt"\n', "utf-8"
    )
    arguments = (
        "--config",
        "c.toml",
        "--output",
        "out/{date}",
        "--date",
        "2026-11-20",
        "--cutoffs",
        "1,3",
    )
    done = ndcg_spark("evaluate", *arguments, cwd=folder)
    assert done.returncode == 0, done.stderr
    names = ("query_scores", "dataset_scores", "evaluations")
    tables = [
        pq.read_table(folder / "out/2026-11-20" / name / "evaluated_on=2026-11-20")
        for name in names
    ]
    assert [table.num_rows for table in tables] == [2 * 2 * 2, 2 * 2, 1]
    assert set(tables[1]["run"].to_pylist()) == {"bm25", "dense"}


def test_nights_are_listed_and_expired(folder):
    def run(*arguments):
        return command_line(*arguments, cwd=folder, HERE=str(folder / "there"), COLUMNS="100")

    arguments = ("qrels.txt", "run.txt", "--dataset", "tiny", "--date", "2020-01-01")
    evaluated = run("evaluate", *arguments, "--output", "$HERE/out")
    assert evaluated.returncode == 0, evaluated.stderr
    cells = run("nights", "$HERE/out").stdout.splitlines()[1].split()
    assert {"2020-01-01", "bm25", "ndcg@10", "1.0000", "standard"} <= {*cells}
    rows = list(csv.DictReader(run("nights", "$HERE/out", "--format", "csv").stdout.splitlines()))
    expected = [("bm25", k, "1.0") for k in ("1", "3", "5", "10")]
    assert [(row["run"], row["cutoff"], row["ndcg"]) for row in rows] == expected
    (night,) = json.loads(run("nights", "$HERE/out", "--format", "json").stdout)
    assert (night["dataset"], [row["cutoff"] for row in night["dataset_scores"]]) == (
        "tiny",
        [1, 3, 5, 10],
    )
    dry = run("expire", "$HERE/out", "--keep-days", "30", "--dry-run")
    assert (dry.returncode, dry.stdout) == (0, "would remove the nights of 2020-01-01\n")
    assert run("expire", "$HERE/out", "--date", "2020-01-02").stdout == "nothing to remove\n"
    assert (
        run("expire", "$HERE/out", "--date", "2020-01-01").stdout
        == "removed the nights of 2020-01-01\n"
    )
    assert run("nights", "$HERE/out").returncode == 2


def test_arguments_become_a_configuration():
    paths = {"paths": ("q", "a", "b"), "exclude": ("s", "t"), "judgments": (), "results": ()}
    columns = {"column": ("query_id=a=b", "results.doc_id=docno", "relevance=g")}
    config = load_arguments(
        {**paths, **columns, "as_of": ("results=12",), "set": ("ties=average",), "run": "r"}
    )
    assert (config.judgments.path, config.results.path, config.exclude.path) == (
        ["q"],
        ["a", "b"],
        ["s", "t"],
    )
    assert config.judgments.columns == {"query_id": "a=b", "relevance": "g"}
    assert config.results.columns == {"query_id": "a=b", "doc_id": "docno"}
    assert config.exclude.columns == {"query_id": "a=b"}
    # A command that needs no results has none to map.
    alone = load_arguments({"judgments": ("q",), "column": ("doc_id=url",)}, needs_inputs=False)
    assert (alone.judgments.columns, alone.results) == ({"doc_id": "url"}, None)
    assert (config.results.as_of, config.results.run, config.convention.ties) == (
        12,
        "r",
        "average",
    )


@pytest.mark.slow
def test_names_are_utf_8_in_any_locale(folder):
    locale = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}
    (folder / "rün.txt").write_text(RUN.replace("bm25", "système"), encoding="utf-8")
    words = ["evaluate", "qrels.txt", "rün.txt", "--dataset", "é", "--output", "öut"]
    words += ["--engine", "embedded"]
    done = started(sys.executable, "-m", "ndcg_spark", *words, cwd=folder, **locale)
    assert (done.returncode, "système" in done.stdout) == (0, True), done.stderr
    (night,) = json.loads(ndcg_spark("nights", "öut", "--format", "json", cwd=folder).stdout)
    assert (night["dataset"], night["dataset_scores"][0]["run"]) == ("é", "système")


FULL = "stdout: [Errno 28] No space left on device"


@pytest.mark.parametrize(
    ("arguments", "where", "code", "said"),
    [
        ("conventions", ">/dev/full", 4, FULL),
        ("conventions", ">&-", 4, "stdout: it is closed"),
        ("conventions", ">&- 2>&-", 4, ""),
        ("conventions", ">&$nobody", 141, ""),
        ("conventions", "2>/dev/full", 0, ""),
        ("--help", ">&-", 0, ""),
        ("nights $'o\\xff'", "", 2, "is not UTF-8"),
    ],
)
def test_streams_that_take_nothing_end_the_program_by_a_code(arguments, where, code, said):
    reading, writing = os.pipe()
    os.close(reading)
    command = f"{sys.executable} -m ndcg_spark {arguments} {where}"
    try:
        done = started("bash", "-c", command, descriptors=[writing], nobody=str(writing))
    finally:
        os.close(writing)
    assert done.returncode == code
    assert said in done.stderr
    assert len(done.stderr.splitlines()) == bool(said)


@pytest.mark.spark
def test_spark_submit_ends_with_the_exit_code_of_the_job(folder):
    words = [
        Path(sys.executable).with_name("spark-submit"),
        "--master",
        "local[1]",
        ROOT / "jobs/evaluate.py",
    ]
    settings = {**QUICK_JAVA, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"}
    with pytest.MonkeyPatch.context() as patch:
        patch.delenv("SPARK_CONNECT_MODE_ENABLED", raising=False)
        # It is refused before a session is started, which would take as long again.
        done = started(*words, "qrels.txt", "run.txt", "--cutoffs", "zero", cwd=folder, **settings)
    assert (done.returncode, "zero" in done.stdout) == (2, True), done.stderr


@pytest.mark.slow
def test_the_readme_shows_the_tiny_case_under_presets_as_the_program_prints_it(
    monkeypatch, thorough
):
    shown = (
        (ROOT / "README.md")
        .read_text(encoding="utf-8")
        .partition("tiny.run --cutoffs 3\n")[2]
        .partition("```")[0]
        .splitlines()
    )
    presets = {line.split()[0] for line in shown} & {*PRESETS}
    assert len(presets) > 2
    if not thorough:
        few = {name: preset for name, preset in PRESETS.items() if name in presets}
        monkeypatch.setattr("ndcg_spark.job.compare_inputs.PRESETS", few)
    tiny = ["tests/golden/tiny.qrels", "tests/golden/tiny.run"]
    done = ndcg_spark("conventions", "--compare", *tiny, "--cutoffs", "3", "--engine", "embedded")
    assert done.returncode == 0, done.stderr
    printed = [line.split() for line in done.stdout.splitlines()]
    # The first column is as wide as the longest name.
    assert [line.split() for line in shown if line.split() not in printed] == []


@pytest.mark.slow
@pytest.mark.usefixtures("few_presets")
def test_a_comparison_says_which_presets_refuse_the_data_and_which_lack_ranks(folder):
    # The columns have names of their own, in a configuration and beside it.
    (folder / "unranked.csv").write_text("q,d,how_good\nq1,a,2\nq2,c,1\n", encoding="utf-8")
    (folder / "odd.toml").write_text(
        'output = "out"\n[results]\npath = "no"\ncolumns.score = "how_good"\n'
        '[gate]\n[[gate.check]]\ncutoff = 2\nmeasure = "precision"\nmax_drop = 0.1\n',
        encoding="utf-8",
    )
    columns = ("--column", "results.query_id=q", "--column", "results.doc_id=d", "--run", "my_run")
    paths = ("negative.txt", "unranked.csv")
    asked = ("--config", "odd.toml", "--engine", "embedded", *columns)
    asked += ("--measures", "P(rel=2)@2 Bpref(rel=2)")
    done = ndcg_spark("conventions", "--compare", *paths, *asked, cwd=folder)
    assert not (folder / "out").exists()
    rows = {
        " ".join(line[:2]): line[2:4]
        for line in map(str.split, done.stdout.splitlines())
        if "refuses:" not in line
    }
    # Only q1 has a document of grade 2, at rank 1. What averages ties has no bpref.
    scores = [
        rows[f"{preset} relevant_from=2"] for preset in ("standard", "pytrec_eval", "torchmetrics")
    ]
    assert scores == [["0.5000", "1.0000"], ["0.2500", "0.5000"], ["-", "-"]]
    assert done.stdout.startswith("default / my_run\n")
    assert "lightgbm ties=doc_id_asc" in done.stdout
    assert "retrieved_list relevant_from=2 refuses: results: no column rank" in done.stdout
    assert "sklearn relevant_from=2 refuses: judgments: 1 negative grade(s)" in done.stdout
    # Its advice is said as options.
    assert "--max-rejected-fraction" in done.stdout
    assert "torchmetrics relevant_from=2 refuses: measures: bpref" in done.stdout
    assert ("scored   standard" in done.stderr, "scored   torchmetrics" in done.stderr) == (
        True,
        False,
    )


@pytest.mark.slow
@pytest.mark.usefixtures("few_presets")
def test_what_presets_refuse_is_set_or_allowed_for_all_of_them_and_what_they_leave_out_is_told(
    folder,
):
    (folder / "from0.txt").write_text(RUN.replace("b 2", "b 0"), encoding="utf-8")
    (folder / "exclude.csv").write_text("query_id,doc_id\nq1,a\n", encoding="utf-8")
    allowed = (
        "--set",
        "negative=as_unjudged",
        "--max-rejected-fraction",
        "0.5",
        "--exclude",
        "exclude.csv",
    )
    asked = ("--engine", "embedded", "--cutoffs", "2", *allowed, "--format", "json")
    done = ndcg_spark("conventions", "--compare", "negative.txt", "from0.txt", *asked, cwd=folder)
    scored = {entry["preset"]: entry for entry in json.loads(done.stdout)}
    standard, ranked = scored["standard"], scored["retrieved_list"]
    assert "sklearn negative=as_unjudged" in scored
    assert not any("negative grade(s)" in (entry["refused"] or "") for entry in scored.values())
    # Of q1 and q2, only q2 still has its relevant document.
    assert (standard["rows"][0]["ndcg"], standard["rejected"]) == (1 / 2, [])
    assert [(entry["reason"], entry["rows"]) for entry in ranked["rejected"]] == [
        ("rank_is_no_rank", 1)
    ]
    assert "rejected retrieved_list: 1 rows of results: 1 rank(s)" in done.stderr
    done = ndcg_spark(
        "conventions", "--compare", "negative.txt", "run.txt", "--set", "negative=odd", cwd=folder
    )
    assert done.returncode == 2


def test_the_version_is_that_of_the_package():
    assert ndcg_spark("--version").stdout == f"ndcg-spark {__version__}\n"


def test_wrong_arguments_and_bugs_are_shown_without_their_secrets(folder, capsys):
    done = ndcg_spark("nights", "out", "s3://KEY:HIDDEN@bucket/x", cwd=folder)
    assert (done.returncode, "s3://***@bucket" in done.stderr, "HIDDEN" in done.stderr) == (
        2,
        True,
        False,
    )
    error = OSError("https://hooks.slack.com/services/HIDDEN failed")
    _print_traceback(OSError, error, None)
    shown = capsys.readouterr().err
    assert ("OSError: https://hooks.slack.com/***" in shown, "HIDDEN" in shown) == (True, False)


@pytest.mark.parametrize(
    "options",
    [
        ["--convention", "beir", "--set", "preset=trec_eval"],
        ["--set", "preset=trec_eval"],
        ["--set", "gain=exp2", "--set", "gain=linear"],
        ["--column", "doc_id=3", "--column", "doc_id=1"],
        ["--column", "results.doc_id=3", "--column", "results.doc_id=1"],
        ["--as-of", "results=1", "--as-of", "results=2"],
        ["--split-ids", "results=blank", "--split-ids", "results=comma"],
        ["--grades", "a=1", "--grades", "a=2"],
        ["--measures", "RBP(p=0.5)", "--set", "rbp_persistence=0.8"],
    ],
    ids=" ".join,
)
def test_what_is_set_twice_is_refused(folder, options):
    done = evaluate(folder, *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert options[-1].partition("=")[2].rpartition("=")[0] in done.stderr


def test_the_same_said_twice_is_said_once(folder):
    options = ["--set", "gain=linear", "--measures", "nDCG@3 RBP(p=0.5)"]
    same = ["--set", "gain=linear", "--set", "rbp_persistence=0.50"]
    assert evaluate(folder, *options, *same).stdout == evaluate(folder, *options).stdout


def test_a_column_of_one_table_counts_more_than_that_of_all(folder):
    for texts in (["doc_id=docno", "results.doc_id=item"], ["results.doc_id=item", "doc_id=docno"]):
        given = {"judgments": ("j.csv",), "results": ("r.csv",), "column": texts}
        config = load_arguments(given)
        assert config.judgments.columns == {"doc_id": "docno"}
        assert config.results.columns == {"doc_id": "item"}


FORMATS = ["table", "json", "csv", "markdown", "latex"]
OF_FILES = "qrels.txt pair.txt"
#: Commands that take a format, each with the formats that it prints.
PRINTED = {
    f"evaluate {OF_FILES}": FORMATS,
    f"evaluate {OF_FILES} --per-query": FORMATS[:3],
    f"evaluate {OF_FILES} --baseline dense": FORMATS,
    "evaluate qrels.txt pair-{date}.txt --from 2026-11-19 --to 2026-11-20 --output range": FORMATS,
    f"check {OF_FILES}": FORMATS[:2],
    "conventions": FORMATS[:1],
    "conventions beir": FORMATS[:1],
    f"conventions --like scores.csv {OF_FILES}": FORMATS,
    f"judge-next {OF_FILES}": FORMATS,
    "judge-next nights": FORMATS,
    "judgments qrels.txt qrels.txt": FORMATS,
    "compare-lists pair.txt pair.txt --baseline dense": FORMATS,
    "describe pair.txt": FORMATS,
    f"explain {OF_FILES} --query q1": ["table", "json", "markdown"],
    "explain nights --query q1": ["table", "json", "markdown"],
    "compare nights --baseline dense": FORMATS,
    "compare nights --baseline-date 2026-11-19": FORMATS,
    "gate nights --config gate.toml": FORMATS,
    "gate nights --config gate.toml --rehearse": FORMATS,
    "nights nights": FORMATS,
    "nights nights --all": FORMATS,
    "nights nights --acknowledged": FORMATS,
    "nights nights --slices slices.csv": FORMATS,
    "trend nights": FORMATS,
}


@pytest.fixture(scope="module")
def printed(tmp_path_factory):
    """A folder with files of two runs, and their published nights."""
    folder = tmp_path_factory.mktemp("printed")
    dense = RUN.replace("bm25", "dense").replace("a 1 3.0", "x 1 3.0")
    for name, text in {**FILES, "pair.txt": RUN + dense}.items():
        (folder / name).write_text(text, encoding="utf-8")
    (folder / "slices.csv").write_text("query_id,language\nq1,de\nq2,en\n", encoding="utf-8")
    scores = "query_id,run,score\nq1,bm25,1.0\nq2,bm25,1.0\nq1,dense,0.0\nq2,dense,1.0\n"
    (folder / "scores.csv").write_text(scores, encoding="utf-8")
    for date in ("2026-11-19", "2026-11-20"):
        (folder / f"pair-{date}.txt").write_text(RUN + dense, encoding="utf-8")
        options = ["--output", "nights", "--documents", "all", "--date", date]
        assert evaluate(folder, *options, results="pair.txt").returncode == 0
    return folder


@pytest.mark.slow
@pytest.mark.parametrize("words", PRINTED)
def test_a_format_that_is_accepted_is_printed(printed, words):
    texts = {}
    # What evaluates each time is asked for two of its formats, as one function prints the others.
    asked = FORMATS[1:3] if "qrels.txt" in words else FORMATS
    for name in [*asked, *FORMATS[len(PRINTED[words]) :]]:
        done = ndcg_spark(*words.split(), "--format", name, cwd=printed)
        if name not in PRINTED[words]:
            assert done.returncode == 2, name
            continue
        assert done.returncode in (0, 5, 6), done.stderr
        texts[name] = done.stdout
    assert len(set(texts.values())) == len(texts) > 0
    if "json" in texts:
        lines = texts["json"].splitlines() if "--per-query" in words else [texts["json"]]
        assert [json.loads(line) for line in lines]
    if "csv" in texts:
        rows = list(csv.reader(texts["csv"].splitlines()))
        assert len({len(row) for row in rows}) == 1
