"""Settings: frozen typed dataclasses, read from `kgsync.toml`. An unknown key is an error."""

from __future__ import annotations

import difflib
import hashlib
import json
import math
import os
import tomllib
import types
import typing
from dataclasses import asdict, dataclass, field, fields, is_dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar, cast

from kgsync.errors import ConfigError

__all__ = [
    "EvaluationSettings",
    "FilterSettings",
    "ModelSettings",
    "PublishSettings",
    "RunSettings",
    "Settings",
    "SourceSettings",
    "SplitSettings",
    "StateSettings",
    "TrainingSettings",
    "UpdateSettings",
    "load_settings",
]

StartVectors = Literal["average", "random", "best", "balance", "jumps"]
Norm = Literal["l1", "l2", "l2sq"]


_MEANING = "name", "dimension", "relation_dimension", "norm"
"""Settings of a model that fix what its vectors mean."""
_DIVISORS = {"analogy": 4, "complex": 2}
"""Models whose vectors fall into parts of equal length."""
_CLOSED_FORMS = "transe", "transh"
"""Models for which the best place of a new element can be computed."""


@dataclass(frozen=True)
class SourceSettings:
    """Where the graph is and how its versions are found."""

    store: str | None = None
    """Path of an Oxigraph directory, or a URL for which an adapter is installed."""
    graphs: str | None = None
    """IRI with `{version}` for one path segment; a plain IRI or "default" for a live graph."""
    catalog: str | None = None
    """Named graph of the version metadata; the default graph if not set."""
    scope: str | None = None
    """File of a query that selects ?s ?p ?o from `GRAPH $graph`: what to embed at all."""
    start: str = "oldest"
    """First version to take: "oldest", "latest", or a graph IRI."""
    max_removed: float = 0.2
    """A step that would remove a larger share of the edges stops and says so."""


@dataclass(frozen=True)
class StateSettings:
    """Where kgsync keeps what it knows."""

    path: str | None = None
    """State directory; `.kgsync/<name of the store>` if not set."""
    keep: int = 3
    """How many embedding versions keep their files."""


@dataclass(frozen=True)
class FilterSettings:
    """Which edges are embedded."""

    include: tuple[str, ...] = ()
    """Predicates to keep; empty keeps all."""
    exclude: tuple[str, ...] = ()
    """Predicates to drop."""
    min_degree: int = 1
    """Drop entities and relations in fewer edges, until none is left."""


@dataclass(frozen=True)
class SplitSettings:
    """Shares of held-out edges; both 0 trains on everything."""

    validation: float = 0.05
    test: float = 0.05
    key: str = "kgsync"
    """Key of the hash that assigns edges; another key gives another split."""


@dataclass(frozen=True)
class ModelSettings:
    """The scoring model. Values left out take the paper's defaults for that model."""

    name: str = "transe"
    dimension: int = 0
    """Length of the vectors; 0 takes the paper's: 50 for RESCAL, else 100."""
    relation_dimension: int = 0
    """Length of TransD's relation vectors; 0 takes the same as for entities."""
    norm: Norm = "l1"
    """Distance of the translational models; l2sq is the square of l2."""
    margin: float = 1.0
    """γ of the pairwise ranking loss."""
    l2_penalty: float = 0.02
    """Weight of the L2 penalty of DistMult, ANALOGY and ComplEx."""

    def __post_init__(self) -> None:
        from kgsync.models import MODELS

        if self.dimension == 0 and self.name in MODELS:
            object.__setattr__(self, "dimension", MODELS[self.name].dimension)


@dataclass(frozen=True)
class TrainingSettings:
    """Training from scratch (alg. TDSM_offline)."""

    epochs: int = 1000
    batches: int = 100
    """Batches an epoch."""
    steps: Literal["batch", "pair"] = "batch"
    """When vectors move: once a batch, as in the paper, or after every pair of a true and a false
    triple, which is faster; only for TransE, and not with torch."""
    learning_rate: float | None = None
    """Model default: 0.001 (translational), 0.1 (semantic matching)."""
    validate_every: int = 10
    """Epochs between validations; 0 switches validation off."""
    patience: int = 10
    """Validations without a gain in Hits@10 before training stops."""


@dataclass(frozen=True)
class UpdateSettings:
    """Updating (alg. TDSM_online); the paper's parameter names in brackets."""

    start_vectors: StartVectors = "average"
    """Start of new elements (preInit): "average" of those that stay (ave), "random" (ran), or, for
    TransE and TransH, the "best" place for their true triples (pos), its "balance" with false
    ones (neg), or "jumps" away from false ones (neg2)."""
    start_negatives: int = 0
    """False triples for each true one (preNegs); 0 takes 1 for "balance", 4 for "jumps"."""
    jump_rounds: int = 10
    """At most so many rounds of jumps (jumpLim)."""
    jump_size: float = 0.5
    """Length of a jump, as a share of the way to the best place (jumpSize)."""
    pretraining_epochs: int = 50
    """Epochs in which only new elements move (initTimes); 0 leaves their start vectors alone."""
    pretraining_negatives: int = 1
    """False triples for each true one in these epochs (initNegs)."""
    pretraining_learning_rate: float | None = None
    """The rate of training from scratch if not set (initLR)."""
    change_epochs: int = 20
    """Epochs on the added and deleted triples only (csNum)."""
    general_epochs: int = 180
    """Epochs on all training triples (geNum)."""
    change_learning_rate: float | None = None
    """Half of the general rate if not set (csLR)."""
    general_learning_rate: float | None = None
    """A fifth of the rate of training from scratch if not set (geLR)."""
    skip_new_elements: bool = False
    """Leave added triples that touch a new element out of the change epochs (csRestrict)."""
    validate_every: int = 10
    patience: int = 10


