"""Nights against the mean of the last good ones, the least value of a mean, and a gate rehearsed on what is kept."""

import json

import pytest
from commands import command_line
from gated_nights import QUERIES, evaluated, in_a_session, settings

from ndcg_spark.nights.log import committed
from ndcg_spark.nights.read import read_rows

#: Two of the nights before, of which a large drop passes; and a least value.
GATE = {
    "baseline": [{"night": "recent_good", "nights": 2}],
    "check": [{"runs": ["hybrid"], "cutoff": 3, "max_drop": 0.3, "min_value": 0.1}],
}


@pytest.fixture(scope="module")
def nights(tmp_path_factory):
    """The verdicts on five nights, which differ in how many queries are worse; from the fourth on others are judged."""
    folder = tmp_path_factory.mktemp("recent")
    found = evaluated(
        folder,
        {**settings(folder, "2026-11-01", GATE), "accepted": "the first night"},
        settings(folder, "2026-11-02", GATE, worse=12),
        settings(folder, "2026-11-03", GATE, worse=6),
        {**settings(folder, "2026-11-04", GATE, regraded=6), "accepted": "other judgments"},
        settings(folder, "2026-11-05", GATE, regraded=6, worse=60),
    )
    return folder, found


def scores(folder, date):
    """The ndcg of hybrid, by query."""
    night = [night for night in committed(str(folder / "out")) if night.evaluated_on == date]
    rows = read_rows(night, "query_scores").to_pylist()
    return {row["query_id"]: row["ndcg"] for row in rows if row["run"] == "hybrid"}


def test_a_night_is_compared_with_the_mean_of_the_last_good_nights_query_by_query(nights):
    folder, (*_, third, _, _) = nights
    first, second, own = (scores(folder, f"2026-11-0{n}") for n in (1, 2, 3))
    drop, least = third["findings"]
    differences = [own[query] - (first[query] + second[query]) / 2 for query in own]
    assert drop["value"] == pytest.approx(sum(differences) / QUERIES, abs=1e-12)
    assert drop["baseline_mean"] == pytest.approx(sum({**first}.values()) / 120 + sum(second.values()) / 120, abs=1e-12)
    assert "recent_good (2 nights to 2026-11-02)" in drop["reason"]
    assert (least["criterion"], least["value"]) == ("min_value", pytest.approx(sum(own.values()) / QUERIES, abs=1e-12))
    assert least["interval_low"] < least["value"] < least["interval_high"]


def test_nights_of_other_judgments_are_no_part_of_the_mean(nights):
    _, found = nights
    assert [night["code"] for night in found[:4]] == ["no_baseline", "passed", "passed", "other_judgments"]
    assert (found[4]["code"], found[4]["nights"]) == ("dropped", ["2026-11-04"])
    assert "against recent_good (2026-11-04)" in found[4]["reason"]


@pytest.mark.slow
def test_a_gate_is_rehearsed_on_all_nights_and_changes_none(nights):
    folder, _ = nights
    before = [night.record for night in committed(str(folder / "out"))]
    (folder / "gate.toml").write_text(
        'engine = "embedded"\n[gate]\n[[gate.baseline]]\nnight = "recent_good"\n'
        '[[gate.check]]\nruns = ["hybrid"]\ncutoff = 3\nmax_drop = 0.01\n',
        encoding="utf-8",
    )
    done = command_line("gate", "--rehearse", "out", "--config", "gate.toml", "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    assert [(night["evaluated_on"], night["verdict"], night["code"]) for night in json.loads(done.stdout)] == [
        ("2026-11-01", "none", "no_baseline"),
        ("2026-11-02", "fail", "dropped"),
        # Against the first night, as the second is not a good one.
        ("2026-11-03", "fail", "dropped"),
        ("2026-11-04", "none", "other_judgments"),
        ("2026-11-05", "fail", "dropped"),
    ]
    table = command_line("gate", "--rehearse", "out", "--config", "gate.toml", cwd=folder, COLUMNS="100").stdout
    assert table.splitlines()[1].split() == ["default", "fail", "dropped", "3", "60.0%", "2026-11-05"]
    assert [night.record for night in committed(str(folder / "out"))] == before
    wrong = command_line("gate", "--rehearse", "out", "--config", "gate.toml", "--date", "2026-11-01", cwd=folder)
    assert (wrong.returncode, "leave out --date" in wrong.stderr) == (2, True)


def test_the_same_results_of_one_dataset_are_noticed_beside_new_ones_of_another(tmp_path):
    gate = {"on_same_results": "fail", "check": [{"cutoff": 3, "max_drop": 0.5}]}

    def night(date, shop):
        judged = "".join(f"{name},q{n},a,1\n" for name in ("shop", "web") for n in range(QUERIES))
        lists = {"shop": shop, "web": "ab"}
        rows = "".join(
            f"{name},r,q{n},{document},{rank}\n"
            for name, documents in lists.items()
            for n in range(QUERIES)
            for rank, document in enumerate(documents, 1)
        )
        texts = {
            "judgments": f"dataset,query_id,doc_id,relevance\n{judged}",
            "results": f"dataset,run,query_id,doc_id,rank\n{rows}",
        }
        paths = {}
        for name, text in texts.items():
            paths[name] = {"path": str(tmp_path / f"{date}-{name}.csv")}
            (tmp_path / f"{date}-{name}.csv").write_text(text, encoding="utf-8")
        return {**settings(tmp_path, date, gate), **paths}

    first = {**night("2026-11-01", "ab"), "accepted": "the first night"}
    found = in_a_session(codes_of_nights, tmp_path, first, night("2026-11-02", "ac"))
    assert found[1] == [["shop", "passed"], ["web", "same_results"]]


def codes_of_nights(_, *nights):
    from ndcg_spark.config import validate
    from ndcg_spark.job.evaluate import evaluate

    found = []
    for night in nights:
        accepted = night.pop("accepted", None)
        outcome = evaluate(validate(night, "test"), None, accepted)
        found.append([(verdict.dataset, verdict.code) for verdict in outcome.verdicts])
    return found
