"""What the tests of publishing share: a storage that moves folders at once, and one that moves file by file."""

import itertools
import os

import pytest

from ndcg_spark.nights.store import Store


@pytest.fixture(params=[True, False], ids=["folders", "files"])
def at_once(request, monkeypatch):
    """Whether a partition moves at once; if not, file by file, as on an object store."""
    monkeypatch.setattr(Store, "moves_folders", property(lambda _: request.param))
    # It is processes that die here, and not machines that lose their power.
    monkeypatch.setattr(os, "fsync", lambda _: None)
    return request.param


@pytest.fixture
def numbers(at_once, thorough):
    """The changes at which a publication is killed, fails or sleeps, without end: with --thorough every change.

    Otherwise every fifth one: others where folders move at once than where files move one by one.
    """
    return itertools.count(1 if thorough or at_once else 2, 1 if thorough else 5)
