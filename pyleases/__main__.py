"""``python -m pyleases``."""

from pyleases.cli import main

if __name__ == "__main__":
    main(prog_name="pyleases")
