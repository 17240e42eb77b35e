"""A server's clock that is set back and forward, and sessions in three time zones."""

from __future__ import annotations

from tests.faults.kinds.base import Kind
from tests.faults.kinds.workers import freeze
from tests.faults.world import ZONES, World

# The one clock of all lease logic, and what an administrator did to it.
_SET_CLOCK = """
create table public.fault_clock (shift interval not null);
insert into public.fault_clock values ('0');
create or replace function leases._now() returns timestamptz language sql volatile
return clock_timestamp() + (select shift from public.fault_clock);
"""


class Clock(Kind):
    """The database's clock an hour back or forward, or right again; three time zones."""

    name = "time"
    pause = (0.5, 2.5)

    def prepare(self, here: World) -> None:
        here.ask(_SET_CLOCK)
        for number, name in enumerate(here.names):
            here.ask(f"alter role {name} set timezone = '{ZONES[number % len(ZONES)]}'")

    def strike(self, here: World) -> str | None:
        if here.dice.random() < 0.3:
            return freeze(here)
        return self._set(here, here.dice.choice(["1 hour", "-1 hour", "0"]))

    def heal(self, here: World) -> None:
        self._set(here, "0")

    def _set(self, here: World, shift: str) -> str | None:
        changed = here.ask(
            f"update public.fault_clock set shift = '{shift}' where shift <> '{shift}' returning 1"
        )
        return f"the clock set to {shift} from right" if changed else None
