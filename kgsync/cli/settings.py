"""`kgsync settings`: reference of all settings, as text, Markdown, JSON or a JSON schema."""

from __future__ import annotations

import json

from kgsync.cli.output import output
from kgsync.config.reference import as_data, as_markdown, as_text, reference
from kgsync.config.schema import schema
from kgsync.errors import ConfigError

__all__ = ["show_settings"]


def show_settings(wanted: str | None, *, markdown: bool, json_schema: bool) -> None:
    """Print the reference.

    Args:
        wanted: A section or a setting; all if not given.
        markdown: Print Markdown for documentation.
        json_schema: Print the JSON schema of the file instead.

    Raises:
        ConfigError: There is no such section or setting, or the options contradict each other.
    """
    if json_schema and (markdown or wanted):
        raise ConfigError("--json-schema describes the whole file: it takes no other option")
    if json_schema:
        output.exact(json.dumps(schema(), indent=2, ensure_ascii=False) + "\n")
        return
    sections = reference(wanted)
    output.data(as_data(sections))
    if not output.json:
        output.exact(as_markdown(sections) if markdown else as_text(sections))
