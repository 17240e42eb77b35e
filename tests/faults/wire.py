"""A proxy between clients and a server, which loses what it is told to lose."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Literal

Fate = Literal["pass", "lose request", "lose answer", "delay", "cut in answer"]

_HEAD = 5  # bytes of a message's type and length
_READY = ord("Z")


@dataclass
class Wire:
    """Listens on a port of this machine. ``fate`` decides over each request as it comes.

    An answer is lost once the server has said that it is ready for the next request: what was asked is
    committed then. Losing anything cuts the connection, as a network would.
    """

    target: str  # the server's socket
    pooler: str | None = None  # another way to it, which every other connection goes
    fate: Callable[[], Fate] = lambda: "pass"
    delay: float = 0.0
    is_down: bool = False  # nobody gets through, and who was through is cut off
    lost: dict[str, int] = field(default_factory=dict)
    refused: int = 0
    port: int = 0
    _count: int = 0
    _links: set[_Link] = field(default_factory=set)

    def __enter__(self) -> Wire:
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._close())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()
        self._loop.close()

    def lose(self, *fates: Fate) -> None:
        """Let these be the next requests' fates, and all later ones pass."""
        rest = list(fates)
        self.fate = lambda: rest.pop(0) if rest else "pass"

    def down(self) -> None:
        """Cut all connections and let none be made."""
        self.is_down = True
        self.cut()

    def up(self) -> None:
        """Let connections be made again."""
        self.is_down = False

    def cut(self) -> int:
        """Cut all connections that there are; return how many."""
        return self._call(self._cut())

    def _listen(self) -> None:
        self._server = self._call(asyncio.start_server(self._linked, "127.0.0.1", self.port))
        self.port = self._server.sockets[0].getsockname()[1]

    def _call(self, work):  # type: ignore[no-untyped-def]
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(10)

    async def _cut(self) -> int:
        links = list(self._links)
        for link in links:
            link.cut()
        return len(links)

    async def _close(self) -> None:
        self._server.close()
        await self._cut()
        others = [t for t in asyncio.all_tasks() if t is not asyncio.current_task()]
        await asyncio.wait(others, timeout=2) if others else None

    async def _linked(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_down:
            self.refused += 1
            writer.transport.abort()
            return
        try:
            self._count += 1
            by_pooler = self.pooler is not None and self._count % 2
            path = self.pooler if by_pooler else self.target
            server = await asyncio.open_unix_connection(path)
        except OSError:
            self.refused += 1
            writer.transport.abort()
            return
        link = _Link(self, writer, server[1])
        self._links.add(link)
        try:
            if self.is_down:  # since it was asked
                return
            await asyncio.gather(link.requests(reader), link.answers(server[0]))
        finally:
            self._links.discard(link)
            link.cut()


@dataclass(eq=False)
class _Link:
    wire: Wire
    client: asyncio.StreamWriter
    server: asyncio.StreamWriter
    fate: Fate = "pass"
    is_started: bool = False  # requests count from the first 'ready for query' on

    def cut(self) -> None:
        for writer in (self.client, self.server):
            writer.transport.abort()

    async def requests(self, reader: asyncio.StreamReader) -> None:
        with contextlib.suppress(OSError):
            while data := await reader.read(1 << 16):
                self.fate = self.wire.fate() if self.is_started and data[:1] != b"X" else "pass"
                if self.fate == "lose request":
                    self._lose()
                    return
                self.server.write(data)
                await self.server.drain()
        self.server.transport.abort()

    async def answers(self, reader: asyncio.StreamReader) -> None:
        answer = bytearray()
        with contextlib.suppress(OSError, asyncio.IncompleteReadError):
            while True:
                head = await reader.readexactly(_HEAD)
                answer += head + await reader.readexactly(int.from_bytes(head[1:]) - 4)
                if head[0] == _READY or not self.is_started:
                    if not await self._answer(bytes(answer)):
                        return
                    self.is_started |= head[0] == _READY
                    answer.clear()
            return
        self.client.write(bytes(answer))  # the server's last words
        with contextlib.suppress(OSError):
            await self.client.drain()
        self.client.close()

    async def _answer(self, answer: bytes) -> bool:
        if self.fate == "lose answer":
            self._lose()
            return False
        if self.fate == "cut in answer":
            self.client.write(answer[: len(answer) // 2])
            with contextlib.suppress(OSError):
                await self.client.drain()
            self._lose()
            return False
        if self.fate == "delay":
            self.wire.lost["delay"] = self.wire.lost.get("delay", 0) + 1
            await asyncio.sleep(self.wire.delay)
        self.client.write(answer)
        await self.client.drain()
        return True

    def _lose(self) -> None:
        self.wire.lost[self.fate] = self.wire.lost.get(self.fate, 0) + 1
        self.cut()
