"""The window of an indexer: the posts that are not complete yet."""

from __future__ import annotations

import json
import re
import uuid
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import BinaryIO, Self

import zstandard

from examples.usenet.news import Overview

_PART = re.compile(r"(.*)[(\[]0*(\d{1,5})/0*(\d{1,5})[)\]](.*)", re.DOTALL)
_NAMESPACE = uuid.UUID("c0d9d27e-3f0a-5c1e-9d2b-6b1f3a5d7e90")

Part = tuple[int, str]  # an article's number and message id


@dataclass(frozen=True, slots=True)
class Post:
    """A complete post: its parts' articles in the order of the parts."""

    poster: str
    name: str
    numbers: tuple[int, ...]
    message_ids: tuple[str, ...]

    @property
    def post_id(self) -> uuid.UUID:
        """The same for the same list of parts, whoever found it and whenever."""
        return uuid.uuid5(_NAMESPACE, ",".join(map(str, self.numbers)))


@dataclass
class _Open:
    first: int  # the number of the article that opened it
    parts: dict[int, Part] = field(default_factory=dict)


class Window:
    """The incomplete posts of a lane, after all articles below `next`.

    A post is given up when it is not complete ``width`` numbers after its first article. That bounds the window,
    and what is given up depends on the articles alone: not on clocks, batches or snapshots.
    """

    def __init__(self, width: int, next_id: int = 0) -> None:
        self.width = width
        self.next = next_id
        self._open: dict[tuple[str, str, int], _Open] = {}  # the oldest first

    @classmethod
    def fresh(
        cls, width: int, next_id: int, overviews: Callable[[int, int], list[Overview]]
    ) -> Self:
        """Begin a window at ``next_id``, with the posts that began below and may be completed above.

        Those that are complete below are for who reads there.
        """
        window = cls(width, max(1, next_id - width))
        if window.next < next_id:
            window.read(overviews(window.next, next_id - 1), next_id)
        return window

    def __len__(self) -> int:
        return len(self._open)

    def read(self, articles: Iterable[Overview], next_id: int) -> list[Post]:
        """Read articles in order, all that there are below ``next_id``; return the posts that they complete."""
        found = [post for article in articles if (post := self._add(article))]
        self.next = next_id
        return found

    def _add(self, article: Overview) -> Post | None:
        if article.number < self.next:
            raise ValueError(
                f"article {article.number} again: the window has all below {self.next}"
            )
        self.next = article.number + 1
        self._give_up(article.number - self.width)
        name, part, total = _parse(article.subject)
        key = (article.poster, name, total)
        post = self._open.setdefault(key, _Open(article.number))
        post.parts.setdefault(
            part, (article.number, article.message_id)
        )  # a repost changes nothing
        if len(post.parts) < total:
            return None
        del self._open[key]
        numbers, ids = zip(*(post.parts[n] for n in sorted(post.parts)), strict=True)
        return Post(article.poster, name, numbers, ids)

    def _give_up(self, before: int) -> None:
        while self._open:
            oldest = next(iter(self._open))
            if self._open[oldest].first >= before:
                return
            del self._open[oldest]

    def dump(self) -> bytes:
        """Return the window as bytes: JSON in zstd."""
        posts = [(*key, post.first, sorted(post.parts.items())) for key, post in self._open.items()]
        state = {"width": self.width, "next": self.next, "open": posts}
        return zstandard.compress(json.dumps(state).encode())

    @classmethod
    def load(cls, body: BinaryIO) -> Self:
        """Read what `dump` gave."""
        with zstandard.open(body) as plain:
            state = json.load(plain)
        window = cls(state["width"], state["next"])
        for poster, name, total, first, parts in state["open"]:
            window._open[poster, name, total] = _Open(first, {n: (a, i) for n, (a, i) in parts})
        return window


def _parse(subject: str) -> tuple[str, int, int]:
    """Take ``name (3/17)`` apart; whatever is not of that kind is a post of one part."""
    match = _PART.fullmatch(subject)
    if match:
        part, total = int(match[2]), int(match[3])
        if 1 <= part <= total:
            return f"{match[1].strip()} {match[4].strip()}".strip(), part, total
    return subject, 1, 1
