"""Copies: the scores of a night's kept lists under the judgments of a different night.

OUTPUT/kept_judgments/DATASET.FINGERPRINT.parquet
    A dataset's accepted judgments.
OUTPUT/rescored/evaluated_on=D/DATASET.FINGERPRINT.EVALUATION_ID.parquet
    QUERY_SCORES of a night and dataset under these judgments.

DATASET stands for the first digits of the sha256 of its name, and FINGERPRINT for the judgments. A
copy is valid as long as its evaluation is the current one. A damaged copy is treated as missing. No
published data depends on a copy.
"""

import hashlib
import io
import itertools
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ndcg_spark.convention.convention import Convention
from ndcg_spark.convention.measures import Cutoff, deepest_finite, measure_at
from ndcg_spark.convention.options import TIES
from ndcg_spark.nights.log import Night, Nights, committed
from ndcg_spark.nights.reader import file_schema
from ndcg_spark.nights.store import FAILURES, OutputFile, Store
from ndcg_spark.parquet_files import write_table
from ndcg_spark.schemas import JUDGMENTS, QUERY_SCORES
from ndcg_spark.voices import absolute_path, command_line

KEPT_JUDGMENTS, RESCORED = "kept_judgments", "rescored"
#: The columns of kept judgments.
JUDGED = pa.schema([field for field in JUDGMENTS if field.name != "dataset"])
#: The values of the option `documents` that keep the lists of all judged queries.
WHOLE_LISTS = ("all", "everything")
#: The columns of QUERY_SCORES that compare grades with the highest grade of all judgments.
OF_HIGHEST_GRADE = ("rbp", "rbp_residual", "err")
#: Files that no log row explains may belong to an evaluation that is about to publish.
_SECONDS_UNEXPLAINED = 24 * 3600.0
#: A reader that read the log earlier may still need a copy.
_SECONDS_UNNEEDED = 3600.0
_DIGEST = b"ndcg_spark.digest"


class Rescored(NamedTuple):
    """The result of scoring nights under different judgments."""

    made: int
    #: How many copies already existed.
    kept: int
    #: A sentence for each night that could not be scored.
    refused: Sequence[str]


class Copy(NamedTuple):
    """A night, and the fingerprint of the judgments under which it is scored."""

    night: Night
    fingerprint: str


def copies_of_both_sides(before: Sequence[Night], after: Night) -> list[Copy]:
    """The copies with which nights before a change of judgments are compared with one after it.

    All are scored under the judgments of the last night before it, and under the new ones.
    """
    old = before[-1].row["judgments_fingerprint"]
    new = after.row["judgments_fingerprint"]
    copies = []
    for night in (after, *before):
        own = night.row["judgments_fingerprint"]
        for fingerprint in (new, old):
            if fingerprint and fingerprint != own:
                copies.append(Copy(night, fingerprint))
    return copies


def dataset_digits(name: str) -> str:
    """The part of a file name that stands for a dataset, whose own name might not fit."""
    return hashlib.sha256(name.encode()).hexdigest()[:16]


def judgments_path(dataset: str, fingerprint: str) -> str:
    return f"{KEPT_JUDGMENTS}/{dataset_digits(dataset)}.{fingerprint}.parquet"


def has_judgments(store: Store, dataset: str, fingerprint: str) -> bool:
    """Whether there is a file with these judgments. Raises FAILURES."""
    return store.is_file(judgments_path(dataset, fingerprint))


def keep_judgments(store: Store, dataset: str, fingerprint: str, rows: pa.Table) -> None:
    """Keep a dataset's accepted judgments, before duplicates are merged.

    Judgments that are already kept are not replaced, unless they are damaged. Raises FAILURES.
    """
    if kept_judgments(store, dataset, fingerprint) is not None:
        return
    path = judgments_path(dataset, fingerprint)
    store.delete(path)
    _write(store, path, rows.select(JUDGED.names).cast(JUDGED))


