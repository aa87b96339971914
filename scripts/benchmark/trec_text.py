"""TREC run files as people submit them to a shared task, in the shape of TREC-COVID's first round; seeded.

Most lists have 1,000 documents and a third of them fewer. Scores have many digits, few, or none, so that some are
equal. Half the runs separate their fields by tabs; one run in ten counts its ranks from 0; in one list in 100 the first
two ranks are exchanged. The same rows are there as one file in every shape of `ONE_FILE`, too.
"""

import contextlib
import functools
import gzip
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from scripts.benchmark.data import Files, cached

#: The most documents of a list.
RESULTS = 1_000
#: Documents that a query's lists are drawn from, and how many of them are judged.
CANDIDATES, JUDGED = 3_000, 290
#: The files that have all runs: their first line, and what a line is of the six fields of TREC's.
ONE_FILE = {
    "one.txt": ("", "{} {} {} {} {} {}\n"),
    "aligned.txt": ("", "{:<8} {:<8} {:<16} {:>8} {:>24}   {:<16}\n"),
    "crlf.txt": ("", "{} {} {} {} {} {}\r\n"),
    "one.csv": ("query_id,doc_id,rank,score,run\n", "{0},{2},{3},{4},{5}\n"),
    "one.tsv": ("query_id\tdoc_id\trank\tscore\trun\n", "{0}\t{2}\t{3}\t{4}\t{5}\n"),
    "one.jsonl": ("", '{{"query_id": "{0}", "doc_id": "{2}", "rank": {3}, "score": {4}, "run": "{5}"}}\n'),
}


def make_text(runs: int, queries: int, seed: int, cache: Path) -> dict[str, Files]:
    """So many runs, made unless the cache has them, in every shape: gzipped, plain (a file each), and ONE_FILE."""
    folder = cached(cache / f"text-n{runs}-q{queries}-s{seed}", functools.partial(_write, runs, queries, seed))
    return {shape: Files(folder / "qrels.txt", folder / shape) for shape in ("gzipped", "plain", *ONE_FILE)}


def make_large(lines: int, seed: int, cache: Path) -> Files:
    """One gzipped run of this many lines, and judgments for few of its queries, made unless the cache has them."""
    folder = cached(cache / f"text-l{lines}-s{seed}", functools.partial(_write_large, lines, seed))
    return Files(folder / "qrels.txt", folder / "run.gz")


def _write(runs: int, queries: int, seed: int, folder: Path) -> None:
    for shape in ("gzipped", "plain"):
        (folder / shape).mkdir()
    grades = _write_judgments(queries, seed, folder)
    with contextlib.ExitStack() as opened:
        files = {name: opened.enter_context((folder / name).open("w", newline="")) for name in ONE_FILE}
        for name, (header, _) in ONE_FILE.items():
            files[name].write(header)
        for run in range(runs):
            rows = [row for query, of in grades.items() for row in _list(run, query, of, seed)]
            text = "".join(("\t" if run % 2 else " ").join(row) + "\n" for row in rows)
            (folder / "plain" / f"run-{run:03d}.txt").write_text(text, encoding="ascii")
            # Without the time and the name of the file, so that the same seed gives the same bytes.
            (folder / "gzipped" / f"run-{run:03d}.gz").write_bytes(gzip.compress(text.encode(), 6, mtime=0))
            for name, (_, line) in ONE_FILE.items():
                files[name].writelines(line.format(*row) for row in rows)


def _write_large(lines: int, seed: int, folder: Path) -> None:
    """A few lists again and again, each time as those of another query."""
    grades = _write_judgments(30, seed, folder)
    lists = [[" ".join(["", *row[1:]]) + "\n" for row in _list(0, query, of, seed)] for query, of in grades.items()]
    with gzip.open(folder / "run.gz", "wt", compresslevel=1, encoding="ascii", newline="") as file:
        left, query = lines, 0
        while left:
            mine = lists[query % len(lists)][:left]
            left, query = left - len(mine), query + 1
            file.write(str(query) + str(query).join(mine))


def _write_judgments(queries: int, seed: int, folder: Path) -> dict[int, np.ndarray]:
    """The grades of every query's candidates, after those of the first of them were written."""
    grades = {}
    with (folder / "qrels.txt").open("w", encoding="ascii") as file:
        for query in range(1, queries + 1):
            chance = np.random.default_rng([seed, query])
            grades[query] = np.searchsorted([0.7, 0.85], chance.random(CANDIDATES), side="right")
            grades[query][JUDGED:] = 0
            file.writelines(f"{query} 0 {_document(query, at)} {grades[query][at]}\n" for at in range(JUDGED))
    return grades


def _list(run: int, query: int, grades: np.ndarray, seed: int) -> Iterator[tuple[str, ...]]:
    """The six fields of every line of a list, the best document first."""
    chance = np.random.default_rng([seed, run, query])
    merit = chance.random(CANDIDATES) + 0.2 * grades
    length = RESULTS if (run + query) % 3 else max(1, int(RESULTS * chance.random()))
    ranks = list(range(length) if run % 10 == 7 else range(1, length + 1))
    if (run * 31 + query) % 100 == 0:
        ranks[:2] = reversed(ranks[:2])
    for at, rank in zip(np.argsort(-merit)[:length].tolist(), ranks, strict=True):
        yield str(query), "Q0", _document(query, at), str(rank), _score(float(merit[at]), run), f"run-{run:03d}"


def _document(query: int, place: int) -> str:
    """An id of eight letters and digits."""
    return np.base_repr((query * CANDIDATES + place) * 2_654_435_761 % 36**8, 36).lower().zfill(8)


def _score(merit: float, run: int) -> str:
    return (repr(merit), f"{merit:.6f}", f"{100 * merit:.4f}", str(int(merit * 1_000)))[run % 4]
