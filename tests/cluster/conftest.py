"""A real Ray cluster of one node or two."""

from __future__ import annotations

import pytest

from tests.cluster.nodes import NoNamespaces, ray_cluster


@pytest.fixture(scope="session")
def cluster():
    """Start the head of a cluster of one core; tests start the second node where they need one."""
    pytest.importorskip("ray", reason="Ray is not installed: make test-cluster")
    try:
        with ray_cluster() as made:
            yield made
    except NoNamespaces as why:
        pytest.skip(str(why))
