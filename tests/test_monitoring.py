"""What other programs are told of an evaluation; their failures are warnings."""

import datetime
import json
import re
import sys
from dataclasses import replace

import gates
import kept_nights
import pytest
import sliced_nights
from commands import command_line
from evaluations import configuration
from logged import logged_steps

from ndcg_spark.convention.parsing import parse_measure_set
from ndcg_spark.errors import ConfigurationError, EngineError, InputError
from ndcg_spark.gate.slices import SliceLoss, named_slices
from ndcg_spark.job.evaluate_inputs import EvaluationOutcome
from ndcg_spark.monitoring.hook import after_evaluation, notify, notify_failure
from ndcg_spark.monitoring.metrics import (
    NightMetrics,
    mark_accepted,
    metrics_of_night,
    metrics_of_outcome,
    prometheus_text,
)
from ndcg_spark.nights.commit import log_attempt
from ndcg_spark.nights.log import append, committed, log_row, revise
from ndcg_spark.nights.store import Store

DATE = datetime.date(2026, 11, 20)
#: A sample in Prometheus' text format: the name, the labels and the value.
SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\S+)')
FAILED = [gates.verdict(gates.result("fail", "dropped"))]
KNOWN = {"on": "2026-11-18", "reason": "new index", "until": "2026-12-02"}
ACCEPTED = replace(FAILED[0], dataset="shop", verdict="none", accepted="why", exit_code=0)


def scores(run="bm25", cutoff=10, ndcg=0.5, **more):
    row = {
        "dataset": "web",
        "evaluated_on": DATE,
        "run": run,
        "cutoff": cutoff,
        "ndcg": ndcg,
        "precision": None,
    }
    return {**row, "queries": 3, "judged_rate": 0.75, **more}


def outcome(*rows, verdicts=(), measures=()):
    which = ("id", "trec_eval", "gain", "embedded")
    asked = parse_measure_set(measures)
    return EvaluationOutcome(
        *which, [*rows] or [scores()], {}, [], None, {"total": 2.5}, asked, verdicts
    )


def content(ended, dataset="web"):
    """The text of a dataset's metrics file."""
    return prometheus_text(metrics_of_outcome(ended, dataset))


def samples(text):
    """The values by name and labels."""
    values = [SAMPLE.fullmatch(line) for line in text.split("\n")[:-1] if not line.startswith("#")]
    assert all(values)
    return {(one[1].removeprefix("ndcg_spark_"), one[2]): float(one[3]) for one in values}


def test_metrics(monkeypatch):
    monkeypatch.setattr("time.time", lambda: 1000.5)
    rows = [
        scores(precision=0.4),
        scores("dense", None, 0.25),
        scores("empty", ndcg=None, judged_rate=None, queries=0),
    ]
    rows.append(scores(dataset="shop"))
    ended = outcome(*rows, measures=["precision@10"], verdicts=[*FAILED, ACCEPTED])
    web, shop = (samples(content(ended, dataset)) for dataset in ("web", "shop"))
    assert web["score", 'dataset="web",run="bm25",cutoff="10",measure="ndcg"'] == 0.5
    assert web["score", 'dataset="web",run="bm25",cutoff="10",measure="precision"'] == 0.4
    assert web["score", 'dataset="web",run="dense",cutoff="all",measure="ndcg"'] == 0.25
    assert web["judged_rate", 'dataset="web",run="bm25",cutoff="10"'] == 0.75
    assert web["last_success_timestamp_seconds", 'dataset="web"'] == 1000.5
    assert (
        web["evaluated_on_timestamp_seconds", 'dataset="web"']
        == (DATE - datetime.date(1970, 1, 1)).days * 86400
    )
    assert web["duration_seconds", 'dataset="web"'] == 2.5
    assert (web["verdict", 'dataset="web"'], shop["verdict", 'dataset="shop"']) == (1, 0)
    assert web["acknowledged", 'dataset="web"'] == 0
    known = replace(FAILED[0], acknowledged=KNOWN, exit_code=0)
    acknowledged = samples(content(outcome(verdicts=[known])))
    # It fails all the same.
    assert [acknowledged[name, 'dataset="web"'] for name in ("verdict", "acknowledged")] == [1, 1]
    assert [name for name, labels in web if "empty" in labels] == ["queries"]
    assert [labels for _, labels in web if "shop" in labels] == []


