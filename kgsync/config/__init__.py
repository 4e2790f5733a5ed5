"""All settings: the sections that the rooms declare, read from `kgsync.toml` and checked.

Nothing is declared here: a setting stands in the `settings.py` of the room that uses it, made by
`kgsync.common.declare.setting`. From these declarations come the checks, the template of
`kgsync init`, the reference of `kgsync settings` and the JSON schema.
"""

from kgsync.config.settings import (
    Corruption,
    Datatype,
    EndpointSettings,
    EvaluationSettings,
    FilterSettings,
    Literals,
    ModelSettings,
    Norm,
    PublishSettings,
    Rates,
    RunSettings,
    ScheduleSettings,
    Settings,
    SourceSettings,
    SplitSettings,
    StartVectors,
    StateSettings,
    TrainingSettings,
    UpdateSettings,
    load_settings,
)

__all__ = [
    "Corruption",
    "Datatype",
    "EndpointSettings",
    "EvaluationSettings",
    "FilterSettings",
    "Literals",
    "ModelSettings",
    "Norm",
    "PublishSettings",
    "Rates",
    "RunSettings",
    "ScheduleSettings",
    "Settings",
    "SourceSettings",
    "SplitSettings",
    "StartVectors",
    "StateSettings",
    "TrainingSettings",
    "UpdateSettings",
    "load_settings",
]
