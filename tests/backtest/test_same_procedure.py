"""A backtest and a sync run the same procedure with the same random numbers."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from kgsync import KGSync
from kgsync.backtest.run import backtest
from kgsync.state.sidecar import read_tables
from tests.worlds import GRAPHS, disk_store, quick_settings


def test_updates_of_a_backtest_are_those_of_a_sync(tmp_path: Path) -> None:
    store, settings = disk_store(tmp_path / "kg", ["1", "2", "10"]), quick_settings()
    sync = KGSync(store, GRAPHS, state=tmp_path / "state", settings=settings)
    assert len(sync.catch_up(allow_large_removal=True)) == 3
    results = backtest(store, sync.settings, tmp_path / "out", methods=["update"])
    synced = read_tables(tmp_path / "state/000003/embeddings")
    tables = results.tables("transe", "update", 2)
    assert synced.keys() == tables.keys()
    for name, table in tables.items():
        assert np.array_equal(synced[name], table.numpy())
