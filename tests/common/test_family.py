"""Families: the members of a folder, and those that are added to them."""

from __future__ import annotations

from dataclasses import dataclass

import kgsync.models.optimizers as package
from kgsync.common.family import Family
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
