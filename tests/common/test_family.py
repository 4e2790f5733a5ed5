"""Families: the members of a folder, and those that are added to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

import kgsync.models.optimizers as package
from kgsync.common.family import Family, makers
from kgsync.models.optimizers import OPTIMIZERS


@dataclass(frozen=True)
class Member:
    """Stands for a declaration."""

    name: str


def family() -> Family[Member]:
    return Family(package.__name__, package.__path__, "OPTIMIZER")


def test_the_files_of_a_folder_are_the_members_by_name() -> None:
    assert list(family()) == list(OPTIMIZERS) == sorted(OPTIMIZERS)
    assert len(family()) == len(OPTIMIZERS)


def test_a_member_can_be_added_before_the_folder_is_searched() -> None:
    found, new = family(), Member("new")
    found.add(new)
    assert found.was_added("new")
    assert set(found) == {"new", *OPTIMIZERS}
    assert found["new"] is new


def test_a_member_that_was_replaced_is_back_when_the_other_is_removed() -> None:
    found, name = family(), next(iter(OPTIMIZERS))
    before = found[name]
    found.add(Member(name))
    assert found[name] == Member(name)
    assert found.was_added(name)
    found.remove(name)
    assert found[name] is before
    assert not found.was_added(name)


def folder_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, **files: str
) -> tuple[str, list[str]]:
    """A package with some files: its name, and its path."""
    folder = tmp_path / f"family_{tmp_path.name}"
    folder.mkdir()
    for name, text in {"__init__": "", **files}.items():
        (folder / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(str(tmp_path))
    return folder.name, [str(folder)]


LOOKS: list[Callable[[str, list[str]], object]] = [
    lambda package, path: list(Family[Member](package, path, "member")),
    lambda package, path: list(makers(package, path, "member")),
]
"""Both kinds of families."""


@pytest.mark.parametrize("look", LOOKS, ids=["declarations", "makers"])
def test_a_file_without_a_member_is_none(
    look: Callable[[str, list[str]], object], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    member = "class member:\n    name = '{}'\n"
    files = {
        "b": member.format("b"),
        "a": member.format("a"),
        "helping": "",
        "not_yet": "member = None",
    }
    assert look(*folder_of(tmp_path, monkeypatch, **files)) == ["a", "b"]


def test_a_member_has_the_name_of_its_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = folder_of(tmp_path, monkeypatch, a="class member:\n    name = 'b'\n")
    with pytest.raises(
        TypeError, match=r"\.a: member has the name 'b'; give it the name of its file"
    ):
        len(Family[Member](*place, "member"))


def test_what_makes_a_member_can_be_called(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    place = folder_of(tmp_path, monkeypatch, a="member = 5")
    with pytest.raises(TypeError, match=r"\.a: member must be a class or a function, not 5"):
        makers(*place, "member")
