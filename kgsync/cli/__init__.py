"""The command line. Importing this loads neither torch nor any store."""

from __future__ import annotations

import sys
from io import TextIOWrapper

__all__ = ["main"]


def main() -> None:
    """Run a command; errors of the user's making end in one sentence and an exit code."""
    from kgsync.cli.app import app
    from kgsync.cli.output import output
    from kgsync.errors import KgsyncError

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
