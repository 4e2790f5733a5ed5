"""What every guard does. A new one needs a file `guard_<name>.py` beside this one."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import pyoxigraph as ox
import pytest

import kgsync.service.guards
from kgsync import KGSync, Settings
from kgsync.common.events import Event, Failed, Rejected
from kgsync.errors import KgsyncError
from tests.worlds import GRAPHS, fill, quick_settings

GUARDS = [file.name for file in iter_modules(kgsync.service.guards.__path__)]


def every_limit(settings: Settings, strict: str) -> Settings:
    """One guard that refuses the second version, among others that allow it."""
    for name in GUARDS:
        case = import_module(f"tests.service.guard_{name}")
        settings = case.limited(settings, strictly=name == strict)
    return settings


@pytest.mark.parametrize("name", GUARDS)
def test_a_guard_refuses_a_version_until_its_limit_is_changed(name: str, tmp_path: Path) -> None:
    heard: list[Event] = []
    settings = every_limit(quick_settings(), strict=name)
    sync = KGSync(
        fill(ox.Store()), GRAPHS, state=tmp_path, settings=settings, listener=heard.append
    )
    assert sync.step().version == 1  # the first version is compared with nothing
    with pytest.raises(KgsyncError) as refused:
        sync.step()
    assert Rejected(refused.value) in heard
    assert not any(isinstance(event, Failed) for event in heard)
    assert sync.status().version == 1
    assert sync.status().pause is not None
    sync.settings = every_limit(sync.settings, strict="")
    assert sync.step().version == 2
    assert sync.status().pause is None