#: Only a backslash, a quote and the end of a line have an escape; all else stands for itself.
ODD = [
    'a"b\\c\nd',
    "a\tb",
    "\\n",
    "\\t",
    "a\rb",
    "\x00\x1b\x7f",
    "\u2028\x85\u00e9\U0001f600",
    "{}, =",
    "#",
    "a\\",
]


@pytest.mark.parametrize("name", ODD)
def test_metrics_are_read_by_prometheus(name):
    parser = pytest.importorskip("prometheus_client.parser")
    text = content(outcome(scores(name, dataset=name)), name)
    families = list(parser.text_string_to_metric_families(text))
    read = [sample for family in families for sample in family.samples]
    assert {sample.labels["dataset"] for sample in read} == {name}
    assert {sample.labels["run"] for sample in read if "run" in sample.labels} == {name}
    assert [sample.value for sample in read if sample.name == "ndcg_spark_score"] == [0.5]
    assert all(family.type == "gauge" and family.documentation for family in families)
    assert text.count("# HELP ") == text.count("# TYPE ") == len(families)
    # Every backslash begins one of the three escapes.
    assert samples(text)


@pytest.fixture(scope="module")
def sliced(tmp_path_factory):
    return sliced_nights.published(tmp_path_factory.mktemp("nights"))


def test_the_metrics_of_an_evaluation_are_those_of_its_night(sliced):
    outcome, night = sliced
    both = metrics_of_outcome(outcome, night.dataset), metrics_of_night(night)
    # An evaluation ends after its night is published.
    of_outcome, of_night = (replace(one, ended_at=0.0, seconds=1.0) for one in both)
    assert prometheus_text(of_outcome) == prometheus_text(of_night)


def test_the_score_has_the_slices_that_a_check_or_a_warning_names(sliced):
    outcome, night = sliced
    assert [loss for loss in outcome.verdicts[0].lost_slices if "language=de" in loss]
    expected = {}
    for row in [*outcome.dataset_scores, *outcome.slice_scores]:
        part = row.get("attribute"), row.get("value")
        if part in sliced_nights.NAMED or part == (None, None):
            of_slice = part[0] and f',attribute="{part[0]}",value="{part[1]}"'
            key = f'dataset="default",run="{row["run"]}",cutoff="{row["cutoff"]}"{of_slice or ""}'
            for measure in ("ndcg", "precision"):
                expected[f'{key},measure="{measure}"'] = row[measure]
    read = samples(prometheus_text(metrics_of_night(night)))
    assert {labels: value for (name, labels), value in read.items() if name == "score"} == expected
    assert len(expected) == 2 * 2 * 2 * (1 + len(sliced_nights.NAMED))
    assert {name for name, labels in read if "attribute" in labels} == {"score"}


def test_a_night_without_a_gate_and_one_of_an_older_version_have_no_slices(sliced):
    outcome, night = sliced
    assert metrics_of_night(night).slices
    assert not metrics_of_outcome(replace(outcome, verdicts=()), night.dataset).slices
    findings = json.loads(night.row["findings"])
    del findings["named_slices"]
    older = replace(night, row={**night.row, "findings": json.dumps(findings)})
    assert not metrics_of_night(older).slices


def test_a_check_names_a_slice_for_its_datasets_and_once():
    checks = [
        {"slice": "size=big", "datasets": ["web"]},
        {"slice": "size=a=b"},
        {"slice": "size=a=b", "measure": "dcg"},
        {},
    ]
    loss = SliceLoss("bm25", "size", "a=b", "ndcg@10", -0.1, "since")
    big, other = ({"attribute": "size", "value": value} for value in ("big", "a=b"))
    assert named_slices(gates.gate(*checks), "web", [loss]) == (big, other)
    assert named_slices(gates.gate(*checks), "shop", [loss]) == (other,)


