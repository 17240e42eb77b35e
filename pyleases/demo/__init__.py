"""The main job on one command: index a news server's groups, and prove it by the tapes.

A PostgreSQL of its own is started unless one is given, and a fresh database made in it. Worker
processes read every group in both lanes while new articles arrive. One is killed in the middle,
another is frozen past its ttl and finds its group taken when it wakes. In the end the windows,
which are tapes of the article numbers read, are taken from the snapshot files and held against
the lists that were planned.
"""

from pyleases.demo.direct import DemoError, Settings, run_demo
from pyleases.demo.show import show

__all__ = ["DemoError", "Settings", "run_demo", "show"]
