"""Workers that die and freeze, and new ones under their names."""

from __future__ import annotations

from tests.faults.kinds.base import Kind
from tests.faults.world import TTL, World


class Workers(Kind):
    """SIGKILL; SIGSTOP past the ttl; gone in the middle of a snapshot; a name used by two at once."""

    name = "workers"

    def prepare(self, here: World) -> None:
        here.told["dies_in_snapshots"] = 0.01

    def strike(self, here: World) -> str | None:
        strikes = [_kill, freeze, freeze, _freeze_and_replace, _kill_planner, _kill_sweeper]
        return here.dice.choice(strikes)(here)

    def heal(self, here: World) -> None:
        here.told["dies_in_snapshots"] = 0.0


def freeze(here: World) -> str | None:
    """Stop a worker for about its ttl, and let it go on."""
    name = _frozen(here)
    return name and "a worker frozen and thawed"


def _freeze_and_replace(here: World) -> str | None:
    name = _frozen(here)
    if name:
        here.start_worker(name)
    return name and "a worker frozen, and another started under its name at once"


def _frozen(here: World) -> str | None:
    running = here.running()
    if not running or len(here.frozen) > 3:
        return None
    name, pid = here.dice.choice(running)
    here.freeze(pid, TTL * here.dice.uniform(0.5, 2.0))
    return name


def _kill(here: World) -> str | None:
    running = here.running()
    if not running:
        return None
    here.kill(here.dice.choice(running)[1])
    return "a worker killed"


def _kill_planner(here: World) -> str:
    here.planner.kill()
    return "the planner killed"


def _kill_sweeper(here: World) -> str:
    here.sweeper.kill()
    return "the sweeper killed"
