"""Every error kgsync raises on purpose.

KgsyncError                     root; the message says what happened, to what, and what to do
├── ConfigError                 a setting is unknown, missing or invalid
├── StoreError                  the RDF store
│   ├── TransientStoreError     try again later: busy, unreachable, changed while it was read
│   └── PermanentStoreError     trying again will not help: missing, no permission, wrong answer
│       └── MalformedQueryError a query that is not valid SPARQL
├── VersionError                the versions of the graph: none, ambiguous, broken chain, empty
├── RejectedError               a guard rejects a new version; `kgsync accept` lets it through
│   └── LargeRemovalError       a step would remove more of the graph than allowed
├── StateError                  the state directory
│   ├── StateLockedError        another process is stepping
│   ├── StateRequestError       the state has not what was asked for, like a version
│   ├── StateCorruptedError     a file is missing or does not match its checksum
│   ├── SettingsChangedError    a setting that fixes the vectors' meaning has changed
│   └── StateWriteError         writing to disk failed (full, read-only, ...)
├── QueryError                  a query calls a function with invalid arguments
├── UnknownTermError            an IRI without an embedding (also a KeyError)
├── UndefinedMetricError        a metric that is undefined on this data
└── TrainingError               training produced NaN or infinity
"""

from __future__ import annotations

from typing import ClassVar


class KgsyncError(Exception):
    """Root of all errors raised on purpose; `exit_code` is what the command line returns."""

    exit_code: ClassVar[int] = 1


class ConfigError(KgsyncError):
    """A setting is unknown, missing or invalid; `keys` names it, like "training.epochs"."""

    exit_code = 2
    keys: tuple[str, ...] = ()


class StoreError(KgsyncError):
    """An error of the RDF store."""

    exit_code = 4
    store: str = ""
    """The store that the message names; empty if it names none."""
    remedy: str = ""
    """What to do, if the adapter knows more than the message says."""


class TransientStoreError(StoreError):
    """The same call may succeed later; `retry_after`: seconds to wait, if the store names them."""

    exit_code = 3
    retry_after: float = 0.0


class PermanentStoreError(StoreError):
    """The same call will fail again."""


class MalformedQueryError(PermanentStoreError):
    """A query is not valid SPARQL, at this line and column of its text; 0 if that is unknown."""

    line: int = 0
    column: int = 0


class VersionError(KgsyncError):
    """The versions of the graph cannot be used."""

    exit_code = 4


class RejectedError(KgsyncError):
    """A guard rejects a new version; the last one stays current, and the sync is paused."""

    exit_code = 6


class LargeRemovalError(RejectedError):
    """A step would remove more edges than `max_removed` allows: the share `removed_share`."""

    removed_share: float = 1.0


class StateError(KgsyncError):
    """An error of the state directory."""

    exit_code = 5


class StateLockedError(StateError):
    """Another process holds the state."""

    exit_code = 3


class StateRequestError(StateError):
    """A request that the state cannot meet: no such version, or nothing is paused."""

    exit_code = 2


class StateCorruptedError(StateError):
    """A state file is missing or does not match its checksum."""


class SettingsChangedError(StateError):
    """A setting that fixes the meaning of the stored vectors has changed."""


class StateWriteError(StateError):
    """Writing to disk failed: it is full, or the state is read-only."""


class QueryError(KgsyncError):
    """A query calls a function with invalid arguments."""


class UnknownTermError(KgsyncError, KeyError):
    """An IRI has no embedding in this version."""

    exit_code = 7

    def __str__(self) -> str:
        # KeyError would print the message in quotes.
        return str(self.args[0]) if self.args else ""


class UndefinedMetricError(KgsyncError):
    """A metric is undefined on this data."""


class TrainingError(KgsyncError):
    """Training produced NaN or infinity."""
