"""All settings: the sections that the rooms declare, read from `kgsync.toml` and checked.

In: a TOML file. Out: `Settings`, the template of `kgsync init`, the reference of `kgsync settings`
and the JSON schema. May import: every room below `sync`, common, errors.

Nothing is declared here: each room declares its settings in its own `settings.py`, with
`kgsync.common.declare.setting`.
"""

from kgsync.config.settings import Settings, load_settings
from kgsync.evaluation.settings import EvaluationSettings
from kgsync.graph.settings import EndpointSettings, FilterSettings, SplitSettings
from kgsync.models.settings import ModelSettings, Norm
from kgsync.publish.settings import Literals, PublishSettings
from kgsync.service.settings import ScheduleSettings
from kgsync.source.settings import SourceSettings
from kgsync.state.settings import StateSettings
from kgsync.training.rates import Rates
from kgsync.training.settings import (
    InitialVectors,
    NegativeSampling,
    RunSettings,
    TrainingSettings,
    UpdateSettings,
)

__all__ = [
    "EndpointSettings",
    "EvaluationSettings",
    "FilterSettings",
    "InitialVectors",
    "Literals",
    "ModelSettings",
    "NegativeSampling",
    "Norm",
    "PublishSettings",
    "Rates",
    "RunSettings",
    "ScheduleSettings",
    "Settings",
    "SourceSettings",
    "SplitSettings",
    "StateSettings",
    "TrainingSettings",
    "UpdateSettings",
    "load_settings",
]
