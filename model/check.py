"""Check the model of a lane, and that the checker catches each rule broken on purpose.

Needs spin and a C compiler, and nothing of this project. ``--show NAME`` prints the shortest sequence that a broken
rule needs.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).parent
_BREAK = re.compile(r"^#define ([A-Z_]+) +([1-9][0-9]*) +/\* (.+) \*/$", re.M)
_MEMORY = 8000  # megabytes, at most
_NO_TOOL = """\
{tool} is not here, and the model needs it. To install spin and a C compiler:
  Debian, Ubuntu:  apt-get install spin gcc libc6-dev
  Fedora:          dnf install spin gcc     (where it is packaged; else from https://spinroot.com)
  macOS:           brew install spin"""

SMALL = {"RANGES": "2", "SIZE": "2", "KEEP": "2"}
USUAL = {"RANGES": "3", "SIZE": "2", "KEEP": "2"}
LARGER = (
    {"RANGES": "4", "SIZE": "2", "KEEP": "2"},
    {"RANGES": "3", "SIZE": "3", "KEEP": "2"},
    {"RANGES": "3", "SIZE": "2", "KEEP": "3"},
)
# One of the three is enough: so two are broken at once.
TOGETHER = {
    "H1 and P4, of the commit": ("NO_FENCE_COMMIT_SNAPSHOT", "COMMITS_ANOTHER_LEASES"),
    "H1 and P5, of the commit": ("NO_FENCE_COMMIT_SNAPSHOT", "PENDING_OUTLIVES_ITS_LEASE"),
}
ALONE = ("NO_FENCE_COMMIT_SNAPSHOT", "COMMITS_ANOTHER_LEASES", "PENDING_OUTLIVES_ITS_LEASE")
WITNESSES = ("THE_END", "A_SEAM")
LATE_KINDS = {
    "next_range": 1,
    "finish_range": 4,
    "begin_": 16,
    "commit_": 32,
    "reject_snapshot": 64,
}
LATE_HARM = {"heartbeat(next_id)": 2, "fail_range": 8}


@dataclass(frozen=True)
class Outcome:
    """What a search came to."""

    broken: str | None
    states: int
    seconds: float
    sequence: str


class IncompleteError(Exception):
    """The search ended before it had seen everything."""


def search(defines: dict[str, str], *, optimised: bool = True, shortest: bool = False) -> Outcome:
    """Search all interleavings; or the shortest sequence to a fault, which takes more memory."""
    options = [f"-D{name}={value}" for name, value in defines.items()]
    with tempfile.TemporaryDirectory(prefix="lane-") as folder:

        def run(*command: str) -> str:
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
            if done.returncode:
                raise IncompleteError(f"{' '.join(command)}:\n{done.stdout}{done.stderr}")
            return done.stdout

        run("spin", *options, "-a", str(HERE / "lane.pml"))
        how = ["-DBFS"] if shortest else []
        run(
            "gcc",
            "-O2" if optimised else "-O0",
            "-w",
            "-DSAFETY",
            f"-DMEMLIM={_MEMORY}",
            *how,
            "-o",
            "pan",
            "pan.c",
        )
        started = time.monotonic()
        out = run("./pan", "-m500000", "-w22")
        seconds = time.monotonic() - started
        errors = int(re.search(r"errors: (\d+)", out)[1])
        states = int(re.search(r"(\d+) states, stored", out)[1])
        if not errors:
            if "Search not completed" in out or "max search depth too small" in out:
                raise IncompleteError(out)
            return Outcome(None, states, seconds, "")
        replay = run("spin", *options, "-t", "-k", "lane.pml.trail", str(HERE / "lane.pml"))
    broken = re.search(r"broken: (.*)|reached", replay)
    return Outcome((broken[1] or "reached") if broken else "?", states, seconds, _readable(replay))


_WORDS = {
    "window 254": "window new",
    "window 253": "window dropped",
    "reads 255": "reads none",
    " , ": ", ",
}


def _readable(replay: str) -> str:
    steps = re.split(r"\n(?:spin:| *#processes)", replay)[0]
    lines = (re.sub(r" {2,}", " ", line).strip() for line in steps.splitlines())
    text = "\n".join(line for line in lines if line)
    for number, word in _WORDS.items():
        text = text.replace(number, word)
    return text


def breaks() -> dict[str, str]:
    """Read the rules that can be broken, with what is done in their place."""
    text = (HERE / "breaks.h").read_text("utf-8")
    return {name: says for name, _, says in _BREAK.findall(text)}


class Report:
    """Prints what was found, and remembers whether all was as it should be."""

    def __init__(self, quick: bool) -> None:
        self.quick = quick
        self.states = 0
        self.wrong: list[str] = []

    def line(self, good: bool, name: str, result: str, outcome: Outcome) -> None:
        """Print one."""
        self.states += outcome.states
        if not good:
            self.wrong.append(name)
        mark = "ok   " if good else "WRONG"
        counted = f"{outcome.states:>10,} states {outcome.seconds:6.1f} s"
        print(f"{mark} {name:<33} {result:<37} {counted}", flush=True)

    def holds(self, name: str, defines: dict[str, str]) -> None:
        """See that nothing is broken."""
        outcome = search(defines, optimised=not self.quick)
        self.line(outcome.broken is None, name, _said(outcome), outcome)

    def caught(self, name: str, defines: dict[str, str]) -> None:
        """See that something is broken."""
        outcome = search(defines, optimised=False)
        self.line(outcome.broken is not None, name, _said(outcome), outcome)

    def caught_by_the_promise(self, name: str, defines: dict[str, str]) -> None:
        """Say whether the promise alone would show it, too: it need not."""
        outcome = search({**defines, "PROMISE_ONLY": "1"})
        self.line(
            True,
            name,
            "  by the promise alone: " + ("caught" if outcome.broken else "not caught"),
            outcome,
        )


def _said(outcome: Outcome) -> str:
    return f"caught by {outcome.broken}" if outcome.broken else "all hold"


def check(quick: bool) -> Report:
    """Run the model, then break each rule."""
    report = Report(quick)
    usual = SMALL if quick else USUAL
    print("the model: the promise, H1, P2, P6, S and S6 over all interleavings")
    for bounds in [SMALL] if quick else [SMALL, USUAL, *LARGER]:
        report.holds(" ".join(f"{k}={v}" for k, v in bounds.items()), bounds)
    late = str(sum(LATE_KINDS.values()))
    if not quick:
        report.holds("one of the other calls is late", {**SMALL, "LATE": late})
    for witness in WITNESSES:
        outcome = search({**usual, "REACH": witness}, optimised=False)
        report.line(
            outcome.broken == "reached",
            f"reaches {witness}",
            outcome.broken or "not reached",
            outcome,
        )
    print("broken on purpose: each has to be caught")
    for name in breaks():
        if name in ALONE or name in WITNESSES:
            continue
        report.caught(name, {**usual, "BREAK": name})
        if not quick:
            report.caught_by_the_promise("", {**usual, "BREAK": name})
    for name, (one, two) in TOGETHER.items():
        report.caught(name, {**usual, "BREAK": one, "ALSO": two})
        if not quick:
            report.caught_by_the_promise("", {**usual, "BREAK": one, "ALSO": two})
    print("harmless alone: another rule stands in")
    for name in ALONE:
        report.holds(name, {**usual, "BREAK": name})
    print("known to do harm: a call that is delivered late, after others of the same lease")
    for name, kind in LATE_HARM.items():
        report.caught(f"late: {name}", {**usual, "LATE": str(kind)})
    return report


def main() -> int:
    """Run from the command line; the exit code says whether all was as it should be."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="smaller bounds, less than a minute")
    parser.add_argument(
        "--show",
        metavar="NAME",
        help="print the shortest sequence that needs this rule (of breaks.h)",
    )
    asked = parser.parse_args()
    for tool in ("spin", "gcc"):
        if shutil.which(tool) is None:
            print(_NO_TOOL.format(tool=tool), file=sys.stderr)
            return 2
    if asked.show:
        if asked.show not in breaks():
            parser.error(f"{asked.show} is not one of: {', '.join(breaks())}")
        print(search({**SMALL, "BREAK": asked.show}, shortest=True).sequence)
        return 0
    started = time.monotonic()
    report = check(asked.quick)
    print(f"{report.states:,} states searched in {time.monotonic() - started:.0f} s")
    if report.wrong:
        print("not as it should be: " + ", ".join(report.wrong))
    return 1 if report.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
