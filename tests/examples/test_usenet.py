"""The indexer on a real news server."""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
import time
from pathlib import Path

import pytest
import trustme

from examples.usenet.news import News, NewsError, Overview
from examples.usenet.trial.articles import Article, Feed, Maker
from examples.usenet.trial.server import HOST, news_server
from pyleases.active import Group, read_active

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.usefixtures("inn")


def written(number: int, group: str = "a.b", subject: str = "hello") -> Article:
    text = (
        f"Path: x!not-for-mail\nFrom: Jörg <j@x.invalid>\nNewsgroups: {group}\nSubject: {subject}\n"
        f"Date: Sun, 22 Nov 2009 01:11:00 +0100\nMessage-ID: <{number}@x.invalid>\n\nbody\n"
    )
    return Article(f"<{number}@x.invalid>", text.replace("\n", "\r\n").encode())


def test_overviews_and_lists_of_a_server_with_gaps():
    with news_server(["a.b", "a.c"]) as server:
        feed, maker = Feed(server), Maker(["a.b"], 1, 100)
        feed.send_all(maker.expiring(2, time.time() + 86_400))
        feed.send_all([written(1), written(2, subject="=?iso-8859-1?q?gr=FC=DFe?="), written(3)])
        control = b"Control: cancel <3@x.invalid>\r\nPath"
        feed.send(Article("<4@x.invalid>", written(4).lines.replace(b"Path", control, 1)))
        server.expire(days_ahead=2)
        news = News(f"nntp://{HOST}:{server.port}")
        assert read_active(news.groups()).groups == (Group("a.b", 3, 5, 2), Group("a.c", 1, 0, 0))
        jorg = "Jörg <j@x.invalid>"
        here = [
            Overview(3, "<1@x.invalid>", jorg, "hello"),
            Overview(4, "<2@x.invalid>", jorg, "grüße"),
        ]
        assert news.overviews("a.b", 1, 9) == here
        assert news.overviews("a.b", 1, 2) == news.overviews("a.b", 5, 9) == []
        with pytest.raises(NewsError, match="411"):
            news.overviews("a.d", 1, 9)
        calls = []
        server.stop()
        with pytest.raises(OSError):
            News(f"nntp://{HOST}:{server.port}", patience=0.3).overviews(
                "a.b", 1, 9, lambda: calls.append(1)
            )
        assert calls
        server.start()
        assert news.overviews("a.b", 1, 9) == here


def test_tls_and_login(tmp_path):
    authority = trustme.CA()
    certificate = authority.issue_cert(HOST)
    authority.cert_pem.write_to_path(str(tmp_path / "ca.pem"))
    pem = certificate.cert_chain_pems[0].bytes(), certificate.private_key_pem.bytes()
    perl = ["perl", "-e", 'print crypt("sesame/1", q($6$salt$))']
    crypted = subprocess.run(perl, capture_output=True, text=True, check=True).stdout
    with news_server(["a.b"], passwd=f"ann:{crypted}\n", certificate=pem) as server:
        Feed(server).send(written(1))
        where, cafile = f"{HOST}:{server.port}", str(tmp_path / "ca.pem")
        news = News(f"nntps://ann:sesame%2F1@{where}", cafile=cafile)
        assert [o.number for o in news.overviews("a.b", 1, 9)] == [1]
        with pytest.raises(NewsError, match="481"):
            News(f"nntps://ann:wrong@{where}", cafile=cafile).groups()
        with pytest.raises(NewsError, match="480"):
            News(f"nntps://{where}", cafile=cafile).overviews("a.b", 1, 9)
        with pytest.raises(ssl.SSLCertVerificationError):
            News(f"nntps://ann:sesame%2F1@{where}").groups()


def test_made_articles_are_the_same_for_the_same_seed():
    one, two, other = (list(Maker(["a", "b"], seed, 50).articles(500)) for seed in (1, 1, 2))
    assert one == two
    assert one != other


def test_a_short_trial(tmp_path):
    """Kill, freeze, restart, expire, fill up: the catalog is that of one undisturbed pass."""
    picture = tmp_path / "trial.png"
    command = [sys.executable, "-m", "examples.usenet.trial.run", "--short", f"--picture={picture}"]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"SEED": "3"}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "0 missing, 0 too many, 0 holes" in done.stdout
    assert picture.read_bytes().startswith(b"\x89PNG")
