"""Everything about published nights works where no engine is installed."""

import importlib.util
import subprocess
import sys

import pytest
from gated_nights import evaluated, settings

#: A program in which the packages of the engines cannot be imported.
PROGRAM = """
import importlib.abc, sys

class Blocker(importlib.abc.MetaPathFinder):
    def find_spec(self, name, path, target=None):
        if name.partition(".")[0] in ("pyspark", "pysail", "py4j"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Blocker())
from ndcg_spark.__main__ import main

def run(*arguments):
    try:
        main(arguments)
    except SystemExit as end:
        # 6: the gate has no verdict.
        assert end.code in (0, None, 6), (arguments, end.code)

for baseline in ("--baseline=old", "--baseline-date=2026-11-19"):
    run("compare", "out", baseline, "--slices=slices.csv", "--weights=weights.jsonl")
run("nights", "out")
run("trend", "out")
run("gate", "out", "--config=gate.toml")
run("gate", "out", "--config=gate.toml", "--rehearse")
run("explain", "out", "--query=q0")
run("report", "out", "--html=r.html")
run("judge-next", "out")
if "delta" in sys.argv:
    run("export", "out", "--to=delta:tables")

import ndcg_spark
scores = ndcg_spark.read_scores("out", "query_scores", date="2026-11-20")
assert len(scores) == 2 * 60 and set(scores["run"]) == {"old", "new"}
assert len(ndcg_spark.read_scores("out", "evaluations")) == 2
assert list(ndcg_spark.compare(scores, "old")["run"]) == ["new"]
assert len(ndcg_spark.trend("out", run="new", measures="ndcg@3")) == 2
assert ndcg_spark.gate_night("out", "gate.toml").json()[0]["verdict"] in ("pass", "none")
assert len(ndcg_spark.explain("out", query="q0").to_pandas())
run("gate", "out", "--config=gate.toml", "--accept-baseline=known")
assert not {"pyspark", "pysail"} & {*sys.modules}
"""
GATE = (
    '[gate]\nbaseline = "2026-11-19"\ncheck = [{ measure = "ndcg", cutoff = 3, max_drop = 0.5 }]\n'
)


@pytest.mark.slow
def test_nights_need_no_engine(tmp_path):
    (tmp_path / "gate.toml").write_text(GATE, encoding="utf-8")
    (tmp_path / "slices.csv").write_text("qid,language\nq0,de\nq1,en\n", encoding="utf-8")
    (tmp_path / "weights.jsonl").write_text('{"qid": "q0", "weight": 2}\n', encoding="utf-8")
    runs = {"runs": ["old", "new"], "documents": "all"}
    evaluated(
        tmp_path, *(settings(tmp_path, date, **runs) for date in ("2026-11-19", "2026-11-20"))
    )
    delta = ["delta"] if importlib.util.find_spec("deltalake") else []
    program = [sys.executable, "-c", PROGRAM, *delta]
    done = subprocess.run(program, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