@dataclass(frozen=True)
class EvaluationSettings:
    """Link prediction on the held-out edges."""

    validation_sample: int = 1000
    """Rank a fixed, seeded sample of so many validation edges; 0 ranks all."""
    test_sample: int = 2000
    """The same for the quality in the report."""
    stability_sample: int = 1000
    """Estimate how far vectors moved from so many elements, each against all; 0 takes all."""
    memory_mb: int = 256
    """Bound on one block of scores or distances."""


@dataclass(frozen=True)
class PublishSettings:
    """Where the metadata of every version goes."""

    metadata: bool = True
    target: str | None = None
    """Store to publish into; the source where it can be written, else one inside the state."""
    graph: str | None = None
    """Named graph of the metadata; `urn:kgsync:<name>` if not set."""


@dataclass(frozen=True)
class RunSettings:
    """How the work is done."""

    seed: int = 0
    threads: int = 1
    """CPU threads; 0 takes all. With 1 the same input and seed give the same vectors."""
    backend: Literal["auto", "cpu", "torch"] = "auto"
    """What computes the epochs: compiled kernels on the CPU (auto takes them), or torch."""


@dataclass(frozen=True)
class Settings:
    """All settings, one section each."""

    source: SourceSettings = field(default_factory=SourceSettings)
    state: StateSettings = field(default_factory=StateSettings)
    filter: FilterSettings = field(default_factory=FilterSettings)
    split: SplitSettings = field(default_factory=SplitSettings)
    model: ModelSettings = field(default_factory=ModelSettings)
    training: TrainingSettings = field(default_factory=TrainingSettings)
    update: UpdateSettings = field(default_factory=UpdateSettings)
    evaluation: EvaluationSettings = field(default_factory=EvaluationSettings)
    publish: PublishSettings = field(default_factory=PublishSettings)
    run: RunSettings = field(default_factory=RunSettings)

    def __post_init__(self) -> None:
        _check(self)

    def scope_text(self) -> str | None:
        """The text of the scope query."""
        if self.source.scope is None:
            return None
        try:
            return Path(self.source.scope).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise ConfigError(f"cannot read the scope {self.source.scope}: {error}") from None

    def _meaning(self) -> dict[str, Any]:
        """The settings of the model that fix what its vectors mean."""
        from kgsync.models import MODELS

        chosen = {name: getattr(self.model, name) for name in _MEANING}
        if MODELS[self.model.name].optimizer != "sgd":
            chosen["norm"] = None  # the models without a distance
        return chosen

    def fingerprint(self) -> dict[str, Any]:
        """What fixes the meaning of the stored vectors: a change of it calls for a rebuild."""
        scope = self.scope_text()
        return {
            "model": self._meaning(),
            "split": asdict(self.split),
            "filter": json.loads(json.dumps(asdict(self.filter))),
            "graphs": self.source.graphs,
            "scope": hashlib.sha256(scope.encode()).hexdigest() if scope else None,
            "seed": self.run.seed,
        }


def load_settings(path: Path | str) -> Settings:
    """Read a `kgsync.toml`; relative paths in it are relative to the file.

    Raises:
        ConfigError: The file cannot be read, or a key or value is wrong.
    """
    path = Path(path)
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(
            f"cannot read {path}: {error.strerror}; run `kgsync init` first"
        ) from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path} is not valid TOML: {error}") from None
    _anchor(data, path.parent)
    return _build(Settings, data, str(path))


def _anchor(data: dict[str, Any], folder: Path) -> None:
    """Make the file's relative paths independent of the working directory."""
    for section, key in (
        ("source", "store"),
        ("source", "scope"),
        ("state", "path"),
        ("publish", "target"),
    ):
        value = data.get(section, {}).get(key) if isinstance(data.get(section), dict) else None
        if isinstance(value, str) and "://" not in value:
            data[section][key] = os.path.normpath(folder / value)


T = TypeVar("T")


def _build(cls: type[T], data: Any, where: str) -> T:
    """A dataclass from TOML data, every key and type checked."""
    if not isinstance(data, dict):
        raise ConfigError(f"{where} must be a table of keys, not {data!r}")
    hints = typing.get_type_hints(cls)
    known = [f.name for f in fields(cast("Any", cls))]
    for key in data:
        if key not in known:
            close = difflib.get_close_matches(key, known, 1)
            hint = f"did you mean {close[0]!r}?" if close else f"known keys: {', '.join(known)}"
            raise ConfigError(f"{where} has no key {key!r}; {hint}")
    values = {key: _value(hints[key], value, f"{where}: {key}") for key, value in data.items()}
    return cls(**values)


