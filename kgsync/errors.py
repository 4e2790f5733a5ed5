"""Every error kgsync raises on purpose.

KgsyncError                     one root; the message says what happened, to what, and the remedy
├── ConfigError                 a setting is unknown, missing or impossible
├── StoreError                  the RDF store
│   ├── TransientStoreError     try again later: busy, unreachable, moved while it was read
│   └── PermanentStoreError     trying again will not help: missing, no rights, wrong answer
├── VersionError                the versions of the graph: none, ambiguous, broken chain, empty
├── LargeRemovalError           a step would remove more of the graph than allowed
├── StateError                  the state directory
│   ├── StateLockedError        another process is stepping
│   ├── StateCorruptedError     a file is missing or does not match its checksum
│   ├── SettingsChangedError    a setting that fixes the vectors' meaning has changed
│   └── StateWriteError         the disk refused (full, read-only, ...)
├── QueryError                  a query calls a function with what it cannot use
├── UnknownTermError            an IRI without an embedding (also a KeyError)
├── UndefinedMetricError        a measure that has no value on this data
└── TrainingError               training produced numbers that are not numbers
"""

from __future__ import annotations

from typing import ClassVar


class KgsyncError(Exception):
    """Root of all errors raised on purpose; `exit_code` is what the command line returns."""

    exit_code: ClassVar[int] = 1


class ConfigError(KgsyncError):
    """A setting is unknown, missing or impossible; `keys` names it, like "training.epochs"."""

    exit_code = 2
    keys: tuple[str, ...] = ()


class StoreError(KgsyncError):
    """Something about the RDF store."""

    exit_code = 4
    store: str = ""
    """The store that the message names; empty if it names none."""
    remedy: str = ""
    """What to do about it, where the adapter knows more than the message says."""


class TransientStoreError(StoreError):
    """The same call may succeed later; `retry_after` says in how many seconds, if the store did."""

    exit_code = 3
    retry_after: float = 0.0


class PermanentStoreError(StoreError):
    """The same call will fail again."""


class VersionError(KgsyncError):
    """The versions of the graph cannot be used as they are."""

    exit_code = 4


class LargeRemovalError(KgsyncError):
    """A step would remove more of the graph than `max_removed` allows: this share of its edges."""

    exit_code = 6
    removed_share: float = 1.0


class StateError(KgsyncError):
    """Something about the state directory."""

    exit_code = 5


class StateLockedError(StateError):
    """Another process holds the state."""

    exit_code = 3


class StateCorruptedError(StateError):
    """A state file is missing or does not match its checksum."""


class SettingsChangedError(StateError):
    """A setting that fixes the meaning of the stored vectors has changed."""


class StateWriteError(StateError):
    """The disk refused a write."""


class QueryError(KgsyncError):
    """A query calls a function with what it cannot use."""


class UnknownTermError(KgsyncError, KeyError):
    """An IRI has no embedding in this version."""

    exit_code = 7

    def __str__(self) -> str:
        # KeyError would print the message in quotes.
        return str(self.args[0]) if self.args else ""


class UndefinedMetricError(KgsyncError):
    """A measure has no value on this data."""


class TrainingError(KgsyncError):
    """Training produced NaN or infinity."""
