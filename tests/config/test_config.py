"""Settings that only make sense together."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import pyoxigraph
import pytest

from kgsync import KGSync
from kgsync.config import (
    EndpointSettings,
    EvaluationSettings,
    FilterSettings,
    ModelSettings,
    PublishSettings,
    RunSettings,
    ScheduleSettings,
    Settings,
    SourceSettings,
    SplitSettings,
    StateSettings,
    TrainingSettings,
    UpdateSettings,
    load_settings,
)
from kgsync.errors import ConfigError
from kgsync.graph.stores import open_store


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (RunSettings(backend=cast("Any", "cuda")), "[run] backend must be one of auto, cpu, torch"),
        (RunSettings(threads=cast("Any", 1.5)), "[run] threads must be a whole number, not 1.5"),
        (RunSettings(seed=cast("Any", None)), "[run] seed must be a whole number, not None"),
        (ModelSettings(norm=cast("Any", "l3")), "[model] norm must be one of l1, l2, l2sq, not"),
        (TrainingSettings(steps=cast("Any", "pairs")), "[training] steps must be one of batch, p"),
        (
            TrainingSettings(negative_sampling=cast("Any", "bern")),
            "[training] negative_sampling must be one of",
        ),
        (TrainingSettings(learning_rate=cast("Any", "1")), "learning_rate must be a number"),
        (FilterSettings(include=cast("Any", "http://p")), "[filter] include must be a list of str"),
        (ScheduleSettings(every=cast("Any", 15)), "[schedule] every must be a string, not 15"),
        (SplitSettings(key=cast("Any", 5)), "[split] key must be a string, not 5"),
        (
            UpdateSettings(initial_vectors=cast("Any", "avg")),
            "[update] initial_vectors must be one of",
        ),
    ],
)
def test_python_code_cannot_choose_what_there_is_not_either(section: Any, message: str) -> None:
    name = type(section).__name__.removesuffix("Settings").lower()
    with pytest.raises(ConfigError, match=re.escape(message)):
        Settings(**{name: section})


def test_python_code_may_give_whole_numbers_for_others_and_nothing_for_defaults() -> None:
    given = TrainingSettings(learning_rate=1)
    assert Settings(training=given).hyper_parameters()["training"]["learning_rate"] == 1
    assert Settings(training=TrainingSettings(learning_rate=None)).training.learning_rate is None


def test_work_is_done_on_the_cpu_unless_told() -> None:
    assert Settings().run.device == "cpu"


def test_a_device_is_read_from_the_file(tmp_path: Path) -> None:
    (tmp_path / "kgsync.toml").write_text('[run]\nbackend = "torch"\ndevice = "cuda:1"\n')
    assert load_settings(tmp_path / "kgsync.toml").run.device == "cuda:1"


@pytest.mark.parametrize("backend", ["auto", "torch"])
def test_torch_may_use_any_device(backend: str) -> None:
    run = RunSettings(backend="torch" if backend == "torch" else "auto", device="mps")
    assert Settings(run=run).run.device == "mps"


def test_the_kernels_are_for_the_cpu_only() -> None:
    assert Settings(run=RunSettings(backend="cpu", device="cpu")).run.backend == "cpu"
    with pytest.raises(ConfigError, match=r"backend = 'cpu' cannot use device = 'cuda'.*'torch'"):
        Settings(run=RunSettings(backend="cpu", device="cuda"))


def test_steps_by_pair_are_for_the_cpu_only() -> None:
    training = TrainingSettings(steps="pair")
    assert Settings(training=training).run.device == "cpu"
    with pytest.raises(ConfigError, match=r"steps = 'pair' works only with run\.device = 'cpu'"):
        Settings(model=ModelSettings("transe"), training=training, run=RunSettings(device="cuda"))


@pytest.mark.parametrize(
    ("section", "key"),
    [("source", "store"), ("source", "scope"), ("state", "path"), ("publish", "target")],
)
def test_no_path_has_a_nul_character(tmp_path: Path, section: str, key: str) -> None:
    path = tmp_path / "kgsync.toml"
    path.write_text(f'[{section}]\n{key} = "a\\u0000b"\n')
    with pytest.raises(ConfigError, match=rf"\[{section}\] {key} contains a NUL character"):
        load_settings(path)


def test_no_path_that_python_code_gives_has_a_nul_character(tmp_path: Path) -> None:
    for make in (
        lambda: KGSync("a\0b"),
        lambda: KGSync("a\0b", state=tmp_path),
        lambda: KGSync(tmp_path, state="a\0b"),
        lambda: KGSync(pyoxigraph.Store(), state=Path("a\0b")),
        lambda: KGSync.from_config("a\0b"),
        lambda: open_store("a\0b.nt"),
        lambda: open_store(Path("a\0b")),
    ):
        with pytest.raises(ConfigError, match="NUL character"):
            make()


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("[training]\nepochs = -1\n", 2),
        ("# epochs\n[training] # epochs = 1\n\n  epochs  =  -1 # = 2", 4),
        ("training.epochs = -1", 1),
        ("[source]\nstore = 'epochs'\n[training]\n'epochs' = -1", 4),
        ("training = { batches = 5, epochs = -1 }", 1),
        ("[source]\ngraphs = '''\n[training]\nepochs = 3\n'''\n[training]\nepochs = -1", 7),
        ("[update]\npatience = 3\n[training]\nepochs = 0\npatience = 0", 5),
        ("[filter]\ninclude = [\n  'a',\n  5,\n]", 2),
        ("[filter]\nexclude = []\ninclude = [ # kept\n 5]", 3),
        ("[source]\nendpoint = { retries = -1 }", 2),
        ("[source]\nstore = 'kg'\n[source.endpoint]\nretries = -1", 4),
        ("[source]\nendpoint.retries = -1", 2),
        ("[training]\r\nbatches = 1\r\nepochs = -1\r\n", 3),
        ("\n[model]\nnmae = 'transe'", 3),
        ("\n\n[modle]\nname = 'transe'", 3),
        ("\nmodel = 3", 2),
        ("[[model]]\nname = 'transe'", 1),
        ("[split]\ntest = 0.99", 2),
        ("[model]\ndimension = 5\nname = 'analogy'", 2),
        ("[model]\nname = 'rescal'\n[training]\nsteps = 'pair'", 4),
        ("[publish]\nmetadata = false\nliterals = 'rolling'", 3),
        ("[run]\ndevice = 'cuda'\nbackend = 'cpu'", 3),
    ],
)
def test_an_error_names_the_file_and_the_line(tmp_path: Path, text: str, line: int) -> None:
    path = tmp_path / "kgsync.toml"
    path.write_text(text, newline="")
    with pytest.raises(ConfigError, match=re.escape(f"({path}, line {line})")):
        load_settings(path)


def test_a_key_whose_line_is_not_found_is_told_with_the_file(tmp_path: Path) -> None:
    path = tmp_path / "kgsync.toml"
    path.write_text('[training]\n"\\u0065pochs" = -1')  # TOML lets a key be spelt like that
    with pytest.raises(ConfigError, match=r"at least 0, not -1 \(.*kgsync\.toml, line 1\)"):
        load_settings(path)


def test_python_code_gets_no_line() -> None:
    with pytest.raises(ConfigError) as error:
        Settings(training=TrainingSettings(epochs=-1))
    assert str(error.value) == "[training] epochs must be at least 0, not -1"


@pytest.mark.parametrize(
    ("section", "message"),
    [
        (SplitSettings(validation=-0.1), "[split] validation must be at least 0, not -0.1"),
        (SplitSettings(validation=0.5, test=0.5), "no training edges would be left"),
        (SplitSettings(key="ä" * 33), "[split] key must be at most 64 bytes long"),
        (ModelSettings(dimension=-1), "[model] dimension must be between 0 and 100,000, not -1"),
        (ModelSettings(margin=0.0), "[model] margin must be above 0, not 0.0"),
        (ModelSettings(margin=math.inf), "[model] margin must be a finite number, not inf"),
        (ModelSettings(l2_penalty=math.nan), "[model] l2_penalty must be a finite number, not nan"),
        (FilterSettings(min_degree=0), "[filter] min_degree must be at least 1, not 0"),
        (RunSettings(threads=1025), "[run] threads must be between 0 and 1,024, not 1025"),
        (EvaluationSettings(stability_sample=1), "must be 0 or at least 2, not 1"),
        (StateSettings(keep=0), "[state] keep must be at least 1, not 0"),
        (PublishSettings(keep=1), "[publish] keep must be at least 2, not 1"),
        (PublishSettings(tolerance=0.1), "tolerance is for literals = 'rolling' only"),
        (PublishSettings(base_url="ftp://x"), "[publish] base_url must begin with http://"),
        (SourceSettings(max_removed=1.1), "[source] max_removed must be between 0 and 1, not 1.1"),
        (SourceSettings(quiet_period="soon"), "[source] quiet_period must be a number with a unit"),
        (
            SourceSettings(endpoint=EndpointSettings(timeout="0s")),
            "[source.endpoint] timeout must be above 0s, not '0s'",
        ),
        (
            PublishSettings(endpoint=EndpointSettings(max_rows=99)),
            "[publish.endpoint] max_rows must be 0 or at least 100, not 99",
        ),
    ],
)
def test_values_out_of_bounds_are_refused(section: Any, message: str) -> None:
    name = type(section).__name__.removesuffix("Settings").lower()
    with pytest.raises(ConfigError, match=re.escape(message)):
        Settings(**{name: section})


def test_headers_may_be_secret_and_are_not_repeated() -> None:
    endpoint = EndpointSettings(headers=cast("Any", {"X-Key": 12345}))
    with pytest.raises(ConfigError, match="headers must be a table of strings") as error:
        Settings(source=SourceSettings(endpoint=endpoint))
    assert "12345" not in str(error.value)
    assert "12345" not in repr(endpoint)


RENAMED = {
    ("source", "settle"): ("quiet_period", "3s"),
    ("source", "read_whole"): ("full_scan_every", "2d"),
    ("update", "start_vectors"): ("initial_vectors", "random"),
    ("update", "start_negatives"): ("initial_negatives", 2),
    ("training", "corruption"): ("negative_sampling", "bernoulli"),
}


@pytest.mark.parametrize(("section", "old"), RENAMED)
def test_a_former_key_is_still_read_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, section: str, old: str
) -> None:
    new, value = RENAMED[section, old]
    path = tmp_path / "kgsync.toml"
    path.write_text(f"[{section}]\n\n{old} = {value!r}\n")
    assert getattr(getattr(load_settings(path), section), new) == value
    told = f"{path}, line 3: {section}.{old} is now called {section}.{new}; please rename it"
    assert caplog.messages == [told]


def test_a_new_key_is_read_without_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "kgsync.toml").write_text("[source]\nquiet_period = '3s'")
    assert load_settings(tmp_path / "kgsync.toml").source.quiet_period == "3s"
    assert not caplog.messages


def test_a_key_under_both_names_is_an_error(tmp_path: Path) -> None:
    path = tmp_path / "kgsync.toml"
    path.write_text("[source]\nquiet_period = '3s'\nsettle = '3s'")
    with pytest.raises(ConfigError, match=r"settle is the former name of quiet_period.*line 3\)"):
        load_settings(path)


def test_a_wrong_value_under_a_former_key_is_found_there(tmp_path: Path) -> None:
    path = tmp_path / "kgsync.toml"
    path.write_text("[source]\nstore = 'kg'\nsettle = 3")
    with pytest.raises(ConfigError, match=r"quiet_period must be a string, not 3 .*line 3\)"):
        load_settings(path)


@pytest.mark.parametrize(("section", "old"), RENAMED)
def test_python_code_may_use_a_former_name_with_a_warning(section: str, old: str) -> None:
    new, value = RENAMED[section, old]
    made = type(getattr(Settings(), section))
    with pytest.warns(DeprecationWarning, match=f"{made.__name__}: {old} is now called {new}"):
        found = made(**{old: value})
    assert found == made(**{new: value})
    assert replace(found, **{new: value}) == found
    with pytest.raises(TypeError, match=f"{old} is the former name of {new}"):
        made(**{old: value, new: value})


def test_a_section_must_be_one() -> None:
    given = cast("Any", {"headers": {"X-Key": "secret"}})
    with pytest.raises(ConfigError, match="must be of type EndpointSettings, not dict") as error:
        Settings(source=SourceSettings(endpoint=given))
    assert "secret" not in str(error.value)
