"""The section of a report that says how much lists changed, beside their scores."""

import pytest
from commands import command_line
from gated_nights import QUERIES, evaluated, settings
from pages import Page

pytest.importorskip("vl_convert", reason="needs the extra report")


@pytest.mark.slow
def test_a_report_says_how_many_lists_changed_and_which_scores_changed_without_them(tmp_path):
    (tmp_path / "u.run").write_text("u Q0 x 1 1 hybrid\n", encoding="utf-8")
    nights = []
    # Of twelve queries the relevant document leaves the list, and eight others are judged anew.
    for date, made in (("2026-11-01", {}), ("2026-11-02", {"worse": 12, "regraded": 20})):
        given = settings(tmp_path, date, {"on_changed_judgments": "unchanged_queries"}, documents="lists", **made)
        both = {"path": [given["results"]["path"], str(tmp_path / "u.run")]}
        nights.append({**given, "results": both, "accepted": "the first night"})
    evaluated(tmp_path, *nights)
    pages = []
    for date in ("2026-11-01", "2026-11-02"):
        more = ("--date", date, "--run", "hybrid", "--engine", "embedded")
        done = command_line("report", "out", "--html", "page.html", *more, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        pages.append(Page(tmp_path / "page.html"))
    # There is nothing to say of a night that has nothing to be compared with.
    assert "How much the lists changed" not in pages[0].words
    assert (
        "1 of 61 queries are not judged. 0 have another list and the same score; 8 have the same list" in pages[1].words
    )
    rows = {row[0]: row[1:4] for row in pages[1].rows if len(row) == 5}
    assert rows["the same"] == [str(QUERIES + 1 - 12), "8", str(QUERIES - 12 - 8)]
    assert sum(int(rows[f"{n / 10:.1f} to {(n + 1) / 10:.1f}"][1]) for n in range(10)) == 12
