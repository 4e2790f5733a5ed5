"""`kgsync demo`: the graph it builds, and the folders it refuses."""

from __future__ import annotations

import json
from pathlib import Path

from kgsync.cli.commands.demo import build_store
from tests.processes import kgsync
from tests.worlds import QUICK


def test_demo_graph_has_all_kinds_of_change_and_meaningful_structure(tmp_path: Path) -> None:
    build_store(tmp_path / "graph.oxigraph", people=200)
    (tmp_path / "kgsync.toml").write_text(
        QUICK.format(graphs="http://demo.example/kg/{version}").replace('"kg"', '"graph.oxigraph"')
    )
    done = kgsync(tmp_path, "step", "--all", "--json")
    assert done.returncode == 0, done.stderr
    changes = [report["change"] for report in json.loads(done.stdout)]
    assert len(changes) == 6
    for kind in ("entities", "relations"):
        for sign in ("added", "deleted"):
            assert any(change[f"{sign}_{kind}"] for change in changes[1:]), (sign, kind)


def test_demo_refuses_a_folder_with_other_files(project: Path) -> None:
    done = kgsync(project, "demo", str(project))
    assert done.returncode == 2
    assert (project / "kgsync.toml").is_file()
