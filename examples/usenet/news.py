"""The client of a news server: overviews and lists, asked again on a new connection where the old one breaks."""

from __future__ import annotations

import functools
import ssl
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar
from urllib.parse import unquote, urlsplit

import tenacity

from pyleases.active import raw_name

with warnings.catch_warnings():
    # Up to Python 3.12 it is in the standard library, since then in the package standard-nntplib.
    warnings.simplefilter("ignore", DeprecationWarning)
    import nntplib

NewsError = nntplib.NNTPError  # the server answers, but not what was hoped for
_GONE = "423"  # no article left in the range
_CLOSING = "400"  # goodbye
_Answer = TypeVar("_Answer")


@dataclass(frozen=True, slots=True)
class Overview:
    """What an indexer needs of an article."""

    number: int
    message_id: str
    poster: str
    subject: str


class News:
    """A news server, by its URL: ``nntp://host:port``, or with TLS ``nntps://user:password@host``.

    While it does not answer it is asked again for ``patience`` seconds, and then OSError raised.
    ``cafile`` names the certificates to trust in place of the machine's.
    """

    def __init__(self, url: str, *, cafile: str | None = None, patience: float = 60.0) -> None:
        self._url = urlsplit(url)
        self._cafile = cafile
        self._patience = patience
        self._client: nntplib.NNTP | None = None

    def overviews(
        self, group: str, first: int, last: int, meanwhile: Callable[[], None] = lambda: None
    ) -> list[Overview]:
        """Return the articles ``first..last``, without those that are gone.

        ``meanwhile`` is called each time before the server is asked again.
        """
        rows = self._ask(functools.partial(_over, group, first, last), meanwhile)
        return [
            Overview(n, *(_text(row[header]) for header in ("message-id", "from", "subject")))
            for n, row in rows
        ]

    def groups(self) -> list[bytes]:
        """Return the lines of ``LIST COUNTS`` where it is offered, else of ``LIST ACTIVE``."""
        return self._ask(_list, lambda: None)

    def _ask(
        self, question: Callable[[nntplib.NNTP], _Answer], meanwhile: Callable[[], None]
    ) -> _Answer:
        again = tenacity.Retrying(
            retry=tenacity.retry_if_exception(_is_lost),
            wait=tenacity.wait_exponential(0.1, max=1),
            stop=tenacity.stop_after_delay(self._patience),
            before_sleep=lambda _: meanwhile(),
            reraise=True,
        )
        answer: _Answer = again(self._ask_once, question)
        return answer

    def _ask_once(self, question: Callable[[nntplib.NNTP], _Answer]) -> _Answer:
        try:
            self._client = self._client or self._connect()
            return question(self._client)
        except Exception as error:
            if self._client:
                self._client._close()  # type: ignore[attr-defined]
            self._client = None
            if isinstance(error, EOFError) or getattr(error, "response", "").startswith(_CLOSING):
                raise ConnectionResetError("the news server closed the connection") from error
            raise

    def _connect(self) -> nntplib.NNTP:
        url, host = self._url, self._url.hostname or "localhost"
        user, password = (unquote(part) if part else None for part in (url.username, url.password))
        options: dict[str, Any] = {"user": user, "password": password, "timeout": 20}
        if url.scheme == "nntps":
            context = ssl.create_default_context(cafile=self._cafile)
            return nntplib.NNTP_SSL(host, url.port or 563, ssl_context=context, **options)
        return nntplib.NNTP(host, url.port or 119, **options)


def _is_lost(error: BaseException) -> bool:
    return isinstance(error, OSError) and not isinstance(error, ssl.SSLCertVerificationError)


def _over(group: str, first: int, last: int, client: nntplib.NNTP) -> list[tuple[int, Any]]:
    # GROUP each time: a server looks no further than the group reached when it was last chosen.
    client.group(raw_name(group).decode("utf-8", "surrogateescape"))
    try:
        return [row for row in client.over((first, last))[1] if first <= row[0] <= last]
    except nntplib.NNTPTemporaryError as error:
        if error.response.startswith(_GONE):
            return []
        raise


def _list(client: nntplib.NNTP) -> list[bytes]:
    counts = "COUNTS" in client.getcapabilities().get("LIST", ())
    # The library's own list() takes the lines apart, and it has none for LIST COUNTS.
    command = "LIST COUNTS" if counts else "LIST ACTIVE"
    return list(client._longcmd(command)[1])  # type: ignore[attr-defined]


def _text(header: str) -> str:
    """Decode a header for a database, which takes neither broken bytes nor NUL."""
    raw = nntplib.decode_header(header).encode("utf-8", "surrogateescape")
    return raw.decode("utf-8", "replace").replace("\0", "\ufffd")
