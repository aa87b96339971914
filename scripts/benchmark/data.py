"""Seeded judgments and results: Parquet of any size, and TREC runs. The same parameters give the same rows.

Parquet: 100 results and 20 judgments per query, half of them for returned documents. Of 100 queries, one has no
results, two are not judged, and one has nothing relevant. Grades are 0 to 3, and better ones tend to be returned
earlier. No two scores of a list are equal and `rank` is their order from 1, so all conventions agree. The rows of a
query are together, in random order.

Text has the shape of TREC-COVID's first round: two thirds of the lists have 1,000 documents, the others fewer. Scores
have many digits or few, so that some are equal. Half the runs separate their fields by tabs; one run in ten starts its
ranks at 0; in one list in 100 the first two ranks are exchanged.
"""

import gzip
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

#: The number of documents of the Parquet data: prime, so that a query's walk through them visits no document twice.
DOCUMENTS = 1_000_003
FILES, RETURNED, JUDGED = 16, 100, 20
#: For text: the documents that a query's lists are drawn from, and how many of them are judged.
CANDIDATES, TEXT_JUDGED = 3_000, 290
SCORES = ("{!r}", "{:.6f}", "{:.4f}", "{:.2f}")
#: The files that have all runs: their first line, and which of TREC's six fields a line has.
ONE_FILE = {
    "one.txt": ("", "{} {} {} {} {} {}\n"),
    "aligned.txt": ("", "{:<8} {:<8} {:<16} {:>8} {:>24}   {:<16}\n"),
    "crlf.txt": ("", "{} {} {} {} {} {}\r\n"),
    "one.csv": ("query_id,doc_id,rank,score,run\n", "{0},{2},{3},{4},{5}\n"),
    "one.tsv": ("query_id\tdoc_id\trank\tscore\trun\n", "{0}\t{2}\t{3}\t{4}\t{5}\n"),
    "one.jsonl": (
        "",
        '{{"query_id": "{0}", "doc_id": "{2}", "rank": {3}, "score": {4}, "run": "{5}"}}\n',
    ),
}


class Files(NamedTuple):
    """The input of a program: a folder or file of judgments and one of results."""

    judgments: Path
    results: Path


class Setting(NamedTuple):
    """The folder for data, the factor for all sizes, and the seed."""

    cache: Path
    scale: float = 1.0
    seed: int = 0

    def parquet(self, queries: int) -> tuple[Files, Files]:
        """Data with this many queries, and the same without ranks, where only a sort gives the order of a list."""
        folder = self._made(_write_parquet, max(20, round(queries * self.scale)))
        return Files(folder / "judgments", folder / "results"), Files(
            folder / "judgments", folder / "unranked"
        )

    def text(self, runs: int, queries: int) -> dict[str, Files]:
        """TREC runs, gzipped, plain (one file each), and in every shape of ONE_FILE."""
        folder = self._made(_write_text, max(2, round(runs * self.scale)), queries)
        return {
            shape: Files(folder / "qrels.txt", folder / shape)
            for shape in ("gzipped", "plain", *ONE_FILE)
        }

    def nights(self) -> Path:
        """Four weeks of example nights, whatever the scale."""
        return self._made(_write_nights) / "nights"

    def _made(self, write: Callable[..., None], *size: int) -> Path:
        """The folder that `write` fills, unless it is already complete."""
        folder = self.cache / "-".join(map(str, (write.__name__.lstrip("_"), *size, self.seed)))
        if not (folder / "done").exists():
            shutil.rmtree(folder, ignore_errors=True)
            folder.mkdir(parents=True)
            write(folder, self.seed, *size)
            (folder / "done").touch()
        # Read once, so that no program has to wait for the disk.
        for path in filter(Path.is_file, folder.rglob("*")):
            path.read_bytes()
        return folder


def link_runs(files: Files, runs: int) -> Files:
    """The results of this many runs, each a folder of links to the same files, which name no run."""
    root = files.results.parents[1] / f"{files.results.parent.name}-of-{runs}" / files.results.name
    (root.parent / "nameless").mkdir(parents=True, exist_ok=True)
    nameless = [
        root.parent / "nameless" / f"{root.name}-{file.name}" for file in files.results.iterdir()
    ]
    for file, path in zip(files.results.iterdir(), nameless, strict=True):
        pq.write_table(pq.read_table(file).drop_columns("run"), path)
    for number in range(runs):
        folder = root / f"run=run-{number:03d}"
        folder.mkdir(parents=True, exist_ok=True)
        for path in nameless:
            (folder / path.name).unlink(missing_ok=True)
            (folder / path.name).symlink_to(path)
    return files._replace(results=root)


def _write_nights(folder: Path, _: int) -> None:
    script = Path(__file__).resolve().parents[1] / "example_nights.py"
    command = [sys.executable, str(script), str(folder / "nights")]
    subprocess.run(command, check=True, capture_output=True)  # noqa: S603  # our own script


