"""Text from elsewhere, made fit for a terminal."""

from __future__ import annotations

__all__ = ["printable"]


def printable(text: str) -> str:
    r"""Write whatever does not print as an escape (``\x1b``): names may hold what moves a terminal's cursor.

    Line ends too, so that a name can't pretend to be a line of its own.
    """
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)
