"""The command line. Importing this loads neither torch nor any store."""

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
"""To a terminal from which a progress bar has taken it."""


def main() -> None:
    """Run a command; errors of the user's making end in one sentence and an exit code."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else it is ignored
        signal.signal(signal.SIGINT, _interrupt)
    from kgsync.cli.app import app
    from kgsync.cli.output import output
    from kgsync.common.printable import PrintableFormatter
    from kgsync.errors import KgsyncError

    if logging.lastResort is not None:  # where warnings go as long as there is no log
        logging.lastResort.setFormatter(PrintableFormatter())
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # IRIs on a terminal without Unicode
    try:
        app()
    except KgsyncError as error:
        output.error(error)
        sys.exit(error.exit_code)
    except OSError as error:  # of the machine's making: no rights, no space, a broken pipe
        output.error(KgsyncError(str(error)))
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


def _interrupt(_number: int, frame: FrameType | None) -> None:
    """Ctrl-C: unwind, but out of an import, which would leave half of a module behind, just leave.

    Half made, torch and numpy end in errors of their own, or forget the interrupt.
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