@pytest.fixture
def ended(tmp_path):
    """Makes configurations with a command, beside three nights; and what the command was told."""
    file = tmp_path / "told.json"
    program = f"import sys; open({str(file)!r}, 'a').write(sys.stdin.read()); print('printed')"
    for date, verdict in (("2026-11-18", "fail"), ("2026-11-19", "pass"), ("2026-11-21", None)):
        row = log_row(
            {},
            verdict and {"verdict": verdict, "reason": f"of {date}"},
            dataset="web",
            evaluation_id=date,
        )
        append(Store(str(tmp_path / "out")), date, [{**row, "status": "published", "number": 1}])

    known = {"output": str(tmp_path / "out"), "on_end": f'{sys.executable} -c "{program}"'}
    configured = lambda **settings: configuration(tmp_path)(**{**known, **settings})  # noqa: E731
    return configured, lambda: json.loads(file.read_text(encoding="utf-8"))


def test_the_command_gets_a_verdict_and_the_one_before_as_json(ended, capfd):
    configured, told = ended
    notify(configured(), 5, outcome=outcome(verdicts=FAILED))
    said = told()
    assert [(one["dataset"], one["verdict"]) for one in said["verdicts"]] == [("web", "fail")]
    assert (said["evaluation_id"], said["exit_code"], said["reason"]) == (
        "id",
        5,
        FAILED[0].sentence,
    )
    assert {name: one["verdict"] for name, one in said["previous"].items()} == {"web": "pass"}
    first, command = said["text"].splitlines()
    assert (first, command.split()[:2]) == (
        f"web of 2026-11-20: fail. {FAILED[0].sentence}",
        ["ndcg-spark", "report"],
    )
    assert tuple(capfd.readouterr()) == ("", "printed\n")


def test_a_name_in_the_text_makes_no_line_of_its_own(ended):
    configured, told = ended
    odd = replace(FAILED[0], sentence="fell\nweb of 2026-11-20: pass")
    notify(configured(), 5, outcome=outcome(verdicts=[odd]))
    first, command = told()["text"].splitlines()
    assert (first.endswith("fell\\nweb of 2026-11-20: pass"), command.split()[1]) == (
        True,
        "report",
    )


def changed(run, difference, outcome_="pass", **more):
    """A result of a run at ndcg@10 that changed by this, from 0.5."""
    reason = None if outcome_ == "pass" else "dropped"
    numbers = {"mean": 0.5 + difference, "difference": difference, "sentence": f"{run} changed"}
    return gates.result(outcome_, reason, run=run, **numbers, **more)


def text_of(ended, verdict, *rows, **settings):
    configured, told = ended
    notify(configured(cutoffs=[10], **settings), 5, outcome=outcome(*rows, verdicts=[verdict]))
    return told()["text"].splitlines()


def test_the_text_has_every_run_with_its_change_and_all_that_the_gate_says(ended):
    results = (
        changed("dense", 0.01),
        changed("ltr", -0.04, "fail", baseline="accepted", baseline_night=None, since="2026-09-26"),
        changed("ltr", -0.02),
    )
    said = gates.verdict(
        *results,
        verdict="fail",
        run="ltr",
        sentence="ltr fell",
        warnings=("language=en fell", "the results are the same"),
        changes=("New judgments: 9 of 10",),
        notes=("fewer are judged",),
        acknowledged=KNOWN,
    )
    rows = [scores("dense"), scores("ltr"), scores("bm25", ndcg=0.25)]
    lines = text_of(ended, said, *rows)
    assert lines[:-1] == [
        "web of 2026-11-20: fail (acknowledged). ltr fell",
        "ltr: ndcg@10 0.4600, -0.0400 since 2026-09-26",
        "dense: ndcg@10 0.5100, +0.0100 against the good nights to 2026-11-19",
        "bm25: ndcg@10 0.2500",
        "warning: language=en fell",
        "warning: the results are the same",
        "New judgments: 9 of 10",
        "note: fewer are judged",
        "still failing, acknowledged until 2 December: new index; not worse since",
    ]
    assert "--html 2026-11-20.html" in lines[-1]


