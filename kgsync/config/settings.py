"""All settings together, as `kgsync.toml` holds them. An unknown key is an error."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from kgsync.common.declare import part
from kgsync.config.checks import check
from kgsync.config.toml_files import SettingsFile
from kgsync.errors import ConfigError, SettingsChangedError
from kgsync.evaluation.settings import EvaluationSettings
from kgsync.graph.settings import FilterSettings, SplitSettings
from kgsync.graph.stores import store_name
from kgsync.models.settings import ModelSettings
from kgsync.publish.settings import PublishSettings
from kgsync.service.settings import ScheduleSettings
from kgsync.source.settings import SourceSettings
from kgsync.state.settings import StateSettings
from kgsync.training.rates import annealing_of, rates_of
from kgsync.training.settings import RunSettings, TrainingSettings, UpdateSettings

__all__ = ["Settings", "differences", "load_settings", "load_sync_settings"]

_MEANING = "name", "dimension", "relation_dimension", "norm"
"""Settings of a model that fix what its vectors mean."""


@dataclass(frozen=True)
class Settings:
    """All settings, one section each."""

    source: SourceSettings = part(SourceSettings)
    state: StateSettings = part(StateSettings)
    filter: FilterSettings = part(FilterSettings)
    split: SplitSettings = part(SplitSettings)
    model: ModelSettings = part(ModelSettings)
    training: TrainingSettings = part(TrainingSettings)
    update: UpdateSettings = part(UpdateSettings)
    evaluation: EvaluationSettings = part(EvaluationSettings)
    publish: PublishSettings = part(PublishSettings)
    run: RunSettings = part(RunSettings)
    schedule: ScheduleSettings = part(ScheduleSettings)

    def __post_init__(self) -> None:
        check(self)

    def scope_text(self) -> str | None:
        """The text of the scope query."""
        if self.source.scope is None:
            return None
        try:
            return Path(self.source.scope).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError, ValueError) as error:
            if "{" in self.source.scope:
                raise ConfigError(
                    "source.scope is the name of a file, not the text of a query: write the query "
                    "into a file, like scope.rq, and set scope to its name"
                ) from None
            why = getattr(error, "strerror", None) or error
            raise ConfigError(f"cannot read the scope {self.source.scope}: {why}") from None

    def _meaning(self) -> dict[str, Any]:
        """The settings of the model that fix what its vectors mean."""
        from kgsync.models import MODELS

        chosen = {name: getattr(self.model, name) for name in _MEANING}
        if not MODELS[self.model.name].has_norm:
            chosen["norm"] = None
        return chosen

    def hyper_parameters(self) -> dict[str, dict[str, Any]]:
        """The hyper-parameters of a run by section, with the effective learning rates."""
        rates = rates_of(self.model, self.training, self.update)
        names = "filter", "split", "model", "training", "update", "evaluation", "run"
        chosen = {name: json.loads(json.dumps(asdict(getattr(self, name)))) for name in names}
        chosen["training"]["learning_rate"] = rates.training
        chosen["training"]["annealing"] = annealing_of(self.training, self.update)
        chosen["update"]["pretraining_learning_rate"] = rates.pretraining
        chosen["update"]["general_learning_rate"] = rates.general
        chosen["update"]["change_learning_rate"] = rates.change
        return chosen

    def fingerprint(self) -> dict[str, Any]:
        """Settings that fix the meaning of the stored vectors; a change requires a rebuild."""
        scope = self.scope_text()
        return {
            "model": self._meaning(),
            "split": asdict(self.split),
            "filter": json.loads(json.dumps(asdict(self.filter))),
            "graphs": self.source.graphs,
            "scope": hashlib.sha256(scope.encode()).hexdigest() if scope else None,
            "seed": self.run.seed,
        }

    def _scope_change(self, then: str | None) -> str:
        """How the scope has changed; only its checksum is recorded."""
        if then is None:
            return f"scope was not set, is {self.source.scope}"
        if self.source.scope is None:
            return "scope was set, is not"
        return f"the query in {self.source.scope} has changed"

    def check_meaning(self, then: dict[str, Any]) -> None:
        """Check that the settings that fix the meaning of the vectors have not changed.

        Args:
            then: The fingerprint that was recorded with the vectors.

        Raises:
            SettingsChangedError: They have changed.
        """
        now = self.fingerprint()
        changed = sorted(key for key in now if now[key] != then.get(key))
        if changed:
            told = [self._scope_change(then.get("scope"))] if "scope" in changed else []
            others = [key for key in changed if key != "scope"]
            trees = ({key: tree.get(key) for key in others} for tree in (then, now))
            told += [differences(*trees)] if others else []
            raise SettingsChangedError(
                "settings that fix the meaning of the stored vectors have changed "
                f"({'; '.join(told)}); change them back, or run `kgsync rebuild` to train from "
                "scratch"
            )


def load_settings(path: Path | str) -> Settings:
    """Read a `kgsync.toml`; relative paths in it are relative to the file.

    Raises:
        ConfigError: The file cannot be read, or a key or value is wrong.
    """
    return SettingsFile(Path(path)).build(Settings)


def load_sync_settings(path: Path | str) -> Settings:
    """Read a `kgsync.toml` that names a store; its state is beside it, unless it says where.

    Raises:
        ConfigError: The file is wrong, or names no store.
    """
    settings = load_settings(path)
    source, state = settings.source, settings.state
    if source.store is None:
        raise ConfigError(f"{path} names no store; set source.store")
    if state.path is None:
        home = Path(path).parent / ".kgsync" / store_name(source.store, source.graphs)
        settings = replace(settings, state=replace(state, path=str(home)))
    return settings


def differences(then: dict[str, Any], now: dict[str, Any]) -> str:
    """The settings in which two trees of them differ, each as "section.key was A, is B"."""
    old, new = _flat(then), _flat(now)
    names = sorted(name for name in old.keys() | new.keys() if old.get(name) != new.get(name))
    return "; ".join(f"{name} was {_told(old, name)}, is {_told(new, name)}" for name in names)


def _flat(value: Any, name: str = "") -> dict[str, Any]:
    if not isinstance(value, dict):
        return {name: value}
    parts = [_flat(part, f"{name}.{key}" if name else key) for key, part in value.items()]
    return {key: part for flat in parts for key, part in flat.items()}


def _told(settings: dict[str, Any], name: str) -> str:
    return json.dumps(settings[name], ensure_ascii=False) if name in settings else "not there"
