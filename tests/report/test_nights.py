"""The list of nights, and the list of documents to judge, as tables."""

import json

from commands import command_line
from kept_nights import committed_night, damage, date, night, publish, record, written

from ndcg_spark.nights.log import Nights, committed
from ndcg_spark.report.nights import print_nights
from ndcg_spark.report.printed import print_check, print_documents


def test_a_night_has_its_own_runs_and_queries_though_several_datasets_were_evaluated_together(capsys, tmp_path):
    together = {"counts": {"runs": 3, "judged_queries": 130, "dataset_scores": 3}}
    datasets = {"shop": ["a", "b"], "web": ["c"]}
    row = {"cutoff": 5, "ndcg": 0.5, "queries": 60}
    scores = [[{**row, "dataset": name, "run": run} for run in runs] for name, runs in datasets.items()]
    written(str(tmp_path), "e", 0.5, datasets=["shop", "web"]).commit(record(**together), ["shop", "web"])
    print_nights(committed(str(tmp_path)), scores, "table")
    assert [line.split()[8:10] for line in capsys.readouterr().out.splitlines()[1:]] == [["2", "60"], ["1", "60"]]


def test_the_best_run_of_a_night_is_by_the_first_measure_that_it_was_asked_for(capsys):
    record = {"configuration": {"measures": ["ndcg@5", "recall@1000"], "headline": "ndcg@5"}}
    scores = {"a": (0.9, 0.1), "b": (0.1, 0.9)}
    rows = [
        {"dataset": "web", "run": run, "cutoff": cutoff, "ndcg": ndcg, "queries": 60}
        for run, both in scores.items()
        for cutoff, ndcg in zip((5, 1000), both, strict=True)
    ]
    print_nights(Nights([committed_night("web", "2026-11-20", record)]), [rows], "table")
    assert capsys.readouterr().out.splitlines()[1].split()[5:8] == ["a", "ndcg@5", "0.9000"]


def test_where_no_run_has_the_measure_that_decides_none_is_the_best(capsys):
    record = {"configuration": {"measures": ["precision@5", "ndcg@5"], "headline": "precision@5"}}
    rows = [{"dataset": "web", "run": "a", "cutoff": 5, "ndcg": 0.5, "queries": 60}]
    print_nights(Nights([committed_night("web", "2026-11-20", record)]), [rows], "table")
    assert capsys.readouterr().out.splitlines()[1].split()[5:8] == ["-", "precision@5", "-"]


def test_where_everything_is_judged_the_list_of_documents_to_judge_says_so(capsys):
    print_documents([], "table")
    assert capsys.readouterr().out.splitlines()[-1] == "every document that a run returns within the cutoff is judged"


def test_a_folder_without_nights_is_told(capsys):
    print_nights(Nights(), [], "table")
    assert capsys.readouterr().out.splitlines()[-1] == "there is no night; check the path"


def test_a_date_whose_log_is_damaged_is_warned_of_once(tmp_path):
    for number in range(2):
        night(tmp_path, number, {"a": 0.5})
    damage(tmp_path, date(0))
    done = command_line("trend", tmp_path, cwd=tmp_path)
    assert (done.returncode, done.stderr.count("its nights are left out")) == (0, 1)
    assert date(0) in done.stderr


def test_json_has_the_record_of_every_night_and_nothing_of_the_program(capsys, tmp_path):
    publish(str(tmp_path), "e", 0.5)
    nights = committed(str(tmp_path))
    print_nights(nights, [[]], "json")
    (night,) = json.loads(capsys.readouterr().out)
    assert night["record"] == nights[0].record
    assert (night["dataset"], night["evaluated_on"]) == ("web", "2026-11-16")
    assert "store" not in night


def test_a_check_is_printed_as_its_counts_and_the_judged_rate_of_each_run(capsys):
    rates = [
        {"dataset": "web", "run": run, "cutoff": None, "judged_rate": rate} for run, rate in (("a", 0.5), ("b", 1.0))
    ]
    print_check({"counts": {"judged_queries": 1200}, "judged_rate": rates}, "table")
    assert [line.split() for line in capsys.readouterr().out.splitlines() if line] == [
        *(["counted", "number"], ["judged", "queries", "1,200"]),
        *(["run", "cutoff", "judged", "rate"], ["a", "all", "0.5000"], ["b", "all", "1.0000"]),
    ]
