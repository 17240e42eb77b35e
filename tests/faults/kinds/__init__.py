"""The kinds of faults, a file each."""

from __future__ import annotations

from tests.faults.kinds.clock import Clock
from tests.faults.kinds.failover import Failover, LossyFailover, Restore
from tests.faults.kinds.files import Files
from tests.faults.kinds.locks import Locks
from tests.faults.kinds.network import Network, Pooler
from tests.faults.kinds.nothing import Nothing
from tests.faults.kinds.server import Server
from tests.faults.kinds.workers import Workers

ALONE = (
    *(Nothing, Workers, Server, Network, Pooler, Failover, LossyFailover, Restore),
    *(Files, Clock, Locks),
)
TOGETHER = (Workers, Server, Network, Pooler, Failover, Restore, Files, Clock, Locks)