@pytest.mark.parametrize(
    ("names", "since", "said"),
    [
        (
            ("old", "new"),
            None,
            "+0.0100 (-0.0300 under the old judgments, +0.0500 under the new ones) "
            "against the good nights to 2026-11-19",
        ),
        (
            ("chain_low", "chain_high"),
            "2026-09-26",
            "+0.0100 (-0.0300 to +0.0500 across the changes of judgments) since 2026-09-26",
        ),
    ],
)
def test_the_text_has_both_sides_of_new_judgments(ended, names, since, said):
    sides = []
    for reading, scale in ((1, 1), (2, 3)):
        for name, change in zip(names, (-0.03, 0.05), strict=True):
            sides.append({"side": name, "reading": reading, "difference": scale * change})
    unknown = changed("ltr", 0.01, "undecided", sides=tuple(sides), since=since)
    lines = text_of(ended, gates.verdict(unknown), scores("ltr"))
    assert lines[1] == f"ltr: ndcg@10 0.5100, {said}"


def test_the_text_has_the_means_of_a_night_without_a_verdict_and_a_link(ended):
    unknown = gates.verdict(
        gates.result("not_comparable", "no_baseline", run=None, sentence="no baseline")
    )
    lines = text_of(
        ended, unknown, scores(), report_url="https://reports.example/{dataset}/{date}.html"
    )
    assert lines[1] == "bm25: ndcg@10 0.5000"
    assert lines[-1] == "https://reports.example/web/2026-11-20.html"


def test_the_text_names_paths_that_hold_anywhere(ended, monkeypatch, tmp_path):
    configured, told = ended
    monkeypatch.chdir(tmp_path)
    notify(configured(output="out"), 3, "why")
    assert str(tmp_path / "out") in told()["text"].splitlines()[-1]


def test_the_text_says_since_when_a_run_falls(tmp_path):
    file = tmp_path / "told.json"
    hook = f"{sys.executable} -c \"import sys; open({str(file)!r}, 'w').write(sys.stdin.read())\""
    for number in range(24):
        level = 0.5 - 0.002 * max(0, number - 11)
        kept_nights.night(tmp_path / "out", number, {"bm25": level, "dense": 0.5})
    evaluated_on = datetime.date.fromisoformat(kept_nights.date(23))
    settings = configuration(tmp_path)(
        output=str(tmp_path / "out"), on_end=hook, cutoffs=[10], date=evaluated_on
    )
    notify(settings, 0, outcome=outcome(scores(ndcg=level), scores("dense")))
    text = json.loads(file.read_text(encoding="utf-8"))["text"].splitlines()
    assert text[1:3] == [
        f"bm25: ndcg@10 {level:.4f} (falling since 13 January: -0.0240)",
        "dense: ndcg@10 0.5000",
    ]


@pytest.mark.parametrize(
    ("settings", "is_told"),
    [
        ('cutofs = [10]\non_end = "HOOK"\n', True),
        ('on_end = "HOOK"\ncutoffs = [10\n', True),
        ('cutofs = [10]\n[gate]\non_end = "HOOK"\n', False),
        ("cutofs = [10]\n", False),
        # A list over several lines looks like the header of a table.
        ('cutoffs = [\n [1],\n]\non_end = "HOOK"\n', True),
        ('\ufeffon_end = "HOOK"\ncutofs = [10]\n', True),
    ],
)
def test_a_configuration_that_cannot_be_read_is_told_if_its_command_can(
    tmp_path, settings, is_told
):
    program = tmp_path / "hook.py"
    program.write_text(
        "import sys; open('told.json', 'a').write(sys.stdin.read())", encoding="utf-8"
    )
    (tmp_path / "night.toml").write_text(
        settings.replace("HOOK", f"{sys.executable} hook.py"), encoding="utf-8"
    )
    done = command_line("evaluate", "--config", "night.toml", "--date", "2026-11-20", cwd=tmp_path)
    assert (done.returncode, (tmp_path / "told.json").exists()) == (2, is_told)
    if is_told:
        told = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
        assert (told["exit_code"], told["evaluated_on"], told["verdicts"]) == (2, "2026-11-20", [])
        assert told["text"].startswith("evaluation of 2026-11-20: exit code 2. ")