def _value(hint: Any, value: Any, where: str) -> Any:
    if is_dataclass(hint):
        return _build(cast("type[Any]", hint), value, where)
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        (hint,) = (option for option in options if option is not type(None))
        return _value(hint, value, where)
    if origin is Literal:
        if value not in options:
            raise ConfigError(f"{where} must be one of {', '.join(options)}, not {value!r}")
        return value
    if origin is tuple:
        if not isinstance(value, list) or not all(isinstance(item, str) for item in value):
            raise ConfigError(f"{where} must be a list of texts, not {value!r}")
        return tuple(value)
    if hint is float and isinstance(value, int) and not isinstance(value, bool):
        return float(value)
    if not isinstance(value, hint) or (isinstance(value, bool) and hint is not bool):
        raise ConfigError(f"{where} must be of type {hint.__name__}, not {value!r}")
    return value


def _check(settings: Settings) -> None:
    """Values that have the right type and still make no sense."""
    from kgsync.models import MODELS

    split, model, update = settings.split, settings.model, settings.update
    if model.name not in MODELS:
        known = ", ".join(sorted(MODELS))
        raise ConfigError(f"there is no model named {model.name!r}; known models: {known}")
    rules = [
        (min(split.validation, split.test) >= 0, "split: shares must not be negative"),
        (split.validation + split.test < 1, "split: no training edges would be left"),
        (len(split.key.encode()) <= 64, "split: key must be at most 64 bytes"),
        (1 <= model.dimension <= 100_000, "model: dimension must lie between 1 and 100,000"),
        (
            model.dimension % _DIVISORS.get(model.name, 1) == 0,
            f"model: {model.name} needs a dimension divisible by {_DIVISORS.get(model.name)}",
        ),
        (0 < model.margin < math.inf, "model: margin must be a positive number"),
        (model.l2_penalty >= 0, "model: l2_penalty must not be negative"),
        (settings.filter.min_degree >= 1, "filter: min_degree must be at least 1"),
        (settings.training.epochs >= 0, "training: epochs must not be negative"),
        (settings.training.batches >= 1, "training: batches must be at least 1"),
        (
            settings.training.steps == "batch"
            or (model.name == "transe" and settings.run.backend != "torch"),
            "training: steps = 'pair' is for transe only, and not for backend = 'torch'",
        ),
        (settings.training.validate_every >= 0, "training: validate_every must not be negative"),
        (settings.training.patience >= 1, "training: patience must be at least 1"),
        (
            model.relation_dimension == 0 or model.name == "transd",
            f"model: {model.name} has no relation_dimension of its own; only transd has",
        ),
        (0 <= model.relation_dimension <= 100_000, "model: relation_dimension is out of range"),
        (
            update.start_vectors in ("average", "random") or model.name in _CLOSED_FORMS,
            f"update: {model.name} has start_vectors 'average' and 'random' only, not "
            + repr(update.start_vectors),
        ),
        (
            settings.evaluation.stability_sample != 1,
            "evaluation: stability_sample must be 0 or at least 2",
        ),
        (update.start_negatives >= 0, "update: start_negatives must not be negative"),
        (update.jump_rounds >= 0, "update: jump_rounds must not be negative"),
        (update.jump_size > 0, "update: jump_size must be positive"),
        (update.pretraining_epochs >= 0, "update: pretraining_epochs must not be negative"),
        (update.pretraining_negatives >= 1, "update: pretraining_negatives must be at least 1"),
        (update.change_epochs >= 0, "update: change_epochs must not be negative"),
        (update.general_epochs >= 0, "update: general_epochs must not be negative"),
        (update.validate_every >= 0, "update: validate_every must not be negative"),
        (update.patience >= 1, "update: patience must be at least 1"),
        (settings.evaluation.memory_mb >= 1, "evaluation: memory_mb must be at least 1"),
        (settings.state.keep >= 1, "state: keep must be at least 1"),
        (0 <= settings.run.threads <= 1024, "run: threads must lie between 0 and 1,024"),
        (0 <= settings.source.max_removed <= 1, "source: max_removed must lie between 0 and 1"),
    ]
    for name in ("validation_sample", "test_sample", "stability_sample"):
        sample = getattr(settings.evaluation, name)
        rules.append((sample >= 0, f"evaluation: {name} must not be negative"))
    for section, key in (
        ("training", "learning_rate"),
        ("update", "pretraining_learning_rate"),
        ("update", "change_learning_rate"),
        ("update", "general_learning_rate"),
    ):
        rate = getattr(getattr(settings, section), key)
        holds = rate is None or 0 < rate < math.inf
        rules.append((holds, f"{section}: {key} must be a positive number"))
    for right, message in rules:
        if not right:
            raise ConfigError(message)
