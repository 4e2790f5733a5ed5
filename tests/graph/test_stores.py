"""From what the user typed to an open store."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pyoxigraph as ox
import pytest
from rdflib import Dataset, Graph

from kgsync.adapters.oxigraph.store import OxigraphStore
from kgsync.adapters.rdflib_dataset import RdflibStore
from kgsync.errors import ConfigError, PermanentStoreError, TransientStoreError
from kgsync.graph.port import GraphReader, GraphStore, GraphWriter
from kgsync.graph.stores import is_in_memory, open_store, store_name
from tests.graph.graphs import OLD, edges, ntriples, oxigraph
from tests.source.disturbed import Disturbed


class OwnDataset(Dataset):
    """A user's subclass."""


@pytest.mark.parametrize(
    ("target", "adapter"),
    [
        (ox.Store(), OxigraphStore),
        (Dataset(), RdflibStore),
        (Graph(), RdflibStore),
        (OwnDataset(), RdflibStore),
    ],
    ids=["pyoxigraph.Store", "rdflib.Dataset", "rdflib.Graph", "subclass"],
)
def test_an_object_is_wrapped_by_its_adapter(target: object, adapter: type) -> None:
    store = open_store(target)
    assert isinstance(store, adapter)
    assert isinstance(store, GraphReader)
    assert isinstance(store, GraphWriter)
    assert isinstance(store, GraphStore)


@pytest.mark.parametrize("as_text", [True, False])
def test_a_path_opens_the_store_in_that_directory(tmp_path: Path, as_text: bool) -> None:
    oxigraph({OLD: ntriples(edges("a p b"))}, tmp_path).flush()
    store = open_store(str(tmp_path) if as_text else tmp_path)
    assert store.graphs() == [OLD]
    assert store.label == str(tmp_path)
    store.close()


def test_an_object_that_satisfies_the_port_is_taken_as_it_is() -> None:
    reader = Disturbed(open_store(ox.Store()))
    opened: object = open_store(reader)
    assert opened is reader


def test_a_missing_directory_is_refused_and_not_made(tmp_path: Path) -> None:
    path = tmp_path / "mistyped"
    with pytest.raises(PermanentStoreError, match=f"no Oxigraph store at {path}"):
        open_store(path)
    assert not path.exists()


def test_a_directory_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("not a store")
    with pytest.raises(PermanentStoreError, match="no Oxigraph store"):
        open_store(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["notes.txt"]


def test_a_store_is_made_when_asked_for(tmp_path: Path) -> None:
    store = open_store(tmp_path / "new", create=True)
    assert store.graphs() == []
    store.close()
    open_store(tmp_path / "new").close()


def test_a_directory_that_cannot_be_made_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(PermanentStoreError, match="cannot open the Oxigraph store"):
        open_store(tmp_path / "file" / "store", create=True)


def test_a_store_that_another_process_holds_is_a_transient_error(tmp_path: Path) -> None:
    oxigraph({}, tmp_path).flush()
    hold = "import pyoxigraph, sys; s = pyoxigraph.Store(sys.argv[1]); print('held'); input()"
    command = [sys.executable, "-u", "-c", hold, str(tmp_path)]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(TransientStoreError, match=f"{tmp_path} is open in another process"):
            open_store(tmp_path)
        holder.communicate("\n")
    open_store(tmp_path).close()


@pytest.mark.parametrize("target", ["gopher://example.org/kg", object(), 7, None])
def test_a_target_without_an_adapter_is_an_error_that_lists_the_known_kinds(
    target: object,
) -> None:
    with pytest.raises(ConfigError, match=r"known kinds of store: .*path.*pyoxigraph\.Store"):
        open_store(target)


def test_an_installed_plug_in_opens_its_own_scheme(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "someone_elses-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: someone-elses\nVersion: 1\n")
    (info / "entry_points.txt").write_text("[kgsync.adapters]\nmemory = someone_elses:Memory\n")
    (tmp_path / "someone_elses.py").write_text(
        "import pyoxigraph\n"
        "from kgsync.adapters.oxigraph.store import OxigraphStore\n"
        "class Memory:\n"
        "    @classmethod\n"
        "    def open(cls, target, *, create=False, workspace=None):\n"
        "        return OxigraphStore(pyoxigraph.Store(), target, owned=True)\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    assert open_store("memory://here").label == "memory://here"
    with pytest.raises(ConfigError, match="known kinds of store: http, https, memory, path"):
        open_store("gopher://example.org")


def test_opening_nothing_imports_no_adapter() -> None:
    code = (
        "import sys, kgsync.graph.stores;"
        "print(sorted(m for m in ('pyoxigraph', 'rdflib', 'torch') if m in sys.modules))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


@pytest.mark.parametrize(
    ("target", "name"),
    [
        ("http://127.0.0.1:8890/sparql", "127-0-0-1-8890-sparql"),
        ("https://user:secret@example.org/My/KG", "example-org-my-kg"),
        ("/data/Museum.oxigraph", "museum"),
        (Path("/data/my kg"), "my-kg"),
        ("/", "graph"),
    ],
)
def test_a_store_has_a_short_name_without_credentials(target: str | Path, name: str) -> None:
    assert store_name(target) == name
    assert not is_in_memory(target)


def test_an_object_of_this_process_has_no_name() -> None:
    assert is_in_memory(ox.Store())
    with pytest.raises(ConfigError, match="state="):
        store_name(ox.Store())
