"""The list of nights, and the list of documents to judge, as tables."""

import json

from publish_and_die import NEW, publish, record, staged

from ndcg_spark.nights.records import committed
from ndcg_spark.report.nights import print_nights
from ndcg_spark.report.to_judge import print_documents


def test_a_night_has_its_own_runs_and_queries_though_several_datasets_were_evaluated_together(capsys, tmp_path):
    together = {"counts": {"runs": 3, "judged_queries": 130, "dataset_scores": 3}}
    datasets = {"shop": ["a", "b"], "web": ["c"]}
    row = {"cutoff": 5, "ndcg": 0.5, "queries": 60}
    scores = [[{**row, "dataset": name, "run": run} for run in runs] for name, runs in datasets.items()]
    staged(str(tmp_path), "e", 0.5, dataset="shop+web").commit(record(**together))
    print_nights(committed(str(tmp_path)), scores, "table")
    assert [line.split()[6:8] for line in capsys.readouterr().out.splitlines()[1:]] == [["2", "60"], ["1", "60"]]


def test_where_everything_is_judged_the_list_of_documents_to_judge_says_so(capsys):
    print_documents([], "table")
    assert capsys.readouterr().out.splitlines()[-1] == "every document that a run returns within the cutoff is judged"


def test_a_folder_without_nights_is_told(capsys):
    print_nights([], [], "table")
    assert capsys.readouterr().out.splitlines()[-1] == "there is no night; check the path"


def test_json_has_the_record_of_every_night_and_nothing_of_the_program(capsys, tmp_path):
    publish(str(tmp_path), NEW, 0.5)
    nights = committed(str(tmp_path))
    print_nights(nights, [[]], "json")
    (night,) = json.loads(capsys.readouterr().out)
    assert night["record"] == nights[0].record
    assert (night["dataset"], night["evaluated_on"]) == ("web", "2026-11-16")
    assert "store" not in night
