"""The Higgs Twitter data of SNAP: timed activity, and follow edges that get their times from it."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa

from kgsync.snapshots.facts import Facts
from kgsync.snapshots.files import find_file
from kgsync.snapshots.iris import Naming
from kgsync.snapshots.layouts import Layout
from kgsync.snapshots.tables import numbered, read_table

__all__ = ["read_higgs"]

_ACTIVITY = Layout(("user", "other user", "time", "kind"), " ", times="time")
_FOLLOWS = Layout(("user", "other user"), " ")
_NEVER = np.iinfo(np.int64).max


def read_higgs(folder: Path, naming: Naming) -> Facts:
    """Read `higgs-activity_time.txt` and `higgs-social_network.edgelist`, compressed or not.

    A follow edge gets the earlier of its two users' first activity times; one with a user who
    never was active is dropped.

    Raises:
        ConfigError: A file is missing or malformed, or there are no facts.
    """
    activity = read_table(find_file(folder, "higgs-activity_time.txt"), _ACTIVITY)
    follows = read_table(find_file(folder, "higgs-social_network.edgelist"), _FOLLOWS)
    columns = [table[name] for table in (activity, follows) for name in _FOLLOWS.columns]
    (actor, target, follower, followed), users = numbered(*columns)
    (kind,), kinds = numbered(activity["kind"])
    times = activity["time"].to_numpy()

    first = np.full(len(users), _NEVER)
    np.minimum.at(first, actor, times)
    np.minimum.at(first, target, times)
    active = np.maximum(first[follower], first[followed]) < _NEVER
    follower, followed = follower[active], followed[active]

    relation = np.concatenate([kind, np.full(len(follower), len(kinds), np.int32)])
    return Facts.of(
        naming.entities(users),
        naming.relations(pa.concat_arrays([kinds, pa.array(["follows"])])),
        (np.concatenate([actor, follower]), relation, np.concatenate([target, followed])),
        np.concatenate([times, np.minimum(first[follower], first[followed])]),
        dated=True,
    )
