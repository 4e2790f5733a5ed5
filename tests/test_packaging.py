"""What is built from the tree: an sdist, a wheel from it, and one top-level name."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import venv
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A wheel built from an sdist built from the tree."""
    folder = tmp_path_factory.mktemp("dist")
    build = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder)]
    subprocess.run([*build, "--sdist", str(ROOT)], check=True, capture_output=True)
    (sdist,) = folder.glob("*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "source", filter="data")
    (source,) = (folder / "source").iterdir()
    subprocess.run([*build, "--wheel", str(source)], check=True, capture_output=True)
    (built,) = folder.glob("*.whl")
    return built


def tracked() -> set[str]:
    """Names the wheel must have: every module, query and marker of the tree, as installed."""
    names = set()
    for folder, home in (
        ("kgsync", "kgsync"),
        ("adapters", "kgsync/adapters"),
        ("queries", "kgsync/queries"),
    ):
        for path in (ROOT / folder).rglob("*"):
            inside = path.relative_to(ROOT / folder)
            through_link = folder == "kgsync" and inside.parts[0] in ("adapters", "queries")
            if path.suffix in (".py", ".rq", ".ttl", ".typed") and not through_link:
                names.add(f"{home}/{inside.as_posix()}")
    return names


def test_the_wheel_contains_exactly_the_tree(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == tracked()


def test_the_wheel_installs_as_the_single_name_kgsync(wheel: Path, tmp_path: Path) -> None:
    venv.create(tmp_path / "env", with_pip=False)
    target = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target)]
    subprocess.run([*pip, str(wheel)], check=True, capture_output=True)
    modules = {p.name for p in target.iterdir() if not p.name.endswith(".dist-info")} - {"bin"}
    assert modules == {"kgsync"}
    code = (
        "import kgsync.adapters.oxigraph.store, kgsync.queries as q; "
        "assert q.load('_triples').text; print(kgsync.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-P", "-c", code],
        env={"PYTHONPATH": str(target)},
        cwd=tmp_path,
        check=True,
        capture_output=True,
        text=True,
    )
    assert done.stdout.startswith(str(target))
