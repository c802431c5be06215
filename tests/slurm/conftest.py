"""What the tests on a cluster share: one SLURM for all of them."""

from collections.abc import Iterator

import pytest

from .cluster import Cluster


@pytest.fixture(scope="session")
def cluster() -> Iterator[Cluster]:
    """Return a running SLURM."""
    with Cluster() as running:
        yield running
