"""`kgsync init`: the settings file it writes, and the vectors it adopts."""

from __future__ import annotations

import json
import re
from dataclasses import is_dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kgsync.common.declare import every_section, settings_of
from kgsync.config import Settings, load_settings
from tests.processes import kgsync
from tests.worlds import GRAPHS, disk_store, iri

_WRITTEN = {("source", "store"), ("source", "graphs"), ("update", "strategy")}
"""What `kgsync init` sets."""


def test_init_from_adopts_vectors(tmp_path: Path) -> None:
    disk_store(tmp_path / "kg", ["1"])
    rows = {
        "iri": [iri(f"e{i}") for i in range(40)] + [iri("next"), iri("skip"), iri("back")],
        "kind": ["entity"] * 40 + ["relation"] * 3,
        "vector": [[float(i), 1.0, -2.5] for i in range(43)],
    }
    pq.write_table(pa.table(rows), tmp_path / "mine.parquet")
    done = kgsync(tmp_path, "init", "kg", "--graphs", GRAPHS, "--from", "mine.parquet", "--json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["report"]["action"] == "adopted"
    assert load_settings(tmp_path / "kgsync.toml").model.dimension == 3
    near = json.loads(kgsync(tmp_path, "neighbors", iri("e3"), "--json").stdout)
    assert near[0]["iri"] == iri("e4")


@pytest.mark.parametrize("before", [None, "# mine\n"])
def test_init_leaves_the_settings_file_as_it_was_if_vectors_cannot_be_adopted(
    tmp_path: Path, before: str | None
) -> None:
    disk_store(tmp_path / "kg", ["1"])
    rows = {"iri": [iri("other")], "kind": ["entity"], "vector": [[1.0, 2.0]]}
    pq.write_table(pa.table(rows), tmp_path / "mine.parquet")
    config = tmp_path / "kgsync.toml"
    if before is not None:
        config.write_text(before)
    arguments = ("--graphs", GRAPHS, "--from", "mine.parquet", "--force")
    done = kgsync(tmp_path, "init", "kg", *arguments)
    assert done.returncode == 2, done.stderr
    assert (config.read_text() if config.exists() else None) == before
    assert "wrote" not in done.stdout
    assert not (tmp_path / ".kgsync").exists()


def test_init_chooses_updates_that_suit_the_change(tmp_path: Path) -> None:
    disk_store(tmp_path / "kg", ["1"])
    assert kgsync(tmp_path, "init", "kg", "--graphs", GRAPHS).returncode == 0
    assert load_settings(tmp_path / "kgsync.toml").update.strategy == "auto"
    assert Settings().update.strategy == "paper"


def test_init_takes_the_dimension_of_the_model(tmp_path: Path) -> None:
    disk_store(tmp_path / "kg", ["1"])
    done = kgsync(tmp_path, "init", "kg", "--graphs", GRAPHS, "--model", "rescal")
    assert done.returncode == 0, done.stderr
    assert load_settings(tmp_path / "kgsync.toml").model.dimension == 50


def test_the_settings_template_names_every_setting_with_its_default(tmp_path: Path) -> None:
    disk_store(tmp_path / "kg", ["1"])
    assert kgsync(tmp_path, "init", "kg", "--graphs", GRAPHS).returncode == 0
    text = (tmp_path / "kgsync.toml").read_text()
    # Where there is no default, the file shows an example.
    examples = {
        (name, key)
        for name, section, _ in every_section(Settings)
        for key, setting in settings_of(section).items()
        if setting.default is None
    }
    lines, header = [], ""
    for line in text.splitlines():
        bare = line.removeprefix("# ")
        if found := re.fullmatch(r"\[(.+?)\].*", line):
            header = found[1]
        is_example = (header, bare.split(" = ")[0]) in examples
        lines.append(line if is_example or " = " not in bare else bare)
    (tmp_path / "kgsync.toml").write_text("\n".join(lines))
    settings = load_settings(tmp_path / "kgsync.toml")
    defaults = Settings()
    for section in vars(defaults):
        for key, value in vars(getattr(defaults, section)).items():
            if is_dataclass(value):
                assert all(f"{name} = " in text for name in vars(value)), (section, key)
                continue
            assert f"{key} = " in text, f"{section}.{key} is not in the template"
            if (section, key) not in _WRITTEN:
                assert getattr(getattr(settings, section), key) == value, (section, key)
