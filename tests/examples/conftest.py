"""What the tests of the examples need of the machine."""

from __future__ import annotations

import pytest

from examples.usenet.trial.server import NewsServerError, find_inn


@pytest.fixture(scope="session")
def inn() -> None:
    """Skip where there is no INN."""
    try:
        find_inn()
    except NewsServerError as error:
        pytest.skip(str(error))
