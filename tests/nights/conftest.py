"""What the tests of publishing share: a storage that renames folders, one that copies file by file, an S3 server."""

import itertools
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyarrow import fs

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


@pytest.fixture(scope="module")
def bucket(tmp_path_factory):
    program = os.environ.get("MOTO_SERVER") or shutil.which("moto_server", path=str(Path(sys.executable).parent))
    if not program:
        pytest.skip("needs the S3 server of moto: pip install 'moto[server]', and its bin/moto_server in MOTO_SERVER")
    log = tmp_path_factory.mktemp("moto") / "log"
    with log.open("w") as told, subprocess.Popen([program, "-H", "127.0.0.1", "-p", "0"], stderr=told) as server:
        try:
            until = time.time() + 60
            while not (found := re.search(r"http://127\.0\.0\.1:\d+", log.read_text())):
                if server.poll() is not None or time.time() > until:
                    pytest.skip(f"the S3 server of moto does not start: {log.read_text()}")
                time.sleep(0.05)
            settings = {
                "AWS_ENDPOINT_URL": found[0],
                "AWS_ACCESS_KEY_ID": "test",
                "AWS_SECRET_ACCESS_KEY": "test",
                "AWS_REGION": "us-east-1",
                "AWS_ALLOW_HTTP": "true",
                "AWS_EC2_METADATA_DISABLED": "true",
            }
            with pytest.MonkeyPatch.context() as patch:
                for name, value in settings.items():
                    patch.setenv(name, value)
                system, place = fs.FileSystem.from_uri("s3://bucket?allow_bucket_creation=true")
                system.create_dir(place)
                yield "s3://bucket"
        finally:
            server.kill()
