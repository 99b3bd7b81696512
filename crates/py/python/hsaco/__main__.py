"""The command: ``hsaco``, or ``python -m hsaco``."""

from __future__ import annotations

import signal
import sys

from ._hsaco import command


def main() -> int:
    """Runs the command on the arguments of the process and returns its exit code."""
    # Python only notes an interrupt, and would look at the note when the command is done.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return command(["hsaco", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
