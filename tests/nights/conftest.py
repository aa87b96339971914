"""What the tests of publishing share: a storage that renames folders, and one that copies file by file."""

import itertools
import os

import pytest

from ndcg_spark.nights.layout import Store


@pytest.fixture(params=[True, False], ids=["folders", "files"])
def at_once(request, monkeypatch):
    """Whether a folder is renamed; if not, its files are copied as on an object store, where folders need no making."""
    # It is processes that die here, and not machines that lose their power.
    monkeypatch.setattr(os, "fsync", lambda _: None)
    if request.param:
        return True
    move, write = Store.move, Store.write

    def make(store, path):
        os.makedirs(store.at(path), exist_ok=True)  # noqa: PTH103

    monkeypatch.setattr(Store, "moves_folders", False)
    monkeypatch.setattr(Store, "move", lambda store, *paths: (make(store, paths[1]), move(store, *paths)))
    monkeypatch.setattr(
        Store, "write", lambda store, *given: (make(store, given[0].rpartition("/")[0]), write(store, *given))
    )
    return False


@pytest.fixture
def numbers(at_once, thorough):
    """The changes at which a publication is killed, fails or sleeps, without end: with --thorough every change.

    Otherwise every fifth one: others where folders are renamed than where files are copied.
    """
    return itertools.count(1 if thorough or at_once else 2, 1 if thorough else 5)
