"""What comes from the declarations: template, reference, JSON schema, `kgsync settings`."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kgsync.common.declare import Setting, every_section, parts_of, settings_of
from kgsync.config import Settings
from kgsync.config.reference import as_markdown, as_text, reference
from kgsync.config.schema import schema
from kgsync.config.template import template, toml_value
from kgsync.config.values import check_value
from kgsync.errors import ConfigError

SECTIONS = list(every_section(Settings))
SETTINGS = [(name, each) for name, cls, _ in SECTIONS for each in settings_of(cls).values()]


def kgsync(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "kgsync", "settings", *arguments]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def accepts(rules: dict[str, Any], value: Any) -> bool:
    """Whether a JSON schema allows a value; for the keywords that are in use."""
    types = {
        "integer": int,
        "number": int | float,
        "string": str,
        "boolean": bool,
        "array": list,
        "object": dict,
    }
    if "type" in rules and not isinstance(value, types[rules["type"]]):
        return False
    known = rules.get("properties", {})
    for key, each in value.items() if isinstance(value, dict) else ():
        inner = known.get(key, rules["additionalProperties"])
        if inner is False or not accepts(inner, each):
            return False
    return (
        value in rules.get("enum", [value])
        and value == rules.get("const", value)
        and ("items" not in rules or all(accepts(rules["items"], each) for each in value))
        and ("pattern" not in rules or re.search(rules["pattern"], value) is not None)
        and ("minimum" not in rules or value >= rules["minimum"])
        and ("exclusiveMinimum" not in rules or value > rules["exclusiveMinimum"])
        and ("maximum" not in rules or value <= rules["maximum"])
        and ("anyOf" not in rules or any(accepts(each, value) for each in rules["anyOf"]))
    )


def rules_of(section: str, key: str) -> dict[str, Any]:
    found: dict[str, Any] = schema()
    for name in (*section.split("."), key):
        found = found["properties"][name]
    return found


def test_every_field_is_declared_and_explained() -> None:
    for name, section, text in [("", Settings, "."), *SECTIONS]:
        declared = {*settings_of(section), *parts_of(section)}
        assert declared == {each.name for each in fields(section)}, name
        assert text.endswith("."), name
    for name, setting in SETTINGS:
        assert setting.help[0].isupper(), (name, setting.key)
        assert setting.help.endswith("."), (name, setting.key)
        assert setting.default is not None or setting.example is not None, (name, setting.key)


@pytest.mark.parametrize(
    ("section", "setting"), SETTINGS, ids=[f"{name}.{each.key}" for name, each in SETTINGS]
)
def test_defaults_and_examples_fit_their_own_declaration(section: str, setting: Setting) -> None:
    shown = setting.example if setting.default is None else setting.default
    check_value(setting, shown, section)
    rules = rules_of(section, setting.key)
    assert accepts(rules, json.loads(json.dumps(shown)))
    assert setting.help in rules["description"]


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("training.epochs", -1),
        ("training.epochs", 1.5),
        ("training.steps", "pairs"),
        ("training.learning_rate", 0),
        ("training.learning_rate", 1e300),
        ("model.name", "transx"),
        ("model.dimension", 100_001),
        ("evaluation.stability_sample", 1),
        ("source.endpoint.max_rows", 99),
        ("source.quiet_period", "soon"),
        ("source.settle", "soon"),
        ("schedule.max_load", 0),
        ("filter.include", "http://p"),
        ("filter.include", [1]),
        ("source.endpoint.headers", {"a": 1}),
    ],
)
def test_the_schema_refuses_what_the_settings_refuse(name: str, value: Any) -> None:
    section, _, key = name.rpartition(".")
    assert not accepts(rules_of(section, key), value)


def test_the_schema_refuses_unknown_keys_and_marks_former_ones() -> None:
    assert accepts(schema(), {"training": {"epochs": 3}, "source": {"settle": "3s"}})
    assert not accepts(schema(), {"training": {"epohcs": 3}})
    assert not accepts(schema(), {"trainign": {}})
    assert rules_of("source", "settle")["deprecated"] is True
    assert "deprecated" not in rules_of("source", "quiet_period")
    assert schema()["$schema"] == "https://json-schema.org/draft/2020-12/schema"


def test_the_template_is_toml_and_fits_the_schema() -> None:
    text = template({"source": {"store": "kg"}, "model": {"name": "transh", "dimension": 50}})
    written = tomllib.loads(text)
    assert written["source"] == {"store": "kg", "endpoint": {}}
    assert written["model"] == {"name": "transh", "dimension": 50}
    assert not any(len(line) > 100 for line in text.splitlines())
    lines = (line.removeprefix("# ") for line in text.splitlines())
    code = "\n".join(line for line in lines if re.match(r"\w+ = |\[", line))
    everything = tomllib.loads(code)
    assert accepts(schema(), everything)
    assert set(everything) == {name for name, _, _ in SECTIONS if "." not in name}


@given(st.recursive(st.text() | st.booleans() | st.integers(0, 9), st.lists))
def test_what_the_template_writes_reads_back(value: Any) -> None:
    assert tomllib.loads(f"x = {toml_value(value)}") == {"x": value}


def test_the_reference_names_everything_in_80_columns() -> None:
    text = as_text(reference())
    assert not any(len(line) > 80 for line in text.splitlines())
    for name, setting in SETTINGS:
        assert f"[{name}]" in text
        assert re.search(rf"^  {setting.key} ", text, re.MULTILINE)
        (section,) = (found for found in reference(f"{name}.{setting.key}"))
        words = " ".join(as_text([section]).split())
        assert setting.help in words
        assert not setting.paper or f"In the paper: {setting.paper}" in words
        assert not setting.was or f"Formerly: {setting.was}" in words
        assert all(toml_value(choice) in words for choice in setting.choices)


def test_a_section_brings_those_inside_it() -> None:
    assert [section.name for section in reference("source")] == ["source", "source.endpoint"]
    (endpoint,) = reference("publish.endpoint")
    assert "The keys are those of" not in as_text([endpoint])
    assert "The keys are those of [source.endpoint]" in as_text(reference())


@pytest.mark.parametrize(
    ("wanted", "found"),
    [
        ("update.patience", ["update.patience"]),
        ("patience", ["training.patience", "update.patience"]),
        ("settle", ["source.quiet_period"]),
        ("source.settle", ["source.quiet_period"]),
        ("publish.endpoint", [f"publish.endpoint.{key}" for key in ("update_url", "auth")]),
    ],
)
def test_a_setting_is_found_by_any_of_its_names(wanted: str, found: list[str]) -> None:
    sections = reference(wanted)
    names = [f"{s.name}.{each.key}" for s in sections for each in s.settings]
    assert names[: len(found)] == found


@pytest.mark.parametrize(
    ("wanted", "hint"),
    [("updat", "'update'"), ("training.epoch", "'training.epochs'"), ("zzz", "lists all")],
)
def test_an_unknown_name_gets_a_hint(wanted: str, hint: str) -> None:
    with pytest.raises(ConfigError, match=hint):
        reference(wanted)


def test_markdown_has_a_row_for_every_setting() -> None:
    text = as_markdown(reference())
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    shown = [section for section in reference() if not section.same_as]
    assert len(rows) == sum(len(section.settings) for section in shown)
    assert all(len(re.findall(r"(?<!\\)\|", row)) == 4 for row in rows)


def test_the_command_prints_text_markdown_json_and_a_schema() -> None:
    done = kgsync("update")
    assert done.returncode == 0, done.stderr
    assert done.stdout == as_text(reference("update"))
    assert kgsync("--markdown").stdout == as_markdown(reference())
    assert json.loads(kgsync("--json-schema").stdout) == schema()
    records = json.loads(kgsync("update.jump_size", "--json").stdout)
    assert [(each["key"], each["default"], each["paper"]) for each in records] == [
        ("jump_size", 0.5, "jumpSize")
    ]


def test_the_command_refuses_what_makes_no_sense() -> None:
    for arguments in (["updat"], ["update", "--json-schema"], ["--markdown", "--json-schema"]):
        done = kgsync(*arguments)
        assert done.returncode == 2, arguments
        assert "Traceback" not in done.stderr


def test_the_command_loads_nothing_heavy() -> None:
    code = (
        "import sys; from kgsync.cli.app import app\n"
        "try: app(['settings'])\n"
        "except SystemExit: pass\n"
        "heavy = {'torch', 'numba', 'pyarrow', 'rdflib', 'pyoxigraph'}\n"
        "assert not heavy & set(sys.modules), heavy & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
