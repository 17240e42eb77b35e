"""A disk that fails in this process: short writes, and EIO when it is written, synced or closed."""

from __future__ import annotations

import errno
import io
import os
import random
from datetime import timedelta
from typing import Any


def age(seconds: float) -> timedelta:
    return timedelta(seconds=seconds)


class _BadFile(io.FileIO):
    """A raw file that writes less than it was given, or fails."""

    def __init__(self, descriptor: int, dice: random.Random, odds: float) -> None:
        super().__init__(descriptor, "wb")
        self._dice, self._odds = dice, odds

    def write(self, data: Any) -> int:
        if self._dice.random() < self._odds:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        if self._dice.random() < 0.5:
            with memoryview(data) as view:
                return super().write(view[: max(1, len(view) // 2)])
        return super().write(data)

    def close(self) -> None:
        was_open = not self.closed
        super().close()
        if was_open and self._dice.random() < self._odds:
            raise OSError(errno.EIO, os.strerror(errno.EIO))


def spoil(dice: random.Random, odds: float) -> None:
    """Let files written in this process fail, each of write, sync and close with these odds."""
    sync, fdopen = os.fsync, os.fdopen

    def bad_sync(descriptor: int) -> None:
        sync(descriptor)
        if dice.random() < odds:
            raise OSError(errno.EIO, os.strerror(errno.EIO))

    def bad_fdopen(descriptor: int, mode: str = "r", *rest: Any, **options: Any) -> Any:
        if mode != "wb":
            return fdopen(descriptor, mode, *rest, **options)
        return io.BufferedWriter(_BadFile(descriptor, dice, odds))

    os.fsync = bad_sync
    os.fdopen = bad_fdopen