def kept_judgments(store: Store, dataset: str, fingerprint: str) -> pa.Table | None:
    """The query_id, doc_id, relevance rows of judgments; None if they are missing or damaged."""
    return _read(store, judgments_path(dataset, fingerprint), JUDGED)


def fingerprints_of_kept(paths: Sequence[str], nights: Iterable[Night]) -> dict[str, str]:
    """The fingerprints of judgments that the output keeps in these files, by dataset.

    They are not computed again, because a kept file has no column for the dataset, which is part
    of the fingerprint.
    """
    fingerprints = {}
    for night in nights:
        for path in paths:
            fingerprint = _last_part_of_name(path)
            if absolute_path(path) == kept_file(night, fingerprint):
                fingerprints[night.dataset] = fingerprint
    return fingerprints


def kept_file(night: Night, fingerprint: str) -> str:
    """The absolute path or the address of the file that keeps judgments of a night's dataset."""
    output = absolute_path(night.store.location)
    return f"{output}/{judgments_path(night.dataset, fingerprint)}"


def copy_path(night: Night, fingerprint: str) -> str:
    name = f"{dataset_digits(night.dataset)}.{fingerprint}.{night.evaluation_id}.parquet"
    return f"{RESCORED}/evaluated_on={night.evaluated_on}/{name}"


def has_copy(night: Night, fingerprint: str) -> bool:
    """Whether there is a file with a night's scores under these judgments."""
    try:
        return night.store.is_file(copy_path(night, fingerprint))
    except FAILURES:
        return False


def read_copy(night: Night, fingerprint: str) -> pa.Table | None:
    """A night's QUERY_SCORES rows under these judgments; None if missing or damaged.

    Measures that cannot be computed are null; `why_not_rescored` says why.
    """
    schema = file_schema("query_scores")
    rows = _read(night.store, copy_path(night, fingerprint), schema)
    if rows is None:
        return None
    constants = {"evaluated_on": night.evaluated_on, "evaluation_id": night.evaluation_id}
    for column, value in constants.items():
        constant = pa.scalar(value).cast(QUERY_SCORES.field(column).type)
        rows = rows.append_column(column, pa.repeat(constant, len(rows)))
    return rows.select(QUERY_SCORES.names)


def keep_copy(night: Night, fingerprint: str, rows: pa.Table) -> None:
    """Write a night's scores under these judgments, replacing older ones. Raises FAILURES."""
    schema, path = file_schema("query_scores"), copy_path(night, fingerprint)
    night.store.delete(path)
    _write(night.store, path, rows.select(schema.names).cast(schema))


def rescore_command(night: Night, fingerprint: str) -> str:
    """The command that scores a night under these judgments, whether or not they are kept."""
    output = night.store.location
    path = judgments_path(night.dataset, fingerprint)
    try:
        is_kept = night.store.is_file(path)
    except FAILURES:
        is_kept = False
    if is_kept and _is_rescored_by_default(night, fingerprint):
        return command_line("rescore", [output], {})
    file = kept_file(night, fingerprint) if is_kept else "FILE"
    return command_line("rescore", [output], {"judgments": file, "dataset": night.dataset})


def _is_rescored_by_default(night: Night, fingerprint: str) -> bool:
    """Whether `rescore` without judgments makes this copy: it covers the newest night, and the
    newest judgments.
    """
    own = [one for one in committed(night.store) if one.dataset == night.dataset]
    if not own:
        # `expire` has just removed the last night.
        return False
    newest = own[-1]
    return newest == night or newest.row["judgments_fingerprint"] == fingerprint


def why_not_copied(night: Night) -> str | None:
    """Why no scores of a night can be computed under different judgments; None if some can."""
    if night.unverified is not None:
        return f"{night} is not verified"
    if not keeps_whole_lists(night):
        documents = night.record["configuration"].get("documents")
        kept = "only some of its documents were kept" if documents else "no documents were kept"
        return f"{kept}; documents=all keeps them"
    return _why_lists_do_not_suffice(night_convention(night)) or _why_no_depth(night)


