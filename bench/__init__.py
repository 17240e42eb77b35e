"""Where the figures of docs/figures.md come from: ``make bench``."""
