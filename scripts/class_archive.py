"""Make Java's class archive for local Spark, with which every evaluation on it takes less time to start and to plan.

python scripts/class_archive.py : with the Python that evaluates, once, and again after Java or pyspark was replaced.

Takes half a minute, and 180 MB in $XDG_CACHE_HOME/ndcg-spark (~/.cache/ndcg-spark), which may be removed at any time.
`ndcg_spark/engine/archive.py` has more.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pyarrow as pa
from pyarrow import parquet

from ndcg_spark.engine import archive

QUERIES, DOCUMENTS = 20, 30


def main() -> int:
    """Make the archive; 0, or 4 if there is none afterwards."""
    path = archive.place()
    if path is None:
        sys.stderr.write("engine: no Java or no Spark is found; install Java 17, or set JAVA_HOME\n")
        return 4
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Java makes none while it uses one.
    path.unlink(missing_ok=True)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        made = Path(folder, path.name)
        said = _evaluated(Path(folder), made)
        if not made.is_file():
            sys.stderr.write(f"engine: Java made no class archive; it said: {said[-2000:]}\n")
            return 4
        made.replace(path)
    if not archive.is_own(path):
        sys.stderr.write(f"engine: {path} is not used, others could replace it; set XDG_CACHE_HOME\n")
        return 4
    sys.stdout.write(f"{path} ({path.stat().st_size / 1e6:.0f} MB)\n")
    return 0


def _evaluated(folder: Path, made: Path) -> str:
    """Evaluate made-up tables, with a Java machine that writes its classes to a file when it ends; what both said."""
    lists = [(f"q{query}", f"d{document}") for query in range(QUERIES) for document in range(DOCUMENTS)]
    queries, documents = (list(column) for column in zip(*lists, strict=True))
    ranks = [*range(1, DOCUMENTS + 1)] * QUERIES
    grades = [float(rank % 3) for rank in ranks]
    judged = {"query_id": queries, "doc_id": documents, "relevance": grades}
    results = {"run": ["a"] * len(lists), "query_id": queries, "doc_id": documents, "rank": ranks}
    parquet.write_table(pa.table(judged), folder / "judgments.parquet")
    parquet.write_table(pa.table({**results, "score": [-float(r) for r in ranks]}), folder / "results.parquet")
    command = [sys.executable, "-m", "ndcg_spark", "evaluate", "--engine", "spark", "--cutoffs", "10"]
    command += ["--judgments", str(folder / "judgments.parquet"), "--results", str(folder / "results.parquet")]
    command += ["--output", str(folder / "scores")]
    # Spark's launcher parses the options as a shell would.
    env = {**os.environ, "SPARK_SUBMIT_OPTS": f'"-XX:ArchiveClassesAtExit={made}"'}
    # The Java machine ends after Python, and holds the other end of this pipe until it has written its file.
    done = subprocess.run(  # noqa: S603  # our own program
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False, env=env
    )
    return done.stdout


if __name__ == "__main__":
    sys.exit(main())
