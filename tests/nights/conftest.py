"""An S3 server, and an output on it or in a folder."""

import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from pyarrow import fs


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


@pytest.fixture(params=["disk", pytest.param("s3", marks=pytest.mark.slow)])
def output(request, tmp_path):
    """An output that does not exist yet."""
    if request.param == "disk":
        return str(tmp_path / "out")
    return f"{request.getfixturevalue('bucket')}/{tmp_path.name}"
