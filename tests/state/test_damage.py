"""A flipped bit anywhere in a state: as if nothing had happened, or an error that says so.

This flips a sample of the bits; `python -m tests.torture` flips far more.
"""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyoxigraph as ox
import pytest

import kgsync
from kgsync import KGSync
from kgsync.adapters.sparql.kept_parts import KeptParts
from kgsync.adapters.sparql.parts import Part
from kgsync.config import PublishSettings
from kgsync.errors import KgsyncError, StateCorruptedError, StateError
from kgsync.graph.port import TripleSource
from kgsync.service.run_file import RunFile, RunStatus
from kgsync.state.directory import State
from tests.thinning import thinned
from tests.worlds import GRAPHS, disk_store, fill, iri, quick_settings


def sync_of(store: object, state: Path, **publish: Any) -> KGSync:
    settings = replace(quick_settings(), publish=PublishSettings(**publish))
    settings = replace(settings, source=replace(settings.source, max_removed=1.0))
    return KGSync(store, GRAPHS, state=state, settings=settings)


def make_state(folder: Path) -> Path:
    """A state of three versions; the fourth is still to do."""
    store = disk_store(folder / "kg")
    sync = sync_of(store, folder / "state", literals="rolling")
    for _ in range(3):
        sync.step()
    sync.rollback(2)
    sync.rollback(3)
    return folder / "state"


def facts(sync: KGSync) -> dict[str, Any]:
    """Everything that reading tells, with the kind of every error."""
    asks: dict[str, Callable[[], Any]] = {
        "status": lambda: _standing(sync),
        "history": lambda: [(r.version, r.graph_version) for r in sync.history()],
        "embedding": lambda: sync.embedding(iri("e20")).tobytes(),
        "load": lambda: kgsync.load(sync.state.path).vector(iri("e20")).tobytes(),
        "plan": lambda: sync.plan().graph_version,
        "moves": lambda: [(m.version, m.change, m.distance) for m in sync.moves(iri("e20"))],
    }
    for number in (1, 2, 3):
        asks[f"at {number}"] = partial(_vector, sync, number)
    return {name: _answer(ask) for name, ask in asks.items()}


def _standing(sync: KGSync) -> tuple[Any, ...]:
    found = sync.status()
    return found.version, found.graph_version, found.retained


def _vector(sync: KGSync, number: int) -> bytes:
    return sync.at(number).embedding(iri("e20")).tobytes()


def _answer(ask: Callable[[], Any]) -> Any:
    try:
        return ask()
    except KgsyncError as error:
        return error


def committed_files(state: Path) -> dict[str, bytes]:
    found = (p for p in state.glob("0*/**/*") if p.is_file())
    return {p.relative_to(state).as_posix(): p.read_bytes() for p in found}


