"""Reading LIST ACTIVE: its shape, its traps, and names that are no names."""

from __future__ import annotations

import io

import pytest

from pyleases.active import Group, raw_name, read_active


def read(text):
    return read_active(io.BytesIO(text))


def reasons(text):
    return [(bad.line, bad.reason) for bad in read(text).malformed]


@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("status", [b"", b"215 list of newsgroups follows\n", b"215\n"])
@pytest.mark.parametrize("dot", [b"", b".\n", b".", b".\n\n"])
def test_status_line_end_line_and_both_line_ends_are_lived_with(end, status, dot):
    text = status + b"a.b 0000000012 0000000003 y\nc 0000000000 0000000001 m\n" + dot
    active = read(text.replace(b"\n", end))
    assert active.groups == (Group("a.b", 3, 12), Group("c", 1, 0))
    assert active.malformed == ()
    assert active.empty == 1


def test_a_group_called_215_on_the_first_line_is_a_group():
    assert read(b"215 9 1 y\n").groups == (Group("215", 1, 9),)


def test_a_last_line_without_its_end_is_read_and_a_cut_one_told():
    assert read(b"a 2 1 y").groups == (Group("a", 1, 2),)
    assert reasons(b"a 2 1 y\nb 20000") == [
        (2, "it has 2 fields, not the four of 'name high low flag'")
    ]


@pytest.mark.parametrize(
    ("line", "group"),
    [
        (b"g 0000000500 0000000501 y", Group("g", 501, 500)),
        (b"g 0 0 y", Group("g", 1, 0)),
        (b"g 7 7 y", Group("g", 7, 7)),
        (b"g 5 0 y", Group("g", 1, 5)),
        (b"g 2147483648 2147483648 y", Group("g", 2**31, 2**31)),
        (b"g 10600000000 5232777007 y", Group("g", 5232777007, 10600000000)),
        (b"g 9223372036854775806 1 y", Group("g", 1, 2**63 - 2)),
        (b"g 00000000000000000000000000012 1 y", Group("g", 1, 12)),
        (b"g\t12  1 =other.group ", Group("g", 1, 12)),
        (b"g 12 1 7 y", Group("g", 1, 12, 7)),  # LIST COUNTS
        (b"g 0000000500 0000000501 0000000000 y", Group("g", 501, 500, 0)),
        (b"g 12 1 0 =other.group", Group("g", 1, 12, 0)),
    ],
)
def test_watermarks(line, group):
    assert read(line + b"\n").groups == (group,)


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b"g 12 1", "it has 3 fields, not the four of 'name high low flag'"),
        (b"g h 12 1 y", "it has 5 fields, not the four of 'name high low flag'"),
        (b"g 12 1 y y", "it has 5 fields, not the four of 'name high low flag'"),
        (b"g 12 1 9223372036854775807 y", "its count is above 9223372036854775806"),
        (b"g 12 1 7 y y", "it has 6 fields, not the four of 'name high low flag'"),
        (b"g x 1 y", "its high is not a number"),
        (b"g 12 -1 y", "its low is not a number"),
        (b"g 12 \xc2\xb2 y", "its low is not a number"),
        (b"g 1e3 1 y", "its high is not a number"),
        (b"g 9223372036854775807 1 y", "its high is above 9223372036854775806"),
        (b"g 1" + b"0" * 5000 + b" 1 y", "its high is above 9223372036854775806"),
        (b"g 3 5 y", "its high 3 is below its low 5 by more than an empty group's"),
        (b"a\0b 3 1 y", "its name has a zero byte"),
        (b"a" * 501 + b" 3 1 y", "its name has 501 characters, more than 500"),
        (b"\xc2\xa0 3 1 y", "its name is blank"),
    ],
)
def test_malformed_lines_are_told_with_their_numbers_and_end_nothing(line, reason):
    text = b"first 2 1 y\r\n\r\n" + line + b"\r\nlast 2 1 y\r\n.\r\n"
    assert reasons(text) == [(3, reason)]
    assert [g.name for g in read(text).groups] == ["first", "last"]


def test_a_group_listed_twice_counts_once():
    text = b"a 9 1 y\nA 9 1 y\na 12 1 y\n"
    assert [(g.name, g.high) for g in read(text).groups] == [("a", 9), ("A", 9)]
    assert reasons(text) == [(3, "the group is listed on line 1 already")]


def test_what_stands_after_the_end_line_is_not_of_the_list():
    assert reasons(b"a 9 1 y\n.\nb 9 1 y\n") == [(3, "it stands after the line that ends the list")]


def test_malformed_text_is_made_printable_and_short():
    (bad,) = read(b"\x1b[31m\xff" + b"x" * 200).malformed
    assert bad.text.startswith(r"\x1b[31m\xffxxx")
    assert len(bad.text) == 80


@pytest.mark.parametrize(
    "raw",
    [
        b"comp.lang.c",
        b"alt.fr.lettres.langue.azt\xef\xbf\xbdque",
        "dk.test.utf8-æøå".encode(),
        b"norge.s\xf8r-tr\xf8ndelag",
        b"100%25\xff%",
        b"100%25",
        b"alt.star.\x08trek",
        b"../..",
        b"\xed\xa0\x80",
    ],
)
def test_names_keep_their_bytes(raw):
    (group,) = read(raw + b" 2 1 y\n").groups
    assert raw_name(group.name) == raw
    group.name.encode()


def test_a_broken_name_is_never_taken_for_another():
    names = [g.name for g in read(b"s\xf8r 2 1 y\ns%F8r 2 1 y\ns%25F8r 2 1 y\n").groups]
    assert names == ["s%F8r (percent-encoded)", "s%F8r", "s%25F8r"]


def test_real_list(real_data):
    with (real_data / "news.active").open("rb") as lines:
        active = read_active(lines)
    assert len(active.groups) == 21_015
    assert active.empty == 12_904
    assert sum(g.articles for g in active.groups) == 6_704_695
    assert active.malformed == ()


def test_real_awkward_names(real_data):
    rows = (real_data / "names-edgecases.tsv").read_bytes().splitlines()[1:]
    raw = [row.split(b"\t", 1)[1] for row in rows]
    active = read(b"".join(name + b" 0000000002 0000000001 y\n" for name in raw) + b".\n")
    assert active.malformed == ()
    assert [raw_name(g.name) for g in active.groups] == raw
