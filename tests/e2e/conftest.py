import os

import pytest

import helpers


def pytest_sessionstart(session):
    if not os.access(helpers.BINARY, os.X_OK):
        pytest.exit(f"{helpers.BINARY} is missing; build it, or run tools/run-tests e2e", 2)


@pytest.fixture(scope="session")
def live_samples():
    """A few samples of this very host."""
    return helpers.watch_samples(5, "-i", "0.1")


@pytest.fixture(scope="session")
def live_csv():
    """Output of a short run in CSV."""
    done = helpers.run("-i", "0.1", "-f", "csv", "--", "sleep", "0.55")
    assert done.returncode == 0
    return done.stderr