@pytest.mark.parametrize("command", ["", "   ", "''", "'HIDDEN", '"" x'])
def test_a_command_without_a_program_is_refused_without_showing_it(tmp_path, command):
    with pytest.raises(ConfigurationError, match="on_end") as refused:
        configuration(tmp_path)(on_end=command)
    assert "HIDDEN" not in str(refused.value)
    words = ["qrels.txt", "run.txt", "--on-end", command]
    done = command_line("evaluate", *words, cwd=tmp_path)
    assert done.returncode == 2
    # Nothing is run, and nothing is said of it but that it is refused.
    assert len(done.stderr.splitlines()) == 1


def test_the_text_is_written_for_nightly_sh(tmp_path, monkeypatch):
    file = tmp_path / "ended"
    monkeypatch.setenv("NDCG_SPARK_ENDED", str(file))
    notify(configuration(tmp_path)(), 5, outcome=outcome(verdicts=FAILED))
    assert (
        file.read_text(encoding="utf-8").splitlines()[0]
        == f"web of 2026-11-20: fail. {FAILED[0].sentence}"
    )


@pytest.mark.parametrize(
    ("baseline", "is_told"), [("good", True), ("2026-11-20", True), ("2026-11-19", False)]
)
def test_a_night_that_can_become_the_first_baseline_is_told_how(ended, baseline, is_told):
    configured, told = ended
    lacking = replace(
        FAILED[0].results[0], reason="no_baseline", baseline=baseline, baseline_night=None
    )
    verdict = replace(FAILED[0], verdict="none", reason="no_baseline", results=(lacking,))
    notify(configured(), 6, outcome=outcome(verdicts=(verdict,)))
    assert ("--accept-baseline" in told()["text"]) == is_told


def test_no_secret_reaches_the_command_the_log_or_the_steps(ended, tmp_path, monkeypatch):
    configured, told = ended
    secret = "HIDDEN"  # noqa: S105  # of a test
    output = f"s3://KEY:{secret}@nowhere/out"
    settings = configured().model_copy(update={"output": output})
    monkeypatch.setattr("ndcg_spark.monitoring.hook.committed", lambda _: [])
    refused = InputError(f"results: s3://KEY:{secret}@b/x is not there; token={secret}")
    notify_failure(settings, refused)
    assert secret not in json.dumps(told())
    assert told()["output"] == "s3://***@nowhere/out"
    monkeypatch.setattr("ndcg_spark.monitoring.hook._SECONDS", 0.1)
    for command in (
        f"sleep 60 {secret}",
        f"no-such -u a:{secret}",
        f"TOKEN={secret} true",
        f"false {secret}",
    ):
        with logged_steps() as steps:
            notify(configured(on_end=command), 0)
        assert len(steps) == 1
        assert secret not in steps[0][1]
        assert secret not in json.dumps(configured(on_end=command).for_log())
    log_attempt(str(tmp_path / "new"), str(DATE), "id", InputError(f"token={secret}"), 3)
    (row,) = committed(str(tmp_path / "new")).rows
    assert row["reason"] == "token=***"


@pytest.mark.parametrize("is_silent", [False, True])
def test_what_the_command_prints_is_on_stderr_or_nowhere(ended, capfd, is_silent):
    notify(ended[0](), 0, is_silent=is_silent)
    assert capfd.readouterr() == ("", "" if is_silent else "printed\n")


