"""Families: things of one kind with one file each, found in the folder of their package."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Protocol, TypeVar

__all__ = ["Family", "Named"]


class Named(Protocol):
    """What the file of a member declares."""

    @property
    def name(self) -> str:
        """Its name in the settings."""


T = TypeVar("T", bound=Named)


class Family(Mapping[str, T]):
    """The declarations of all files of a folder, by name; read when first asked for."""

    def __init__(self, package: str, path: Iterable[str], attribute: str) -> None:
        """Describe where the members are.

        Args:
            package: The package, its `__name__`.
            path: Its folders, its `__path__`.
            attribute: Under which a file declares a member; files without it are none.
        """
        self._package, self._path, self._attribute = package, path, attribute
        self._own: dict[str, T] = {}
        self._added: dict[str, T] = {}
        self._all: dict[str, T] = {}
        self._searched = False

    def __getitem__(self, name: str) -> T:
        return self._members()[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._members())

    def __len__(self) -> int:
        return len(self._members())

    def add(self, member: T) -> None:
        """Add a member that is not in the folder, or one instead of a member that is."""
        self._added = {**self._added, member.name: member}
        self._merge()

    def remove(self, name: str) -> None:
        """Forget a member that was added; one of the folder that it replaced is back."""
        self._added = {other: member for other, member in self._added.items() if other != name}
        self._merge()

    def was_added(self, name: str) -> bool:
        """Whether a member does not come from the folder."""
        return name in self._added

    def _members(self) -> dict[str, T]:
        if not self._searched:
            modules = (import_module(f"{self._package}.{f.name}") for f in iter_modules(self._path))
            declared = (getattr(module, self._attribute, None) for module in modules)
            self._own = {member.name: member for member in declared if member is not None}
            self._merge()
            self._searched = True
        return self._all

    def _merge(self) -> None:
        # Exchanged whole: another thread may be reading it.
        self._all = dict(sorted({**self._own, **self._added}.items()))
