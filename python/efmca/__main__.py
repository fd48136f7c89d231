"""The program ``efmca``: ``python -m efmca``, or ``efmca`` after installation."""

from __future__ import annotations

import signal
import sys


def main() -> int:
    """Run the program with what was typed, and return its exit code."""
    from efmca import _core

    # Ctrl-C and a closed pipe mean here what they mean to any other program, and not an exception of Python
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    if hasattr(signal, "SIGPIPE"):
        signal.signal(signal.SIGPIPE, signal.SIG_IGN)
    return _core.main(["efmca", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