ENDS = [
    InputError("why"),
    EngineError("why"),
    ConfigurationError("why"),
    RuntimeError("why"),
    SystemExit(141),
]


@pytest.mark.parametrize(("end", "code"), [*zip(ENDS, (3, 4, 2, 1, 141), strict=True)])
def test_the_command_is_run_at_any_end(ended, end, code):
    configured, told = ended
    notify_failure(configured(), end)
    said = told()
    assert (said["exit_code"], said["evaluation_id"], said["datasets"], said["verdicts"]) == (
        code,
        None,
        [],
        [],
    )
    assert f"exit code {code}" in said["text"]
    # Of the others, the log has no row.
    assert ("ndcg-spark nights" in said["text"]) == (code in (1, 3, 4))


def test_a_signal_says_to_run_it_again(ended):
    configured, told = ended
    after_evaluation(configured(), 137)
    assert told()["text"].endswith("Earlier nights are intact; run it again.")


WARNINGS = ["a file has no line end", "web: language=en fell", *map(str, range(6))]


@pytest.mark.parametrize("is_published", [True, False])
def test_the_text_has_the_warnings_of_the_evaluation_once(ended, is_published):
    configured, told = ended
    warned = replace(FAILED[0], warnings=("language=en fell",))
    if is_published:
        notify(configured(), 5, outcome=outcome(verdicts=[warned]), warnings=WARNINGS)
    else:
        notify_failure(configured(), InputError("why"), warnings=WARNINGS)
    lines = told()["text"].splitlines()
    said = [line for line in lines if line.startswith(("warning: ", "and "))]
    first = ["warning: a file has no line end"]
    if is_published:
        numbers = [f"warning: {number}" for number in range(4)]
        assert said == [
            "warning: language=en fell",
            *first,
            *numbers,
            "and 2 more warnings, see the job's log",
        ]
    else:
        assert said[:2] == [*first, "warning: web: language=en fell"]


@pytest.mark.parametrize(
    ("reason", "arguments", "end"),
    [
        ("missing_run", {}, "evaluate --config FILE --date 2026-11-20"),
        ("missing_dataset", {}, "evaluate --config FILE --date 2026-11-20"),
        ("missing_run", {"overridden": True}, "evaluate the night again."),
        ("missing_run", {"file": None}, "evaluate the night again."),
        ("dropped", {}, None),
    ],
)
def test_the_text_says_what_to_do_when_missing_data_arrives(ended, reason, arguments, end):
    configured, told = ended
    settings = configured()
    settings._source = {"file": "FILE", "overridden": False, **arguments}
    verdict = replace(FAILED[0], reason=reason)
    notify(settings, 6, outcome=outcome(verdicts=[verdict]))
    advice = [line for line in told()["text"].splitlines() if "evaluate the night again" in line]
    assert [line.endswith(str(end)) for line in advice] == ([] if end is None else [True])


def test_an_evaluation_that_cannot_be_printed_is_told_with_its_outcome(ended):
    configured, told = ended
    notify_failure(configured(), SystemExit(141), outcome())
    said = told()
    assert (said["exit_code"], said["evaluation_id"], said["datasets"]) == (141, "id", ["web"])


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("evaluate",), 0),
        (("evaluate", "--sort", "ndcg"), 2),
        (("evaluate", "--cutoffs", "1", "--baseline", "nobody"), 2),
        (("finish", "--exit-code", "137"), 137),
    ],
)
def test_the_program_tells_its_end_once(tmp_path, words, code):
    configuration(tmp_path)
    hook = f'{sys.executable} -c \'import sys; open("told.json", "a").write(sys.stdin.read())\''
    done = command_line(*words, "qrels.txt", "run.txt", "--on-end", hook, cwd=tmp_path)
    told = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    assert (done.returncode, told["exit_code"]) == (0 if code == 137 else code, code)
    assert bool(told["evaluation_id"]) == (words == ("evaluate",))


