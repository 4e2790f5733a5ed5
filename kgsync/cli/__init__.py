"""The command line. Importing this loads neither torch nor any store."""

from __future__ import annotations

import sys

__all__ = ["main"]


def main() -> None:
    """Run a command; errors of the user's making end in one sentence and an exit code."""
    from kgsync.cli.app import app
    from kgsync.cli.output import output
    from kgsync.errors import KgsyncError

    try:
        app()
    except KgsyncError as error:
        output.error(error)
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        sys.exit(130)
