"""Whether an input still has the checked rows after everything has been read."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ndcg_spark.contract import scan
from ndcg_spark.errors import InputError
from ndcg_spark.inputs import source_tables
from ndcg_spark.inputs.source_tables import Source


class Seen(NamedTuple):
    """An input, and the fingerprints of its checked rows, by dataset."""

    source: Source
    fingerprints: Mapping[str | None, str]


def see(source: Source) -> list[Seen]:
    """The input with its fingerprints, which need a scan; empty if its file stamps show changes."""
    return [] if source.has_stamps else [Seen(source, scan.fingerprints(source.table))]


def refuse_changed(inputs: Sequence[Seen]) -> None:
    """Raise InputError if a file has changed, or a row of a table without files.

    Tables without files are read again.
    """
    source_tables.refuse_changed_files(seen.source for seen in inputs)
    for source, before in inputs:
        if source.has_stamps or scan.fingerprints(source.table) == before:
            continue
        raise InputError(
            f"{source.name}: the rows of {source.origin} changed during the evaluation; "
            "nothing was published; run again when they are complete"
        )