def test_the_cause_of_a_refusal_is_told_with_it(tmp_path):
    configuration(tmp_path)
    cut_off = (tmp_path / "run.txt").read_text(encoding="utf-8").strip() + "\nq1 Q0 d9 9 -9"
    (tmp_path / "run.txt").write_text(cut_off, encoding="utf-8")
    hook = f'{sys.executable} -c \'import sys; open("told.json", "a").write(sys.stdin.read())\''
    words = ("evaluate", "qrels.txt", "run.txt", "--on-end", hook)
    done = command_line(*words, cwd=tmp_path)
    told = json.loads((tmp_path / "told.json").read_text(encoding="utf-8"))
    assert (done.returncode, told["exit_code"]) == (3, 3)
    assert "no line end" in told["text"]


def test_a_signal_is_told_after_it_and_what_was_published_is_exported(ended, monkeypatch):
    configured, told = ended
    monkeypatch.setenv("NDCG_SPARK_EXPORT", "nowhere")
    after_evaluation(configured(), 137)
    assert (told()["exit_code"], told()["reason"]) == (137, "ended by signal 9")
    with pytest.raises(ConfigurationError, match="nowhere does not name tables"):
        after_evaluation(configured(date="2026-11-19"), 0)


@pytest.fixture
def folder(tmp_path):
    """The folder that the collector reads."""
    (tmp_path / "collected").mkdir()
    return tmp_path / "collected"


def names(folder):
    return sorted(file.name for file in folder.iterdir())


@pytest.mark.parametrize(
    ("date", "is_written"), [("2026-11-20", False), ("2026-11-21", True), ("2026-11-22", True)]
)
def test_only_the_newest_night_writes_metrics(ended, folder, date, is_written):
    settings = ended[0](metrics_file=str(folder), on_end=None, date=date)
    with logged_steps() as steps:
        for run in ("bm25", "dense"):
            notify(settings, 0, None, outcome(scores(run, evaluated_on=date)))
    assert {step for step, _ in steps} == (set() if is_written else {"metrics"})
    assert names(folder) == ["ndcg_spark.web.prom"] * is_written
    assert not is_written or "bm25" not in (folder / "ndcg_spark.web.prom").read_text(
        encoding="utf-8"
    )


@pytest.mark.parametrize(
    ("dataset", "day", "is_written"), [("web", 21, False), ("web", 20, True), ("shop", 21, True)]
)
def test_a_file_with_a_newer_night_of_another_output_stays(
    tmp_path, folder, dataset, day, is_written
):
    before = content(outcome(scores(dataset=dataset, evaluated_on=f"2026-11-{day}")), dataset)
    (folder / f"ndcg_spark.{dataset}.prom").write_text(before, encoding="utf-8")
    settings = configuration(tmp_path)(metrics_file=str(folder), output=str(tmp_path / "new"))
    notify(settings, 0, None, outcome())
    kept = (folder / f"ndcg_spark.{dataset}.prom").read_text(encoding="utf-8")
    assert (kept != before) == (is_written and dataset == "web")
    assert names(folder) == sorted({f"ndcg_spark.{dataset}.prom", "ndcg_spark.web.prom"})


def without_scores(evaluated_on):
    """The content of a metrics file of this night."""
    return prometheus_text(NightMetrics("web", evaluated_on, [], [], None, 0.0, 2))


