"""The short form of ``make faults``: all kinds of faults, a few at a time, for some seconds each."""

from __future__ import annotations

import shutil

import pytest

from tests.faults import plain
from tests.faults.kinds import clock, failover, files, locks, network, server, workers
from tests.faults.play import play
from tests.faults.world import Size

SOME = {
    "workers, files and time": (workers.Workers, files.Files, clock.Clock),
    "server, wire and locks": (server.Server, network.Network, locks.Locks),
    "failover and pooler": (failover.Failover, network.Pooler, workers.Workers),
    "lossy failover": (failover.LossyFailover,),
    "restore": (failover.Restore, files.Files),
}


@pytest.mark.parametrize("name", SOME)
def test_nothing_is_lost_or_repeated(name, tmp_path):
    kinds = [kind() for kind in SOME[name]]
    for kind in kinds:
        if kind.lacks():
            pytest.skip(kind.lacks())
    if not shutil.which("stdbuf") or not shutil.which(plain.program()):
        pytest.skip("no psql, or no stdbuf")
    for folder in (tmp_path, *list(tmp_path.parents)[:2]):
        folder.chmod(0o755)
    result = play(name, kinds, Size(seconds=6, seed=1, groups=60), tmp_path)
    assert result.wrong == []
    assert (result.lost, result.repeated) == (0, 0)
    assert result.faults
    assert result.planned > 10_000
    assert result.read >= result.planned
