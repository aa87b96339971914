"""What other programs are told of an evaluation; their failures are warnings."""

import datetime
import json
import re
import sys

import gates
import pytest
from evaluations import configuration

from ndcg_spark.errors import ConfigurationError
from ndcg_spark.job.outcome import EvaluationOutcome
from ndcg_spark.monitoring import verdict_command
from ndcg_spark.monitoring.notify import notify
from ndcg_spark.monitoring.prometheus import metrics, write

DATE = datetime.date(2026, 11, 20)
#: A sample in Prometheus' text format: the name, the labels and the value.
SAMPLE = re.compile(r'([a-z_]+)\{((?:[a-z]+="(?:[^"\\\n]|\\["\\n])*",?)+)\} (\S+)')


def scores(run="bm25", cutoff=10, ndcg=0.5, **more):
    row = {"dataset": "web", "evaluated_on": DATE, "run": run, "cutoff": cutoff, "ndcg": ndcg, "precision": None}
    return {**row, "queries": 3, "judged_rate": 0.75, **more}


def outcome(*rows, verdicts=(), measures=()):
    total = {"total": 2.5}
    return EvaluationOutcome(
        "id",
        "trec_eval",
        "gain",
        "embedded",
        [*rows] or [scores()],
        {},
        [],
        None,
        total,
        [*measures],
        verdicts=verdicts,
    )


def samples(text):
    """The values by name and labels."""
    found = [SAMPLE.fullmatch(line) for line in text.splitlines() if not line.startswith("#")]
    assert all(found)
    return {(each[1].removeprefix("ndcg_spark_"), each[2]): float(each[3]) for each in found}


def test_every_mean_is_a_sample():
    found = samples(metrics(outcome(scores(), scores("dense", None, 0.25)), now=1000.5))
    assert found["score", 'dataset="web",run="bm25",cutoff="10",measure="ndcg"'] == 0.5
    assert found["score", 'dataset="web",run="dense",cutoff="all",measure="ndcg"'] == 0.25
    assert found["judged_rate", 'dataset="web",run="bm25",cutoff="10"'] == 0.75
    assert found["last_success_timestamp_seconds", 'dataset="web"'] == 1000.5
    assert found["evaluated_on_timestamp_seconds", 'dataset="web"'] == (DATE - datetime.date(1970, 1, 1)).days * 86400
    assert found["duration_seconds", 'dataset="web"'] == 2.5
    assert not any(name == "verdict" for name, _ in found)


def test_requested_measures_have_samples_and_scores_that_are_null_have_none():
    rows = [scores(precision=0.4), scores("empty", ndcg=None, judged_rate=None, queries=0)]
    found = samples(metrics(outcome(*rows, measures=["precision@10"]), now=0))
    assert found["score", 'dataset="web",run="bm25",cutoff="10",measure="precision"'] == 0.4
    assert [name for name, labels in found if "empty" in labels] == ["queries"]


@pytest.mark.parametrize(("difference", "value"), [(0.1, 0), (-0.1, 1)])
def test_a_verdict_is_a_number(difference, value):
    gate = gates.gate()
    verdict = gates.verdict(gate, gates.row(gates.spread(difference, 0.01)))
    assert samples(metrics(outcome(verdicts=[verdict]), now=0))["verdict", 'dataset="web"'] == value


def test_any_name_is_a_label():
    (labels,) = [each for name, each in samples(metrics(outcome(scores('a"b\\c\nd')), now=0)) if name == "score"]
    assert r'run="a\"b\\c\nd"' in labels


def test_the_live_parser_reads_it():
    parser = pytest.importorskip("prometheus_client.parser")
    text = metrics(outcome(scores('a"b\\c\nd')), now=0)
    runs = {
        sample.labels.get("run") for family in parser.text_string_to_metric_families(text) for sample in family.samples
    }
    assert 'a"b\\c\nd' in runs


def test_the_file_is_replaced_whole(tmp_path):
    file = tmp_path / "new" / "ndcg.prom"
    write(file, outcome())
    write(file, outcome(scores("dense")))
    assert 'run="dense"' in file.read_text(encoding="utf-8")
    assert "bm25" not in file.read_text(encoding="utf-8")
    assert [each.name for each in file.parent.iterdir()] == ["ndcg.prom"]


def kept(tmp_path, code=0):
    """A command that keeps its stdin in a file, and that file."""
    file = tmp_path / "said.json"
    program = f"import sys; open({str(file)!r}, 'w').write(sys.stdin.read()); print('printed'); sys.exit({code})"
    return f'{sys.executable} -c "{program}"', file


def test_the_command_gets_the_verdicts_as_json(tmp_path, capfd):
    command, file = kept(tmp_path)
    verdict = gates.verdict(gates.gate(), gates.row(gates.spread(-0.1, 0.01)))
    verdict_command.run(command, outcome(verdicts=[verdict]))
    said = json.loads(file.read_text(encoding="utf-8"))
    assert said["exit_code"] == 5
    assert [(each["dataset"], each["verdict"]) for each in said["verdicts"]] == [("web", "fail")]
    printed = capfd.readouterr()
    assert (printed.out, printed.err) == ("", "printed\n")


def with_gate(tmp_path, **settings):
    gate = {"baseline": [{"night": "last_good"}], "check": [{"cutoff": 3, "max_drop": 0.01}]}
    return configuration(tmp_path)(**{"output": str(tmp_path / "out"), "gate": gate, **settings})


@pytest.mark.parametrize(
    ("command", "reason"),
    [
        ("no-such-program --now", "no-such-program cannot be run, No such file or directory"),
        (f"{sys.executable} -c 'raise SystemExit(3)'", "failed with exit code 3"),
        (f"{sys.executable} -c 'import time; time.sleep(60)'", "took longer than 0.2 seconds and was ended"),
    ],
)
def test_a_failure_is_a_warning_and_the_others_are_told(tmp_path, monkeypatch, command, reason):
    monkeypatch.setattr(verdict_command, "_SECONDS", 0.2 if "sleep" in command else 60)
    warnings = []
    file = tmp_path / "{date}.prom"
    notify(with_gate(tmp_path, on_verdict=command, metrics_file=str(file)), outcome(), warnings.append)
    (warning,) = warnings
    assert warning.startswith("on-verdict: ")
    assert reason in warning
    assert (tmp_path / "2026-11-20.prom").exists()


def test_a_metrics_file_that_cannot_be_written_is_a_warning(tmp_path):
    (tmp_path / "file").touch()
    warnings = []
    settings = configuration(tmp_path)(metrics_file=str(tmp_path / "file" / "x.prom"))
    notify(settings, outcome(), warnings.append)
    assert [each.partition(":")[0] for each in warnings] == ["metrics-file"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"on_verdict": "notify-send"}, "on_verdict: there is no gate to give a verdict"),
        ({"on_verdict": " "}, "on_verdict: it does not name a program"),
        ({"on_verdict": "a 'b"}, "on_verdict: No closing quotation"),
    ],
)
def test_what_could_never_be_told_is_refused(tmp_path, settings, message):
    with pytest.raises(ConfigurationError, match=message):
        configuration(tmp_path)(**settings)
