"""The window of the indexer: what it finds depends on the articles alone."""

from __future__ import annotations

import io
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from examples.usenet.news import Overview
from examples.usenet.window import Window

WIDTH = 6


def article(number: int, subject: str, poster: str = "p") -> Overview:
    return Overview(number, f"<{number}@x>", poster, subject)


def found(posts):
    return [(p.name, p.numbers) for p in posts]


# Numbers with gaps, and few names, so that posts mix, repeat parts and grow too old.
logs = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from("abc"), st.integers(1, 3), st.integers(1, 3))
).map(
    lambda rows: [
        article(sum(gap for gap, *_ in rows[: i + 1]), f"{name} ({part}/{total})")
        for i, (_, name, part, total) in enumerate(rows)
    ]
)


def plainly(log: list[Overview]) -> list[tuple[str, tuple[int, ...]]]:
    """The same rules without a window: look back at all that was read, each time."""
    done, used = [], set()
    for i, last in enumerate(log):
        name, count = last.subject.split(" ", 1)
        part, total = map(int, count.strip("()").split("/"))
        if part > total:
            done.append((last.subject, (last.number,)))
            continue
        mine = [
            a for a in log[: i + 1] if a.subject.startswith(f"{name} (") and a.number not in used
        ]
        mine = [a for a in mine if a.subject.endswith(f"/{total})") and part_of(a) <= total]
        # What is too old for its first article goes as a whole, again and again.
        while mine:
            late = next((a for a in mine if a.number - mine[0].number > WIDTH), None)
            if late is None:
                break
            used.update(a.number for a in mine if a.number < late.number)
            mine = [a for a in mine if a.number >= late.number]
        parts = {}
        for a in mine:
            parts.setdefault(part_of(a), a.number)
        if len(parts) == total:
            done.append((name, tuple(parts[n] for n in sorted(parts))))
            used.update(a.number for a in mine)
    return done


def part_of(a: Overview) -> int:
    return int(a.subject.split("(")[1].split("/")[0])


@given(logs)
def test_it_finds_what_the_rules_say(log):
    assert found(Window(WIDTH).read(log, 10**6)) == plainly(log)


@given(logs, st.lists(st.integers(0, 40)))
def test_batches_and_snapshots_change_nothing(log, cuts):
    whole, window, posts = Window(WIDTH).read(log, 10**6), Window(WIDTH), []
    edges = sorted({0, *(min(cut, len(log)) for cut in cuts), len(log)})
    for start, end in itertools.pairwise(edges):
        posts += window.read(log[start:end], log[end - 1].number + 1)
        window = Window.load(io.BytesIO(window.dump()))
    assert posts == whole
    assert [p.post_id for p in posts] == [p.post_id for p in whole]


def test_an_article_is_never_read_twice():
    window = Window(WIDTH)
    window.read([article(5, "a (1/2)")], 8)
    with pytest.raises(ValueError, match="article 7 again"):
        window.read([article(7, "a (2/2)")], 9)


def test_a_fresh_window_finds_what_began_below_and_not_what_ended_there():
    log = [article(n, f"name {n // 4} ({n % 4 + 1}/4)") for n in range(4, 40)]

    def overviews(first, last):
        return [a for a in log if first <= a.number <= last]

    whole = Window(WIDTH).read(log, 40)
    for cut in range(1, 41):
        window = Window.fresh(WIDTH, cut, overviews)
        above = window.read(overviews(cut, 40), 41)
        assert above == [post for post in whole if post.numbers[-1] >= cut]


def test_the_window_is_bounded_by_age():
    window = Window(WIDTH)
    window.read([article(n, f"name {n} (1/2)") for n in range(1, 100)], 100)
    assert len(window) == WIDTH + 1


@pytest.mark.parametrize(
    ("subject", "name", "total"),
    [
        ("holiday (01/02) yEnc", "holiday yEnc", 2),
        ("[07/12] file.bin [1/2]", "[07/12] file.bin", 2),
        ("what is 3/4 of it?", None, 1),
        ("no such part (3/2)", None, 1),
        ("part (0/2)", None, 1),
    ],
)
def test_subjects(subject, name, total):
    posts = Window(WIDTH).read([article(1, subject)], 2)
    assert bool(posts) == (total == 1)
    if posts:
        assert posts[0].name == subject
    else:
        window = Window(WIDTH)
        other = subject.replace("01/", "02/").replace("[1/", "[2/")
        assert window.read([article(1, subject), article(2, other)], 3)[0].name == name
