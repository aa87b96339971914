"""An S3 server, and an output on it or in a folder."""

import os

import pytest
import servers
from pyarrow import fs


@pytest.fixture(scope="module")
def bucket(tmp_path_factory):
    program = os.environ.get("MOTO_SERVER")
    if not program:
        pytest.skip(
            "needs the S3 server of moto: pip install 'moto[server]', and its bin/moto_server in MOTO_SERVER"
        )
    log, port = tmp_path_factory.mktemp("moto") / "log", servers.free_port()
    settings = {
        "AWS_ENDPOINT_URL": f"http://127.0.0.1:{port}",
        "AWS_ACCESS_KEY_ID": "test",
        "AWS_SECRET_ACCESS_KEY": "test",
        "AWS_REGION": "us-east-1",
        "AWS_EC2_METADATA_DISABLED": "true",
    }
    with (
        servers.running([program, "-H", "127.0.0.1", "-p", port], log, {**os.environ}),
        pytest.MonkeyPatch.context() as at,
    ):
        servers.wait_until(lambda: servers.answers(port), "the S3 server of moto", log)
        for name, value in settings.items():
            at.setenv(name, value)
        system, folder = fs.FileSystem.from_uri("s3://bucket?allow_bucket_creation=true")
        system.create_dir(folder)
        yield "s3://bucket"


@pytest.fixture(params=["disk", pytest.param("s3", marks=pytest.mark.slow)])
def output(request, tmp_path):
    """An output that does not exist yet."""
    if request.param == "disk":
        return str(tmp_path / "out")
    return f"{request.getfixturevalue('bucket')}/{tmp_path.name}"