def _write_parquet(folder: Path, seed: int, queries: int) -> None:
    for table in ("judgments", "results", "unranked"):
        (folder / table).mkdir()
    for file in range(FILES):
        name, chance = f"part-{file:05d}.parquet", np.random.default_rng([seed, file])
        mine = np.arange(file, queries, FILES)
        grades = np.searchsorted([0.4, 0.7, 0.9], chance.random((len(mine), JUDGED)), side="right")
        grades[mine % 100 == 23] = 0
        places = np.concatenate([np.arange(JUDGED // 2), RETURNED + np.arange(JUDGED // 2)])
        judged = ~np.isin(mine % 100, (11, 57))
        relevance = pa.array(grades[judged].ravel().astype(np.float64))
        judgments = pa.table({**_ids(mine[judged], places), "relevance": relevance})
        pq.write_table(judgments, folder / "judgments" / name)

        noise = chance.random((len(mine), RETURNED))
        merit = noise + 0.2 * np.pad(
            grades[:, : JUDGED // 2], ((0, 0), (0, RETURNED - JUDGED // 2))
        )
        # Shuffled within a query, so that no program finds the lists sorted.
        places = np.argsort(chance.random(noise.shape), axis=1)
        rank = np.take_along_axis(
            np.argsort(np.argsort(-merit, axis=1), axis=1) + 1, places, axis=1
        )
        score, answered = 20.0 - (rank - noise / 2) * (19.0 / RETURNED), mine % 100 != 7
        columns = {
            "run": pa.repeat("run-00", rank[answered].size),
            **_ids(mine[answered], places[answered]),
            "score": pa.array(score[answered].ravel()),
            "rank": pa.array(rank[answered].ravel().astype(np.int32)),
        }
        pq.write_table(pa.table(columns), folder / "results" / name)
        pq.write_table(pa.table(columns).drop_columns("rank"), folder / "unranked" / name)


def _ids(queries: np.ndarray, places: np.ndarray) -> dict[str, pa.Array]:
    """The query of every row, and the document at each position of the query's walk."""
    start, step = (
        queries[:, None] * 7919 % DOCUMENTS,
        1 + queries[:, None] * 104_729 % (DOCUMENTS - 1),
    )
    documents = pa.array(((start + step * places) % DOCUMENTS).ravel()).cast(pa.string())
    names = pa.array([f"query-{query:07d}" for query in queries], pa.string())
    of_rows = np.repeat(np.arange(len(queries)), places.shape[-1])
    return {
        "query_id": names.take(pa.array(of_rows)),
        "doc_id": pc.binary_join_element_wise("doc-", documents, ""),
    }


def _write_text(folder: Path, seed: int, runs: int, queries: int) -> None:
    chance = np.random.default_rng(seed)
    # All different, because the factor is odd.
    ids = np.array(
        [f"{at * 2_654_435_761 % 2**32:08x}" for at in range(queries * CANDIDATES)]
    ).reshape(queries, -1)
    grades = np.searchsorted([0.7, 0.85], chance.random((queries, TEXT_JUDGED)), side="right")
    qrels = (
        f"{query + 1} 0 {ids[query, at]} {grade}\n" for (query, at), grade in np.ndenumerate(grades)
    )
    (folder / "qrels.txt").write_text("".join(qrels), encoding="ascii")
    for shape in ("gzipped", "plain"):
        (folder / shape).mkdir()
    for name, (header, _) in ONE_FILE.items():
        (folder / name).write_text(header, encoding="ascii")
    for run in range(runs):
        rows: list[tuple[Any, ...]] = []
        for query in range(queries):
            merit = chance.random(CANDIDATES)
            merit[:TEXT_JUDGED] += 0.2 * grades[query]
            best = np.argsort(-merit)[: 1_000 if (run + query) % 3 else chance.integers(1, 1_000)]
            scores = map(SCORES[run % len(SCORES)].format, merit[best].tolist())
            ranks = (np.arange(len(best)) + (run % 10 != 7)).tolist()
            if (run * 31 + query) % 100 == 0:
                ranks[:2] = reversed(ranks[:2])
            for document, rank, score in zip(ids[query, best], ranks, scores, strict=True):
                rows.append((query + 1, "Q0", document, rank, score, f"run-{run:03d}"))
        text = "".join(("\t" if run % 2 else " ").join(map(str, row)) + "\n" for row in rows)
        (folder / "plain" / f"run-{run:03d}.txt").write_text(text, encoding="ascii")
        # Without the time, so that the same seed gives the same bytes.
        (folder / "gzipped" / f"run-{run:03d}.gz").write_bytes(
            gzip.compress(text.encode(), 6, mtime=0)
        )
        for name, (_, line) in ONE_FILE.items():
            with (folder / name).open("a", encoding="ascii", newline="") as file:
                file.writelines(line.format(*row) for row in rows)
