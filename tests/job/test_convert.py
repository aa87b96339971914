"""Text becomes Parquet that scores as the text does; nothing is lost or overwritten."""

import pytest
from commands import command_line

pytestmark = pytest.mark.embedded

QRELS, RUN = "q1 0 d1 2\nq1 0 d2 1\n", "q1 Q0 d1 2 1.5 x\nq1 Q0 d2 1 2.5 x\n"


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "qrels.txt").write_text(QRELS, encoding="utf-8")
    (tmp_path / "x.run").write_text(RUN, encoding="utf-8")
    return tmp_path


@pytest.mark.slow
def test_what_is_converted_scores_as_it_did(folder):
    scored = []
    for judgments, results in (("qrels.txt", "x.run"), ("judged", "returned")):
        scored.append(command_line("evaluate", judgments, results, cwd=folder).stdout)
        if len(scored) < 2:
            done = command_line(
                "convert", "--input", "judgments", "qrels.txt", "judged", cwd=folder
            )
            assert (done.returncode, done.stdout) == (0, "2 rows\n"), done.stderr
            assert command_line("convert", "x.run", "returned", cwd=folder).returncode == 0
    assert "ndcg@1" in scored[0]
    assert scored[1] == scored[0]


@pytest.mark.parametrize(
    ("line", "out", "code"), [("q1", "new", 3), ("q1 Q0 d3 3 high x", "new", 3), ("", ".", 4)]
)
def test_a_line_that_is_not_a_row_and_a_folder_with_files_are_refused(folder, line, out, code):
    (folder / "x.run").write_text(RUN + line, encoding="utf-8")
    assert command_line("convert", "x.run", out, cwd=folder).returncode == code
    assert not (folder / "new").exists()
