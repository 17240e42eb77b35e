"""Run a script by pgbench and read each transaction's time from its log."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bench.world import Database, World

__all__ = ["NO_WAIT", "Run", "run"]

# Where the disk's part of a call would only hide what is looked for.
NO_WAIT = "-c synchronous_commit=off"

_WARM_UP = 0.3  # seconds at the start of a run that do not count, where enough is left


@dataclass(frozen=True)
class Run:
    """One contender's turn: ``total`` transactions were made, those after the warm-up count."""

    total: int
    rate: float  # a second
    milliseconds: NDArray[np.float64]  # of each that counts, in the order of completion

    @property
    def counted(self) -> int:
        return len(self.milliseconds)

    def percentile(self, percent: float) -> float:
        return float(np.percentile(self.milliseconds, percent))

    @property
    def p50(self) -> float:
        return self.percentile(50)

    @property
    def p99(self) -> float:
        return self.percentile(99)

    @property
    def mean(self) -> float:
        return float(self.milliseconds.mean())


def run(
    world: World,
    database: Database,
    script: str,
    *,
    clients: int = 1,
    seconds: int | None = None,
    transactions: int | None = None,
    variables: Mapping[str, object] | None = None,
    options: str = "",
    rate: int | None = None,
    warm_up: float = _WARM_UP,
) -> Run:
    """Run the script for so many seconds or transactions (of each client). Raises if any of them failed."""
    with tempfile.TemporaryDirectory(prefix="pyleases-bench-") as folder:
        path = Path(folder, "script.sql")
        path.write_text(script)
        command: list[str | Path] = [
            *(world.server.bin_dir / "pgbench", "--no-vacuum", "--protocol=prepared", "--log"),
            *(f"--log-prefix={folder}/log", f"--client={clients}", f"--jobs={min(clients, 2)}"),
            *(f"--define={name}={value}" for name, value in (variables or {}).items()),
            *([f"--time={seconds}"] if seconds else [f"--transactions={transactions}"]),
            *([f"--rate={rate}"] if rate else []),
            *(f"--file={path}", database.dsn),
        ]
        done = subprocess.run(
            command,
            capture_output=True,
            text=True,
            check=False,
            env={k: v for k, v in os.environ.items() if not k.startswith("PG")}
            | {"PGOPTIONS": options},
        )
        if done.returncode or "aborted" in done.stderr:
            raise RuntimeError(f"pgbench failed on {database.name}:\n{done.stderr}\n{script}")
        return _read(Path(folder), warm_up)


def _read(folder: Path, warm_up: float) -> Run:
    """Read the log's lines: client, number, microseconds, script, epoch seconds and microseconds of the end."""
    text = "".join(p.read_text() for p in sorted(folder.glob("log.*")))
    if "failed" in text or "skipped" in text:
        raise RuntimeError("a transaction failed in pgbench")
    rows = np.array([line.split()[:6] for line in text.splitlines()], dtype=np.float64)
    if not len(rows):
        raise RuntimeError("pgbench made no transaction")
    ends = rows[:, 4] + rows[:, 5] / 1e6
    begins = ends - rows[:, 2] / 1e6
    rows, ends, begins = (a[np.argsort(ends)] for a in (rows, ends, begins))
    start = begins.min()
    counts = begins >= start + warm_up
    if counts.sum() < 10:  # few and slow: all of them count
        counts[:] = True
    else:
        start += warm_up
    rate = counts.sum() / (ends.max() - start)
    return Run(len(rows), float(rate), rows[counts, 2] / 1000)
