"""Rejections: if a guard rejects a version, the sync pauses until it changes or is accepted.

A version may be rejected before training, or after it. The latter is remembered by its content, so
that the next poll does not train it again.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping

from kgsync.errors import LargeRemovalError, RejectedError
from kgsync.graph.reading import Reading
from kgsync.service.pausing import Pause, Rejection
from kgsync.service.settings import GuardSettings
from kgsync.state.transaction import Requirement, Transaction

__all__ = ["Guarded"]


class Guarded:
    """All guards of one step, as one requirement."""

    def __init__(
        self,
        guards: Mapping[str, Requirement],
        settings: GuardSettings,
        paused: Pause | None,
        *,
        allow_large_removal: bool = False,
    ) -> None:
        """Set the guards.

        Args:
            guards: The guards by name.
            settings: All settings.
            paused: Why the sync is paused, if it is.
            allow_large_removal: Accept a large removal, and nothing else.
        """
        self._guards = guards
        # All settings count: nobody but the guard knows which of them it depends on.
        self._settings = hashlib.sha256(repr(settings).encode()).hexdigest()
        self._paused = paused
        self._allow_large_removal = allow_large_removal
        self._passed: set[str] = set()
        """Guards whose rejection was accepted."""
        self._accepted_share: float | None = None
        """Share of the edges that was accepted to be removed."""

    def check(self, draft: Transaction) -> None:
        """Check every guard; the first rejection that nobody has accepted pauses the sync.

        Raises:
            RejectedError: A guard rejects the version, or rejected it when it was trained before.
        """
        if not draft.has_report:
            self._check_trained_before(draft.taken)
        for name, error in self._rejections(draft):
            self._pause(name, error, draft)
            raise error

    def rejection(self, draft: Transaction) -> RejectedError | None:
        """Why a step would be rejected, as far as the reading tells; nothing is paused."""
        try:
            self._check_trained_before(draft.taken)
        except RejectedError as error:
            return error
        return next((error for _, error in self._rejections(draft)), None)

    def _rejections(self, draft: Transaction) -> Iterator[tuple[str, RejectedError]]:
        """The guards that reject the version, and why, unless a user has accepted it."""
        reading = draft.taken
        for name, guard in self._guards.items():
            try:
                guard.check(draft)
            except RejectedError as error:
                if not self._is_accepted(name, error, reading):
                    yield name, error
                    continue
                self._passed.add(name)
                if isinstance(error, LargeRemovalError):
                    self._accepted_share = self._share_accepted(reading)

    def _check_trained_before(self, reading: Reading) -> None:
        """Check that training would not only repeat what was rejected."""
        paused = self._paused
        if paused is None or paused.rejection is None or paused.accepted:
            return
        rejection = paused.rejection
        known = rejection.trained_with == self._settings and rejection.guard in self._guards
        if known and rejection.content == reading.fingerprint:
            raise RejectedError(paused.reason)

    def _is_accepted(self, guard: str, error: RejectedError, reading: Reading) -> bool:
        if self._allow_large_removal and isinstance(error, LargeRemovalError):
            return True
        return self._paused is not None and self._paused.allows(guard, error, reading)

    def _share_accepted(self, reading: Reading) -> float:
        """The share of the edges that a user has let go; what it has grown by since is not added.

        Else a removal could grow a little again with every rejection by another guard.
        """
        rejection = self._paused.rejection if self._paused else None
        known = rejection.removed_share if rejection else None
        if self._allow_large_removal or known is None:
            return reading.removed_share
        return known

    def _pause(self, guard: str, error: RejectedError, draft: Transaction) -> None:
        reading, removes = draft.taken, isinstance(error, LargeRemovalError)
        rejection = Rejection(
            guard,
            reading.fingerprint,
            removed_share=reading.removed_share if removes else self._accepted_share,
            trained_with=self._settings if draft.has_report else None,
            passed=tuple(sorted(self._passed - {guard})),
        )
        Pause.begin(draft.state, draft.base, error, rejection)