@pytest.mark.parametrize(("known", "is_written"), [(None, True), (0, True), (1, True), (2, False)])
@pytest.mark.parametrize(("verdict", "value"), [("none", 0), ("fail", 1), (None, None)])
def test_an_accepted_night_writes_its_file_again(
    tmp_path, folder, known, is_written, verdict, value
):
    output, file = str(tmp_path / "out"), folder / "ndcg_spark.web.prom"
    kept_nights.night(tmp_path / "out", 1, {"bm25": 0.5}, verdict=verdict)
    kept_nights.night(tmp_path / "out", 1, {"bm25": 0.7}, dataset="shop")
    if known is not None:
        file.write_text(without_scores(kept_nights.date(known)), encoding="utf-8")
    (night,) = [night for night in committed(output) if night.dataset == "web"]
    revise(night, accepted="why")
    settings = configuration(tmp_path)(metrics_file=str(folder))
    mark_accepted(settings, output, [replace(FAILED[0], evaluated_on=kept_nights.date(1))])
    read = samples(file.read_text(encoding="utf-8"))
    expected = value if is_written else 2
    assert read.get(("verdict", 'dataset="web"')) == expected
    score = ("score", 'dataset="web",run="bm25",cutoff="10",measure="ndcg"')
    assert read.get(score) == (0.5 if is_written else None)
    assert names(folder) == ["ndcg_spark.web.prom"]


def test_each_dataset_has_a_file_that_no_other_writes(tmp_path, folder):
    datasets = [
        "web",
        "Web",
        "WEB",
        "web shop",
        "web/shop",
        "web:shop",
        "../web",
        ".",
        "",
        "x" * 300,
        "web.a",
        *ODD,
    ]
    settings = configuration(tmp_path)(metrics_file=str(folder))
    notify(settings, 0, None, outcome(*(scores(dataset=dataset) for dataset in datasets)))
    notify(settings, 0, None, outcome(scores(dataset="web", ndcg=0.2)))
    files = [file.name.lower() for file in folder.iterdir()]
    assert len({*files}) == len({*datasets}) == len(files)
    assert all(
        re.fullmatch(r"ndcg_spark[.-][\w-]+\.prom", name) and len(name) < 128 for name in files
    )
    read = {label for file in folder.iterdir() for _, label in samples(file.read_bytes().decode())}
    assert {label.partition('"')[2].partition('",')[0] for label in read if "run" in label} >= {
        "web",
        "Web",
        "web/shop",
    }


def test_a_metrics_file_that_cannot_be_replaced_leaves_no_part(tmp_path, folder):
    (folder / "ndcg_spark.web.prom" / "full").mkdir(parents=True)
    with logged_steps() as steps:
        settings = configuration(tmp_path)(metrics_file=str(folder))
        notify(settings, 0, None, outcome(scores(), scores(dataset="shop")))
    assert [sentence.partition(":")[0] for _, sentence in steps] == ["metrics-file"]
    assert names(folder) == ["ndcg_spark.shop.prom", "ndcg_spark.web.prom"]


def test_a_damaged_metrics_file_is_replaced(tmp_path, folder):
    file = folder / "ndcg_spark.web.prom"
    file.write_bytes(b"\xff\x00")
    notify(configuration(tmp_path)(metrics_file=str(folder)), 0, None, outcome())
    assert samples(file.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", ["/x/ndcg.prom", __file__])
def test_metrics_go_into_a_folder(tmp_path, path):
    with pytest.raises(
        ConfigurationError, match="is a file; give the folder that the collector reads"
    ):
        configuration(tmp_path)(metrics_file=path)


@pytest.mark.parametrize("command", ["no-such-program --now", "false", "sleep 60"])
def test_failures_are_warnings(tmp_path, monkeypatch, command):
    monkeypatch.setattr("ndcg_spark.monitoring.hook._SECONDS", 0.2 if "sleep" in command else 60)
    (tmp_path / "file").touch()
    settings = configuration(tmp_path)(on_end=command, metrics_file=str(tmp_path / "file" / "x"))
    with logged_steps() as steps:
        notify(settings, 0, None, outcome())
    assert [sentence.partition(":")[0] for _, sentence in steps] == ["metrics-file", "on-end"]
    assert f"no folder {tmp_path / 'file' / 'x'}" in steps[0][1]
    assert command.split()[0] in steps[1][1]
    assert ("ended with exit code 1;" in steps[1][1]) == (command == "false")
