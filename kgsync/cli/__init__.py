"""The command line: `kgsync` and its commands, one file each in `commands/`.

In: arguments and a settings file. Out: text or JSON on standard output, progress and errors on
standard error, an exit code. May import every room. Importing this loads neither torch nor a store.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
from contextlib import suppress
from io import TextIOWrapper
from types import FrameType

__all__ = ["main"]

_SHOW_CURSOR = "\x1b[?25h"
"""Shows the cursor again, which a progress bar hides."""


def main() -> None:
    """Run a command; a `KgsyncError` becomes one message and an exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        signal.signal(signal.SIGINT, _interrupt)
    from kgsync.cli.app import app
    from kgsync.cli.output import output
    from kgsync.common.printable import PrintableFormatter
    from kgsync.errors import KgsyncError

    if logging.lastResort is not None:  # handles warnings until logging is set up
        logging.lastResort.setFormatter(PrintableFormatter())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # IRIs on a terminal without Unicode
    try:
        app()
    except KgsyncError as error:
        output.error(error)
        sys.exit(error.exit_code)
    except OSError as error:  # no permission, disk full, broken pipe
        output.error(KgsyncError(str(error)))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Handle Ctrl-C: raise KeyboardInterrupt, but exit at once while an import runs.

    Half-imported, torch and numpy raise errors of their own or lose the interrupt.
    """
    while frame is not None:
        if frame.f_code.co_filename.startswith("<frozen importlib"):
            for stream in (sys.stdout, sys.stderr):
                with suppress(RuntimeError, OSError):  # interrupted in the middle of writing
                    stream.write(_SHOW_CURSOR if stream.isatty() else "")
                    stream.flush()
            os._exit(130)
        frame = frame.f_back
    raise KeyboardInterrupt
