"""A news server's ``LIST ACTIVE`` answer: read it, and plan every group that it lists.

A line is ``name high low flag``, in bytes, the numbers in decimal (a server may pad them to ten
digits). ``LIST COUNTS`` puts before the flag how many articles there are: that is read, too. The
status line ``215 …`` may stand before the list and ``.`` ends it; a file without
them is as good. An empty group has ``low = high + 1``. Article numbers begin at 1 in this
protocol, so a low of 0 is read as 1, and ``0 0`` is an empty group, as RFC 3977 has it.

A name that is UTF-8 is kept as it is. One that is not is kept without loss in a form that no
line can spell, because it has a space in it: its broken bytes and percent signs
percent-encoded, and ``(percent-encoded)`` after it. `raw_name` gives the bytes back.
"""

from __future__ import annotations

import re
import urllib.parse
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyleases.text import printable

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pyleases.client import Leases

__all__ = [
    "ActiveList",
    "Group",
    "Malformed",
    "PlanReport",
    "plan_active",
    "raw_name",
    "read_active",
]

_ENCODED = " (percent-encoded)"
_LARGEST = 2**63 - 2  # what an article's number may be
_LONGEST_NAME = 500
_LONGEST_SHOWN = 80
_NUMBER = re.compile(rb"[0-9]+")


@dataclass(frozen=True)
class Group:
    """A group as a server lists it: articles ``low..high``, none where ``low = high + 1``."""

    name: str
    low: int
    high: int
    count: int | None = None  # how many of the numbers are articles, where the server told

    @property
    def articles(self) -> int:
        """How many numbers lie between the watermarks."""
        return self.high - self.low + 1


@dataclass(frozen=True)
class Malformed:
    """A line that is of no use: its number from 1, its text made printable, what is wrong."""

    line: int
    text: str
    reason: str


@dataclass(frozen=True)
class ActiveList:
    """What a ``LIST ACTIVE`` answer says."""

    groups: tuple[Group, ...]
    malformed: tuple[Malformed, ...]

    @property
    def empty(self) -> int:
        """How many of the groups have no articles."""
        return sum(not g.articles for g in self.groups)


@dataclass(frozen=True)
class PlanReport:
    """What planning a list did."""

    new_groups: int
    known_groups: int
    history_articles: int
    tail_articles: int


def read_active(lines: Iterable[bytes]) -> ActiveList:
    """Read a ``LIST ACTIVE`` answer. Lines that make no sense are told, and end nothing."""
    groups: dict[str, tuple[int, Group]] = {}
    malformed: list[Malformed] = []
    ended = False
    for number, raw in enumerate(lines, start=1):
        line = raw.rstrip(b"\r\n")
        if number == 1:
            line = line.removeprefix(b"\xef\xbb\xbf")
        if not line.strip() or (number == 1 and _is_status(line)):
            continue
        try:
            if line == b"." and not ended:
                ended = True
                continue
            group = _group(line)
        except ValueError as error:
            reason = str(error)
        else:
            if not ended and group.name not in groups:
                groups[group.name] = number, group
                continue
            reason = "it stands after the line that ends the list"
            if not ended:
                reason = f"the group is listed on line {groups[group.name][0]} already"
        malformed.append(Malformed(number, _shown(line), reason))
    return ActiveList(tuple(group for _, group in groups.values()), tuple(malformed))


def plan_active(
    leases: Leases,
    active: ActiveList,
    *,
    priority: int = 50,
    tail_priority: int = 10,
    tail_last: int = 0,
    size: int = 10_000,
) -> PlanReport:
    """Plan the groups of the list, all of them or none.

    What a group has at first sight is planned with ``priority``, except for its last ``tail_last``
    articles; these, and whatever is new since, with ``tail_priority``. Calls ``leases.plan_logs``.
    """
    rows = leases.plan_logs(
        [g.name for g in active.groups],
        [g.low for g in active.groups],
        [g.high for g in active.groups],
        history_priority=priority,
        tail_priority=tail_priority,
        tail_last=tail_last,
        size=size,
    )
    new = sum(row.is_new for row in rows)
    return PlanReport(
        new_groups=new,
        known_groups=len(active.groups) - new,
        history_articles=sum(row.history_articles for row in rows),
        tail_articles=sum(row.tail_articles for row in rows),
    )


def raw_name(name: str) -> bytes:
    """Give back the bytes that the server calls the group by."""
    if name.endswith(_ENCODED):
        return urllib.parse.unquote_to_bytes(name.removesuffix(_ENCODED))
    return name.encode()


def _group(line: bytes) -> Group:
    fields = re.split(rb"[ \t]+", line.strip(b" \t"))
    count = None
    if len(fields) == 5 and all(map(_NUMBER.fullmatch, fields[1:4])):
        count = _number(fields.pop(3), "count")
    if len(fields) != 4:
        raise ValueError(f"it has {len(fields)} fields, not the four of 'name high low flag'")
    name, high, low = _name(fields[0]), _number(fields[1], "high"), _number(fields[2], "low")
    low = max(low, 1)
    if high < low - 1:
        raise ValueError(f"its high {high} is below its low {low} by more than an empty group's")
    return Group(name, low, high, count)


def _name(raw: bytes) -> str:
    if b"\0" in raw:
        raise ValueError("its name has a zero byte")
    try:
        name = raw.decode()
    except UnicodeDecodeError:
        escaped = raw.replace(b"%", b"%25").decode(errors="surrogateescape")
        name = re.sub("[\udc80-\udcff]", lambda m: f"%{ord(m[0]) - 0xDC00:02X}", escaped) + _ENCODED
    if len(name) > _LONGEST_NAME:
        raise ValueError(f"its name has {len(name)} characters, more than {_LONGEST_NAME}")
    if not name.strip():
        raise ValueError("its name is blank")
    return name


def _number(raw: bytes, what: str) -> int:
    if not _NUMBER.fullmatch(raw):
        raise ValueError(f"its {what} is not a number")
    digits = raw.lstrip(b"0") or b"0"
    if len(digits) > len(str(_LARGEST)) or int(digits) > _LARGEST:
        raise ValueError(f"its {what} is above {_LARGEST}")
    return int(digits)


def _is_status(line: bytes) -> bool:
    """Tell the protocol's status line from a group that is called 215."""
    if not line.startswith((b"215 ", b"215\t")) and line != b"215":
        return False
    try:
        _group(line)
    except ValueError:
        return True
    return False


def _shown(line: bytes) -> str:
    text = line.decode(errors="backslashreplace")
    text = printable(text)
    return text if len(text) <= _LONGEST_SHOWN else text[: _LONGEST_SHOWN - 1] + "…"
