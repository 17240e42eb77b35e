from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest


@pytest.fixture
def pyleases_cli(dsn):
    """Run a command of the command line as a user does, on the test's database."""

    def run(*arguments, stdin=None, code=0, env=None):
        done = subprocess.run(
            [sys.executable, "-m", "pyleases", *map(str, arguments)],
            input=stdin,
            capture_output=True,
            check=False,
            env=os.environ | {"PYLEASES_DSN": dsn} | (env or {}),
        )
        assert done.returncode == code, (done.stdout, done.stderr)
        return done.stdout.decode(), done.stderr.decode()

    return run


@pytest.fixture(scope="session")
def real_data():
    """The folder of real files, where there is one."""
    named = os.environ.get("PYLEASES_TEST_DATA")
    folder = Path(named) if named else Path(__file__).parents[3] / "shared" / "data"
    if not (folder / "news.active").is_file():
        pytest.skip("no real data here; name its folder in PYLEASES_TEST_DATA")
    return folder