def keeps_whole_lists(night: Night) -> bool:
    """Whether the lists of all judged queries were kept, down to the deepest finite cutoff."""
    is_requested = night.record["configuration"].get("documents") in WHOLE_LISTS
    return is_requested and "ranked_documents" in night.record["files"]


def _why_lists_do_not_suffice(convention: Convention) -> str | None:
    """Why the kept lists cannot be scored under different judgments; None if they can.

    The lists themselves may depend on the judgments, or more documents may be needed.
    """
    if TIES[convention.ties].by == "gain":
        return f"with ties={convention.ties}, grades decide the order"
    for option in ("unjudged", "negative"):
        if getattr(convention, option) == "drop":
            return f"with {option}=drop, grades decide which documents are on a list"
    if convention.ideal == "retrieved":
        return "with ideal=retrieved, the ideal needs more documents than were kept"
    return None


def _why_no_depth(night: Night) -> str | None:
    if kept_depth(night) is None:
        return "its only cutoff is all, and whole rankings are not scored again"
    return None


def why_not_rescored(
    night: Night,
    metric: tuple[str, Cutoff],
    fingerprint: str | None = None,
) -> str | None:
    """Why a measure of a night cannot be computed again at a cutoff; None if it can.

    With the `fingerprint` of a copy, it also checks whether the highest grade of these judgments
    differs from the night's, because ERR and RBP depend on it.
    """
    reason = why_not_copied(night)
    if reason is not None:
        return reason
    measure, cutoff = metric
    depth = kept_depth(night) or 0
    if cutoff is None:
        return f"{measure_at(*metric)} needs whole rankings, but only {depth} documents were kept"
    if cutoff > depth:
        return f"{measure_at(*metric)} needs more than the {depth} documents that were kept"
    if fingerprint is None or measure not in OF_HIGHEST_GRADE:
        return None
    rows = read_copy(night, fingerprint)
    # The measure is null in every row if it could not be computed.
    if rows is not None and len(rows) and rows[measure].null_count == len(rows):
        return f"{measure_at(*metric)} depends on the highest grade, which differs"
    return None


def night_convention(night: Night) -> Convention:
    """The convention that a night was evaluated with."""
    return Convention(**night.record["options"])


def finite_cutoffs(night: Night) -> list[int]:
    """The cutoffs of a night that are ranks, in ascending order."""
    cutoffs = night.record["configuration"].get("cutoffs") or []
    return sorted(cutoff for cutoff in cutoffs if cutoff is not None)


def kept_depth(night: Night) -> int | None:
    """The rank down to which documents were kept; None if whole rankings were kept."""
    return deepest_finite(finite_cutoffs(night))


def unneeded_copies(store: Store, nights: Nights) -> list[str]:
    """The copies and kept judgments that can be removed.

    `nights` are all nights of the output. Files for the two newest sets of judgments of a dataset
    and for both sides of each change are kept. Files that the log does not explain are kept for a
    day, because an evaluation may be about to publish, and other copies for an hour. Raises
    FAILURES.
    """
    copies = store.files(RESCORED, "")
    judgments = store.files(KEPT_JUDGMENTS, "")
    if not copies and not judgments:
        return []
    now = store.now()
    unneeded = _unneeded_files_of_copies(copies, nights, now)
    if nights.damaged:
        # A log that cannot be read may use any of the judgments.
        return unneeded
    used = {judgments_path(*pair) for pair in _judgments_of_log(nights)}
    for path, file in judgments.items():
        if path not in used and _age(file, now) > _SECONDS_UNEXPLAINED:
            unneeded.append(path)
    return unneeded


