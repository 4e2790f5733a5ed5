"""The commands of `kgsync`: one file per command, which declares it as `COMMAND`.

The file of a command has its options, what it does and what it prints. Importing it loads no heavy
library: `kgsync --help` imports all of them, so a command imports what it needs when it runs.
"""

from __future__ import annotations

from collections.abc import Mapping

from kgsync.cli.declaration import CommandDeclaration
from kgsync.common.family import Family

__all__ = ["COMMANDS"]

COMMANDS: Mapping[str, CommandDeclaration] = Family(__name__, __path__, "COMMAND")
"""By the name that users type."""
