"""The names of methods: strategies, former names, and what the settings stand for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from kgsync.backtest.methods import known_methods, methods_named, settings_for, strategy_of
from kgsync.config import Settings, UpdateSettings
from kgsync.errors import ConfigError
from kgsync.training.settings import strategies


def with_strategy(name: str) -> Settings:
    return replace(Settings(), update=UpdateSettings(strategy=name))


def test_every_strategy_is_a_method() -> None:
    found = {strategy_of(name, with_strategy("paper")) for name in known_methods()}
    assert found == {None, *strategies()}
    assert len(known_methods()) == len(set(known_methods())) == len(strategies()) + 3


@pytest.mark.parametrize("method", ["local", "aligned"])
def test_a_strategy_runs_with_its_own_settings(method: str) -> None:
    chosen = settings_for(method, with_strategy("paper"))
    assert chosen.update.strategy == strategy_of(method, with_strategy("paper"))


def test_former_names_stand_for_what_they_did() -> None:
    names = ["update", "retrain", "frozen", "recalculate", "leave"]
    assert methods_named(names, with_strategy("paper")) == ["update", "scratch", "frozen"]


def test_the_strategy_of_the_settings_is_not_run_twice() -> None:
    names = ["local", "update", "aligned", "local"]
    assert methods_named(names, with_strategy("local")) == ["update", "aligned"]
    assert methods_named(names, with_strategy("retrain")) == ["local", "update"]
    assert methods_named(["local"], with_strategy("local")) == ["local"]


def test_an_unknown_method_is_named_with_those_that_there_are() -> None:
    with pytest.raises(ConfigError, match=r"no method 'dream'; known: update, frozen, scratch, .*"):
        methods_named(["local", "dream"], with_strategy("paper"))
