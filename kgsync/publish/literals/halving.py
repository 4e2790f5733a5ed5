"""Finding those of many elements that a store refuses, by sending halves of what it refused."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from kgsync.errors import PermanentStoreError
from kgsync.queries import is_plain_iri

__all__ = ["Halving"]

_IN_ROW = 60
"""After this many refusals without a success, single elements are not the cause."""
_MOST = 2000
"""Nor after this many refusals in total."""


class Halving:
    """Sends elements, and leaves out those that the store refuses."""

    def __init__(self, check: Callable[[], None]) -> None:
        """Begin to count.

        Args:
            check: Sends something that names no element; an error if the store takes nothing at
                all, for instance because it wants other credentials now.
        """
        self._check = check
        self._in_row = 0
        self._all = 0

    def sent(self, iris: Sequence[str], send: Callable[[list[int]], None]) -> list[int]:
        """Send elements; returns the positions of those that were refused.

        Args:
            iris: The names of the elements.
            send: Sends those at some positions; may be asked to send some of them again.

        Raises:
            PermanentStoreError: The store refuses too many for it to be about their names.
        """
        positions = [*range(len(iris))]
        try:
            send(positions)
        except PermanentStoreError as error:
            self._refused()
            self._check()
            first = error
        else:
            self._in_row = 0
            return []
        # What some parsers refuse is not with the others, so that most are taken at once.
        plain = [position for position in positions if is_plain_iri(iris[position])]
        doubtful = [position for position in positions if not is_plain_iri(iris[position])]
        refused = self._part(plain, send, first, doubtful=False)
        return sorted([*refused, *self._part(doubtful, send, first, doubtful=True)])

    def _part(
        self,
        positions: list[int],
        send: Callable[[list[int]], None],
        first: PermanentStoreError,
        *,
        doubtful: bool,
    ) -> list[int]:
        if not positions:
            return []
        try:
            send(positions)
        except PermanentStoreError:
            self._refused()
        else:
            self._in_row = 0
            return []
        if self._in_row > _IN_ROW or self._all > _MOST:
            if doubtful:
                return positions
            raise first
        if len(positions) == 1:
            return positions
        middle = len(positions) // 2
        return [
            refused
            for half in (positions[:middle], positions[middle:])
            for refused in self._part(half, send, first, doubtful=doubtful)
        ]

    def _refused(self) -> None:
        self._in_row += 1
        self._all += 1