def check_flip(state: Path, name: str, bit: int, wanted: dict[str, Any]) -> None:
    """Flip one bit in a copy of a state, and see what comes of it."""
    copy = state.parent / "copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(state.parent, copy, ignore=shutil.ignore_patterns("copy"))
    target = copy / state.name
    content = bytearray((target / name).read_bytes())
    content[bit // 8] ^= 1 << bit % 8
    (target / name).write_bytes(content)
    before = committed_files(target)
    sync = sync_of(copy / "kg", target, literals="rolling")
    where = f"bit {bit} of {name}"
    for ask, answer in facts(sync).items():
        if isinstance(answer, KgsyncError) or answer == wanted[ask]:
            continue
        # A version that cannot be read is left out, and said to be.
        assert ask in ("history", "status"), f"{where}: {ask} gave {answer!r}"
        assert sync.state.damaged_versions(), f"{where}: {ask} gave {answer!r}"
        assert ask == "status" or set(answer) < set(wanted[ask]), where
    report = _answer(sync.step)
    if not isinstance(report, KgsyncError):
        assert (report.version, report.previous) == (4, 3), where
    after = committed_files(target)
    kept = {n: c for n, c in after.items() if n in before and not n.endswith("uncommitted")}
    assert all(before[n] == c for n, c in kept.items()), where  # nothing was overwritten
    _answer(lambda: sync.rollback(2))
    assert (target / "000003" / "manifest.json").read_bytes() == before["000003/manifest.json"]


def bits(state: Path, name: str, most: int) -> Iterator[int]:
    size = 8 * (state / name).stat().st_size
    yield from random.Random(name).sample(range(size), min(size, most))


def files_of(state: Path) -> list[str]:
    found = sorted(p for p in state.rglob("*") if p.is_file())
    return [p.relative_to(state).as_posix() for p in found if p.stat().st_size]


@pytest.fixture(scope="module")
def state(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return make_state(tmp_path_factory.mktemp("damage"))


@pytest.mark.parametrize(
    ("name", "most"),
    thinned(
        [
            ("CURRENT", 10),
            ("state.json", 4),
            ("current.json", 4),
            ("history.jsonl", 4),
            ("literals.json", 3),
            ("000001/manifest.json", 2),
            ("000003/manifest.json", 3),
            ("000003/embeddings/tensors.safetensors", 1),
            ("000003/embeddings/index.parquet", 1),
            ("000003/graph/terms.parquet", 1),
            ("moves/000002.parquet", 1),
            ("literals/a/tensors.safetensors", 1),
            ("literals/a/copy.json", 2),
        ],
        lambda case: case[0] in ("CURRENT", "history.jsonl") or case[1] == 1,
    ),
)
def test_a_flipped_bit_is_found_or_does_no_harm(state: Path, name: str, most: int) -> None:
    wanted = facts(sync_of(state.parent / "kg", state, literals="rolling"))
    assert not any(isinstance(answer, KgsyncError) for answer in wanted.values())
    for bit in bits(state, name, most):
        check_flip(state, name, bit, wanted)


def test_every_bit_of_the_pointer_is_guarded(state: Path, tmp_path: Path) -> None:
    shutil.copytree(state, tmp_path / "state")
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    whole = (tmp_path / "state" / "CURRENT").read_bytes()
    for bit in range(8 * len(whole)):
        content = bytearray(whole)
        content[bit // 8] ^= 1 << bit % 8
        (tmp_path / "state" / "CURRENT").write_bytes(content)
        found = _answer(lambda: sync.status().version)
        assert found == 3 or isinstance(found, StateCorruptedError), bit
        assert sync.state.next_number() == 4, bit


def test_a_damaged_pointer_says_what_to_do_and_that_works(tmp_path: Path) -> None:
    store = fill(ox.Store())
    for remedy in ("rollback", "rebuild"):
        sync = sync_of(store, tmp_path / remedy, graph=f"urn:{remedy}")
        for _ in range(3):
            sync.step()
        (tmp_path / remedy / "CURRENT").write_text('{"version": 2, "highest": 2, "sha256": "0"}')
        before = committed_files(tmp_path / remedy)
        with pytest.raises(StateCorruptedError, match=r"rollback.*names version 3.*rebuild"):
            sync.step()
        if remedy == "rollback":
            sync.rollback(3)
            assert sync.status().version == 3
            assert sync.step().version == 4
        else:
            report = sync.rebuild()
            assert (report.version, report.action) == (4, "rebuilt")
            assert "set aside" in report.warnings[0]
        after = committed_files(tmp_path / remedy)
        assert all(after[name] == content for name, content in before.items() if name in after)
        assert sync.status().version == 4


def test_a_pointer_from_a_backup_overwrites_nothing(tmp_path: Path) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    sync.step()
    old = (tmp_path / "state" / "CURRENT").read_bytes()
    sync.step()
    sync.step()
    (tmp_path / "state" / "CURRENT").write_bytes(old)
    before = committed_files(tmp_path / "state")
    again = sync_of(sync._target, tmp_path / "state")
    assert again.status().version == 1
    assert again.at(3).version == 3  # it was committed, whatever the pointer says
    assert again.step().version == 4
    after = committed_files(tmp_path / "state")
    assert all(after[name] == content for name, content in before.items() if name in after)


def test_a_damaged_old_manifest_is_named_and_the_rest_is_shown(tmp_path: Path) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    for _ in range(3):
        sync.step()
    path = tmp_path / "state" / "000001" / "manifest.json"
    path.write_bytes(path.read_bytes().replace(b"version", b"versiom", 1))
    for reader in (sync, sync_of(sync._target, tmp_path / "state")):
        status = reader.status()
        assert (status.version, status.damaged, status.versions) == (3, (1,), 3)
        assert [report.version for report in reader.history()] == [2, 3]
        assert reader.plan().passed_over == ()
        assert reader.at(2).version == 2
        with pytest.raises(StateCorruptedError, match="000001"):
            reader.at(1)
    sync.rollback(2)
    assert sync.step().version == 4


def test_going_back_from_a_damaged_current_version(tmp_path: Path) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    sync.step()
    sync.step()
    (tmp_path / "state" / "000002" / "manifest.json").write_text("{}")
    with pytest.raises(StateCorruptedError, match="000002"):
        sync.step()
    sync.rollback(1)
    assert sync.status().version == 1
    assert sync.step().version == 3


def test_a_state_without_checksums_opens_and_gets_them(tmp_path: Path) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    sync.step()
    sync.step()
    for name in ("CURRENT", "state.json"):
        content = json.loads((tmp_path / "state" / name).read_text())
        del content["sha256"]
        (tmp_path / "state" / name).write_text(json.dumps(content))
    (tmp_path / "state" / "history.jsonl").unlink()
    again = sync_of(sync._target, tmp_path / "state")
    assert again.status().version == 2
    assert again.step().version == 3
    for name in ("CURRENT", "state.json"):
        assert "sha256" in json.loads((tmp_path / "state" / name).read_text())


def test_damage_to_the_identity_is_not_cured_by_a_rebuild_and_costs_nothing(tmp_path: Path) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    sync.step()
    before = committed_files(tmp_path / "state")
    identity = tmp_path / "state" / "state.json"
    identity.write_bytes(identity.read_bytes().replace(b"uuid", b"uuie"))
    with pytest.raises(StateCorruptedError, match=r"state\.json"):
        sync.rebuild()
    assert committed_files(tmp_path / "state") == before


def test_notes_that_are_damaged_are_not_believed(tmp_path: Path) -> None:
    state = State(tmp_path / "state")
    with state.lock():
        state.remember("looks.json", {"urn:a": {"triples": 1, "at": 2.0}})
        with RunFile(state, "every 15m").held():
            pass
    for name, recalled in (
        ("looks.json", lambda: state.recall("looks.json")),
        ("run.json", lambda: RunStatus.load(state.path)),
    ):
        path = state.path / name
        assert recalled() is not None
        whole = path.read_bytes()
        for old, new in ((b"1", b"3"), (b"at", b"au"), (b"5m", b"4m")):
            if old in whole:
                path.write_bytes(whole.replace(old, new, 1))
                assert recalled() is None


def test_a_kept_part_of_a_graph_that_is_damaged_is_fetched_again(tmp_path: Path) -> None:
    where = TripleSource("urn:g").pattern(union=False)
    part = Part(where, 1)
    terms = [pa.array([f"<urn:{name}>"]).dictionary_encode() for name in "spo"]
    batch = pa.RecordBatch.from_arrays(terms, names=["s", "p", "o"])
    kept = KeptParts(tmp_path, where, 1).__enter__()
    kept.keep(part, [batch])
    assert [one.num_rows for one in kept.batches(part)] == [1]
    (file,) = tmp_path.glob("parts/*/*.arrow")
    file.write_bytes(file.read_bytes().replace(b"<urn:o>", b"<urn:n>"))
    assert kept.batches(part) == []


@pytest.mark.parametrize("remedy", ["rollback", "rebuild"])
def test_a_version_that_was_never_committed_stays_so_when_the_pointer_is_damaged(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, remedy: str
) -> None:
    sync = sync_of(fill(ox.Store()), tmp_path / "state")
    sync.step()
    sync.step()

    def fail(*_: object) -> None:
        raise StateError("not committed")

    with monkeypatch.context() as patch:
        patch.setattr(State, "commit", fail)
        with pytest.raises(StateError, match="not committed"):
            sync.step()
    assert (tmp_path / "state" / "000003" / "uncommitted").exists()
    (tmp_path / "state" / "CURRENT").write_text("{")
    with pytest.raises(StateError, match="there is no embedding version 3"):
        sync.rollback(3)
    if remedy == "rollback":
        sync.rollback(2)
        assert sync.step().version == 4
    else:
        assert sync.rebuild().version == 4
    for reader in (sync, sync_of(sync._target, tmp_path / "state")):
        with reader.state.lock():
            pass
        assert [report.version for report in reader.history()] == [1, 2, 4]
        with pytest.raises(StateError, match="there is no embedding version 3"):
            reader.at(3)
