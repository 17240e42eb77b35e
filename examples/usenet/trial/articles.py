"""What the news server is filled with: made posts, and real articles where the folder of them is there.

Posts are what makes an indexer work: parts in separate articles, those of several posters interleaved, some missing,
some posted again, some cancelled or expired.

Whether a part that vanishes while the indexer runs was read depends on when it was read. So that the catalog does
not, such parts are of posts that lack another part as well. Before the run any part may be cancelled.
"""

from __future__ import annotations

import mailbox
import random
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from email.utils import formatdate
from pathlib import Path

import tenacity

from examples.usenet.news import nntplib  # type: ignore[attr-defined]
from examples.usenet.trial.server import HOST, NewsServer

REAL_GROUPS = [
    "test.lkml",
    *(f"example.{n}" for n in ("config", "moderated", "test", "weird", "alias")),
]
_FIRST_DATE = 1_700_000_000  # of the made articles


@dataclass(frozen=True)
class Article:
    """An article to post: its message id, and all of it in bytes."""

    message_id: str
    lines: bytes


@dataclass
class _Post:
    """A post on its way: the parts that are still to be sent."""

    groups: tuple[str, ...]
    poster: str
    name: str
    total: int
    to_send: list[int]
    cancels: set[int] = field(default_factory=set)


class Maker:
    """Makes articles, the same for the same seed."""

    def __init__(self, groups: Sequence[str], seed: int, width: int) -> None:
        self.groups = list(groups)
        self.width = width
        self.live = False  # from now on the indexer reads along
        self._random = random.Random(seed)  # noqa: S311
        self._open: dict[str, list[_Post]] = {group: [] for group in groups}
        self._late: list[tuple[int, _Post]] = []
        self._made = 0

    def expiring(self, count: int, expires: float) -> Iterator[Article]:
        """Yield articles for the low end of each group, of posts without a first part, which expire then."""
        for group in self.groups:
            for n in range(count):
                post = _Post(
                    (group,), "old <old@example.invalid>", f"old {n // 8} {expires:.0f}", 9, []
                )
                yield self._article(post, 2 + n % 8, expires)

    def articles(self, count: int) -> Iterator[Article]:
        """Yield about so many articles, with the messages that cancel some."""
        end = self._made + count
        while self._made < end:
            post = self._next()
            part = post.to_send.pop(0)
            article = self._article(post, part)
            yield article
            if part in post.cancels or (not self.live and self._random.random() < 0.003):
                yield self._cancel(post, article)

    def _next(self) -> _Post:
        if self._late and self._late[0][0] <= self._made:
            return self._late.pop(0)[1]
        group = self._random.choice(self.groups)
        posts = self._open[group]
        posts[:] = [post for post in posts if post.to_send]
        while len(posts) < 8:
            posts.append(self._new(group))
        return self._random.choice(posts)

    def _new(self, group: str) -> _Post:
        rng = self._random
        total = rng.choice((1, 1, 2, 3, 5, 8, 13, 21, 34))
        others = rng.sample([g for g in self.groups if g != group], 1 if rng.random() < 0.1 else 0)
        to_send = list(range(1, total + 1))
        for _ in range(rng.choice((0, 0, 1, 4))):  # not quite in order
            at = rng.randrange(total)
            to_send.insert(min(at + 2, total - 1), to_send.pop(at))
        name = f"{rng.choice(('holiday', 'linux iso', 'field notes', 'Ton und Licht'))} {rng.getrandbits(40):x}"
        poster = f"Poster {rng.randrange(40)} <p{rng.randrange(40)}@example.invalid>"
        post = _Post((group, *others), poster, name, total, to_send)
        if total > 1:
            self._harm(post)
        return post

    def _harm(self, post: _Post) -> None:
        """Let a part be missing, posted again, cancelled, or far too late."""
        rng, kind = self._random, self._random.random()
        if kind < 0.12:
            post.to_send.remove(rng.randint(1, post.total))
        elif kind < 0.24:
            again = rng.randint(1, post.total)
            post.to_send.insert(rng.randrange(post.to_send.index(again) + 1, post.total + 1), again)
        elif kind < 0.34:
            post.cancels.add(rng.randint(1, post.total))
            post.to_send.remove(rng.choice([n for n in post.to_send if n not in post.cancels]))
        elif kind < 0.38:
            late = _Post(post.groups, post.poster, post.name, post.total, [post.to_send.pop()])
            self._late.append((self._made + 2 * self.width * len(self.groups), late))

    def _article(self, post: _Post, part: int, expires: float | None = None) -> Article:
        self._made += 1
        count = f" ({part}/{post.total})" if post.total > 1 else ""
        headers = {
            "From": post.poster,
            "Newsgroups": ",".join(post.groups),
            "Subject": f"{post.name}{count}",
        }
        if expires is not None:
            headers["Expires"] = formatdate(expires)
        return self._written(headers, f"part {part}\r\n" * self._random.randint(1, 20))

    def _cancel(self, post: _Post, article: Article) -> Article:
        control = f"cancel {article.message_id}"
        headers = {
            "From": post.poster,
            "Newsgroups": ",".join(post.groups),
            "Subject": f"cmsg {control}",
        }
        return self._written(headers | {"Control": control}, "cancelled\r\n")

    def _written(self, headers: dict[str, str], body: str) -> Article:
        message_id = f"<{self._random.getrandbits(80):x}@example.invalid>"
        headers |= {
            "Path": "made!not-for-mail",
            "Date": formatdate(_FIRST_DATE + self._made),
            "Message-ID": message_id,
        }
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        return Article(message_id, f"{head}\r\n{body}".encode())


def real_articles(data: Path) -> Iterator[Article]:
    """Yield the real articles in the folder of real data; none where it is not there."""
    folder = data / "inn-tests" / "articles"
    texts = [path.read_bytes() for path in sorted(folder.glob("*"))]
    if (data / "lkml-shape.mbox").exists():
        texts += [bytes(m) for m in mailbox.mbox(data / "lkml-shape.mbox", create=False)]
    for text in texts:
        lines = text.replace(b"\r\n", b"\n").split(b"\n")
        for line in lines[: lines.index(b"")]:
            if line.lower().startswith(b"message-id:"):
                yield Article(line.split(b":", 1)[1].strip().decode(), b"\r\n".join(lines))


class Feed:
    """A peer that sends articles to the news server."""

    def __init__(self, server: NewsServer) -> None:
        self._server = server
        self._client: nntplib.NNTP | None = None
        self.accepted = self.refused = 0

    def send_all(self, articles: Iterable[Article], pause: float = 0.0) -> None:
        """Send articles, with so many seconds between two."""
        for article in articles:
            self.send(article)
            time.sleep(pause)

    @tenacity.retry(
        retry=tenacity.retry_if_exception_type((OSError, EOFError)), wait=tenacity.wait_fixed(0.2)
    )
    def send(self, article: Article) -> None:
        """Send an article, again and again while the server is away."""
        client, self._client = self._client, None  # kept only where it answers
        client = client or nntplib.NNTP(HOST, self._server.feed, timeout=20)
        try:
            client.ihave(article.message_id, article.lines)
            self.accepted += 1
        except nntplib.NNTPTemporaryError as error:
            if not error.response.startswith(("435", "437")):  # not wanted, refused
                raise ConnectionResetError(str(error)) from error
            self.refused += 1
        self._client = client
