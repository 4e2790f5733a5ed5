"""`kgsync moves`: what it prints about an element."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from tests.processes import kgsync
from tests.worlds import iri


def test_moves_tell_how_far_and_why(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "80")
    assert kgsync(project, "step", "--all").returncode == 0
    (project / "kg").rename(project / "elsewhere")  # it works without the store
    done = kgsync(project, "moves", iri("new"))
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    table, triples = done.stdout.split("\n\n")
    assert re.search(r"^2 .* added ", table, re.MULTILINE)
    assert sorted(re.findall(r"^2 +\+ .*$", triples, re.MULTILINE))
    (move,) = json.loads(kgsync(project, "moves", iri("new"), "--json").stdout)
    assert (move["version"], move["change"]) == (2, "added")
    assert [iri("new"), iri("next"), iri("e1")] in move["added"]
    done = kgsync(project, "moves", iri("next"), "--kind", "relation", "-k", "1")
    assert re.search(r"\d+ more", done.stdout)
    assert kgsync(project, "moves", iri("nobody")).returncode == 7
    assert kgsync(project, "moves", iri("new"), "--kind", "triple").returncode == 2