def _unneeded_files_of_copies(
    copies: Mapping[str, OutputFile],
    nights: Nights,
    now: float,
) -> list[str]:
    """The copies of scores that are old enough to be removed, and that no night needs."""
    kept = {copy_path(*pair) for pair in _copies_of_changes(nights)}
    known = {str(row["evaluation_id"]) for row in nights.rows}
    unneeded = []
    for path, file in copies.items():
        if path in kept or _date_of(path) in nights.damaged:
            continue
        is_explained = _last_part_of_name(path) in known
        least = _SECONDS_UNNEEDED if is_explained else _SECONDS_UNEXPLAINED
        if _age(file, now) > least:
            unneeded.append(path)
    return unneeded


def _copies_of_changes(nights: Nights) -> Iterator[tuple[Night, str]]:
    """The copies of each dataset that are kept: nights, each with a fingerprint of judgments.

    These are all nights under the two newest sets of judgments, and both nights around each change
    of judgments under the other's.
    """
    for _, group in itertools.groupby(nights, key=lambda night: night.dataset):
        own = [night for night in group if night.row["judgments_fingerprint"]]
        fingerprints = [str(night.row["judgments_fingerprint"]) for night in own]
        newest_first = list(dict.fromkeys(reversed(fingerprints)))
        yield from itertools.product(own, newest_first[:2])
        for before, after in itertools.pairwise(own):
            old = str(before.row["judgments_fingerprint"])
            new = str(after.row["judgments_fingerprint"])
            if old != new:
                yield before, new
                yield after, old


def _judgments_of_log(nights: Nights) -> Iterator[tuple[str, str]]:
    """The dataset and the fingerprint of all judgments that the log mentions."""
    for row in nights.rows:
        if row["dataset"] and row["judgments_fingerprint"]:
            yield row["dataset"], row["judgments_fingerprint"]


def _last_part_of_name(path: str) -> str:
    """The fingerprint of kept judgments, or the evaluation id of a copy of scores."""
    return path.removesuffix(".parquet").rpartition(".")[2]


def _date_of(path: str) -> str:
    return path.split("/")[1].removeprefix("evaluated_on=")


def _age(file: OutputFile, now: float) -> float:
    return now - file.mtime_ns / 1e9


def _write(store: Store, path: str, rows: pa.Table) -> None:
    """Write rows to a file that records a digest of their values."""
    content = io.BytesIO()
    digest = f"{_digest(rows):08x}".encode()
    marked = rows.replace_schema_metadata({_DIGEST: digest})
    # The digest is written only together with the Arrow types.
    write_table(marked, content, keeps_arrow_types=True, has_checksums=True)
    store.add(path, content.getvalue())


def _read(store: Store, path: str, schema: pa.Schema) -> pa.Table | None:
    """A file's rows; None if it is missing, damaged, or from another version of the table."""
    try:
        rows = store.read(path)
        digest = (rows.schema.metadata or {}).get(_DIGEST, b"")
        rows = rows.select(schema.names).cast(schema)
        is_intact = digest == f"{_digest(rows):08x}".encode()
    except Exception:  # noqa: BLE001  # damaged files raise many kinds
        return None
    return rows.replace_schema_metadata() if is_intact else None


def _digest(rows: pa.Table) -> int:
    """A checksum of all values.

    The pages of a file have checksums, but the metadata that locates the pages does not.
    """
    digest = zlib.crc32(str(len(rows)).encode())
    for name in rows.column_names:
        for part in _plain_parts(rows[name]):
            digest = zlib.crc32(part, digest)
    return digest


def _plain_parts(column: pa.ChunkedArray) -> Iterable[Any]:
    """The nulls and the values of a column as bytes, independent of its chunks."""
    yield np.packbits(np.asarray(pc.is_null(column))).tobytes()
    if not pa.types.is_string(column.type):
        yield np.ascontiguousarray(pc.fill_null(column, 0))
        return
    values = pc.fill_null(column, "")
    yield np.ascontiguousarray(pc.binary_length(values))
    for chunk in values.chunks:
        yield "".join(chunk.to_pylist()).encode()
