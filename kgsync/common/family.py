"""Families: things of one kind with one file each, found in the folder of their package.

A file is a member if it declares one under the family's attribute. Other files of the folder are
none: they may help the members.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib import import_module
from pkgutil import iter_modules
from typing import Any, Protocol, TypeVar

__all__ = ["Family", "Named", "makers"]


class Named(Protocol):
    """What the file of a member declares."""

    @property
    def name(self) -> str:
        """Its name in the settings: that of the file."""


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
            self._own = _declared(self._package, self._path, self._attribute)
            for file, member in self._own.items():
                if member.name != file:
                    raise TypeError(
                        f"{self._package}.{file}: {self._attribute} has the name {member.name!r}; "
                        "give it the name of its file"
                    )
            self._merge()
            self._searched = True
        return self._all

    def _merge(self) -> None:
        # Exchanged whole: another thread may be reading it.
        self._all = dict(sorted({**self._own, **self._added}.items()))


def makers(package: str, path: Iterable[str], attribute: str) -> dict[str, Callable[..., Any]]:
    """The classes or functions by which the files of a folder make their members, by file name.

    Args:
        package: The package, its `__name__`.
        path: Its folders, its `__path__`.
        attribute: Under which a file declares one; files without it are no members.
    """
    found = _declared(package, path, attribute)
    for file, member in found.items():
        if not callable(member):
            raise TypeError(
                f"{package}.{file}: {attribute} must be a class or a function, not {member!r}"
            )
    return found


def _declared(package: str, path: Iterable[str], attribute: str) -> dict[str, Any]:
    """What the files of a folder declare under an attribute, in the order of the file names."""
    names = sorted(file.name for file in iter_modules(path))
    modules = {name: import_module(f"{package}.{name}") for name in names}
    declared = {name: getattr(module, attribute, None) for name, module in modules.items()}
    return {name: member for name, member in declared.items() if member is not None}
