"""What most kinds of faults have in common: nothing to prepare, and nothing to take back."""

from __future__ import annotations

from typing import ClassVar

from tests.faults.world import World


class Kind:
    """A kind that needs nothing and leaves nothing."""

    name: ClassVar[str]
    pause: ClassVar[tuple[float, float]] = (0.3, 1.5)

    def lacks(self) -> str | None:
        return None

    def prepare(self, here: World) -> None:
        pass

    def strike(self, here: World) -> str | None:
        return None

    def heal(self, here: World) -> None:
        pass
