"""`compare-lists`: the whole way from files to what is printed."""

import json

import pytest
from commands import command_line

OLD = "q1 Q0 a 1 3 r\nq1 Q0 b 2 2 r\nq2 Q0 c 1 1 r\n"
NEW = "q1 Q0 b 1 3 r\nq1 Q0 a 2 2 r\nq3 Q0 c 1 1 r\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "old.run").write_text(OLD, encoding="utf-8")
    (tmp_path / "new.run").write_text(NEW, encoding="utf-8")
    return tmp_path


def compare_lists(folder, *arguments):
    done = command_line("compare-lists", *arguments, "--format", "json", cwd=folder)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_results_are_compared_for_all_queries_without_judgments(folder):
    compared = compare_lists(folder, "old.run", "new.run", "--cutoffs", "2")
    (row,) = compared["rows"]
    expected = {
        "queries": 3,
        "changed_share": 1,
        "lost_all_share": 1 / 3,
        "gained_all_share": 1 / 3,
    }
    assert {name: row[name] for name in expected} == pytest.approx(expected)
    # q1 is swapped, and as many documents are in it as before.
    queries = [
        (query["query_id"], query["entered"], query["left"]) for query in compared["queries"]
    ]
    assert queries == [("q2", 0, 1), ("q3", 1, 0), ("q1", 0, 0)]


def test_ranks_that_are_not_the_order_of_the_scores_are_not_trusted(folder):
    lines = "".join(f"q Q0 d{place} {10 - place} {place}.5 r\n" for place in range(1, 9))
    (folder / "reversed.run").write_text(lines, encoding="utf-8")
    (folder / "right.run").write_text("q Q0 d8 1 2 r\nq Q0 d7 2 1 r\n", encoding="utf-8")
    (row,) = compare_lists(folder, "reversed.run", "right.run", "--cutoffs", "2")["rows"]
    assert row["changed_share"] == 0


def test_the_runs_of_one_input_are_compared_with_one_of_them(folder):
    (folder / "both.run").write_text(OLD + NEW.replace(" r\n", " s\n"), encoding="utf-8")
    _, row = compare_lists(folder, "both.run", "both.run", "--baseline", "r", "--cutoffs", "1")[
        "rows"
    ]
    assert (row["run"], row["baseline"], row["queries"]) == ("s", "r", 3)


@pytest.mark.parametrize("more", ["q1 Q0 a 3 1 r\n", "q1 Q0 z 3 none r\n"])
def test_the_contract_of_results_holds_for_both_sides(folder, more):
    (folder / "old.run").write_text(OLD + more, encoding="utf-8")
    for sides in (("old.run", "new.run"), ("new.run", "old.run")):
        assert command_line("compare-lists", *sides, cwd=folder).returncode == 3
    # A row that is no number may be rejected; a document that occurs twice is refused.
    done = command_line(
        "compare-lists", "old.run", "new.run", "--max-rejected-fraction", "0.9", cwd=folder
    )
    assert done.returncode == (0 if "none" in more else 3)
