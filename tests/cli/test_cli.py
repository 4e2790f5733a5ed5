"""The command line as a user or a script meets it: a real process, real files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from kgsync import KGSync
from tests.processes import kgsync
from tests.worlds import GRAPHS, disk_store, iri


def started_anew(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """Run the command in a folder, in a new interpreter."""
    return subprocess.run(
        [sys.executable, "-m", "kgsync", *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def test_a_whole_session_from_init_to_predict(tmp_path: Path) -> None:
    disk_store(tmp_path / "kg", ["1", "2"])
    done = started_anew(tmp_path, "init", "kg", "--graphs", GRAPHS, "--dimension", "8")
    assert done.returncode == 0, done.stderr
    assert "2 graph versions, ordered by name" in done.stdout
    plan = started_anew(tmp_path, "plan", "--json")
    assert json.loads(plan.stdout)["graph_version"] == GRAPHS.format(version="1")
    config = (tmp_path / "kgsync.toml").read_text()
    config = config.replace("# epochs = 1000", "epochs = 10").replace(
        "# batches = 100", "batches = 4"
    )
    config = config.replace("# max_removed = 0.2", "max_removed = 1")
    config = config.replace("# general_epochs = 180", "general_epochs = 5")
    (tmp_path / "kgsync.toml").write_text(config)
    done = started_anew(tmp_path, "step", "--all")
    assert done.returncode == 0, done.stderr
    assert "version 2: updated" in done.stdout
    status = json.loads(started_anew(tmp_path, "status", "--json").stdout)
    assert status["version"] == 2
    assert [report["version"] for report in status["history"]] == [1, 2]
    assert (tmp_path / ".kgsync" / "kg" / "CURRENT").is_file()
    near = json.loads(started_anew(tmp_path, "neighbors", iri("e3"), "-k", "4", "--json").stdout)
    assert len(near) == 4
    arguments = ("--head", iri("e3"), "--relation", iri("next"), "--json")
    assert len(json.loads(started_anew(tmp_path, "predict", *arguments).stdout)) == 10
    again = started_anew(tmp_path, "step")
    assert again.returncode == 0
    assert "nothing new" in again.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["step", "-c", "none.toml"], 2, "kgsync init"),
        (["neighbors", "http://example.org/e100"], 5, "kgsync step"),
        (["init", "nowhere", "--force"], 4, "no Oxigraph store at nowhere"),
        (["init", "kg", "--force", "--model", "transx"], 2, "name must be one of"),
        (["init", "kg", "--force", "--graphs", "http://other/{version}"], 4, "matches"),
        (["init", "kg"], 2, "--force"),
        (["predict", "--relation", "http://example.org/next"], 5, "kgsync step"),
        (["init", "kg", "--force", "--from", "none.parquet"], 2, "no file none.parquet"),
        (["init", "gopher://localhost/sparql", "--force"], 2, "no adapter for 'gopher'"),
        (["init", "http://me:secret@localhost/sparql", "--force"], 2, "KGSYNC_PASSWORD"),
    ],
)
def test_a_user_error_is_one_sentence_and_an_exit_code(
    project: Path, arguments: list[str], code: int, message: str
) -> None:
    done = kgsync(project, *arguments)
    assert done.returncode == code, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr
    told = [line for line in done.stderr.splitlines() if line.startswith("kgsync: ")]
    assert len(told) == 1


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("[model]\nnmae = 'transe'", "did you mean 'name'"),
        ("[modle]\nname = 'transe'", "did you mean 'model'"),
        ("[model]\nname = 'transx'", "name must be one of analogy, complex, distmult"),
        ("[model]\ndimension = 'ten'", "dimension must be a whole number, not 'ten'"),
        ("[model]\nnorm = 'l3'", "one of l1, l2"),
        ("[split]\ntest = 1.5", "no training edges"),
        ("[filter]\ninclude = 'one'", "list of strings"),
        ("[training]\nlearning_rate = 1e300", "learning_rate must be above 0 and at most"),
        ("model = 3", "table of keys"),
        ("[run]\nthreads = true", "must be a whole number, not True"),
        ("not toml", "not valid TOML"),
    ],
)
def test_a_wrong_setting_is_named(tmp_path: Path, line: str, message: str) -> None:
    (tmp_path / "kgsync.toml").write_text(line)
    done = kgsync(tmp_path, "plan")
    assert done.returncode == 2
    assert message in done.stderr
    assert "Traceback" not in done.stderr


def test_a_wrong_value_is_told_with_its_line(project: Path) -> None:
    text = (project / "kgsync.toml").read_text().replace("epochs = 10", "epochs = -1")
    (project / "kgsync.toml").write_text(text)
    told = kgsync(project, "plan").stderr
    line = text.splitlines().index("epochs = -1") + 1
    assert (
        told == f"kgsync: [training] epochs must be at least 0, not -1 (kgsync.toml, line {line})\n"
    )


def test_a_former_key_is_one_line_on_standard_error(project: Path) -> None:
    text = (project / "kgsync.toml").read_text()
    (project / "kgsync.toml").write_text(text + 'start_vectors = "random"\n')
    done = kgsync(project, "plan", "--json")
    assert done.returncode == 0
    assert json.loads(done.stdout)["graph_version"] == GRAPHS.format(version="1")
    told = [line for line in done.stderr.splitlines() if "start_vectors" in line]
    assert len(told) == 1
    assert told[0].endswith(
        "update.start_vectors is now called update.initial_vectors; please rename it"
    )


def test_an_error_in_json_mode_is_a_document_too(project: Path) -> None:
    done = kgsync(project, "neighbors", iri("e1"), "--json")
    assert json.loads(done.stdout)["error"] == "StateError"


def test_unknown_iri_has_its_own_exit_code_and_suggestion(project: Path) -> None:
    assert kgsync(project, "step").returncode == 0
    done = kgsync(project, "neighbors", iri("e311"))
    assert done.returncode == 7
    assert iri("e31") in done.stderr


def test_help_needs_no_torch() -> None:
    code = (
        "import sys; from kgsync.cli.app import app\n"
        "try: app(['--help'])\n"
        "except SystemExit: pass\n"
        "loaded = {'torch', 'numba', 'pyoxigraph', 'rdflib', 'pyarrow'} & set(sys.modules)\n"
        "assert not loaded, loaded"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


INTERRUPTED = """
import os, signal, sys
signal.signal(signal.SIGINT, getattr(signal, sys.argv[1]))
class Interrupting:
    def find_spec(self, name, path, target=None):
        if name == sys.argv[2]:
            os.kill(os.getpid(), signal.SIGINT)
from kgsync.cli import main
sys.meta_path.insert(0, Interrupting())
def command():
    try:
        print("begun", end="")
        import json.tool
        os.kill(os.getpid(), signal.SIGINT)
    finally:
        print(", unwound", end="")
import kgsync.cli.app
kgsync.cli.app.app = command
main()
"""


@pytest.mark.parametrize(
    ("handler", "where", "code", "out"),
    [
        ("default_int_handler", "json.tool", 130, "begun"),  # not unwound out of an import
        ("default_int_handler", "", 130, "begun, unwound"),
        ("SIG_IGN", "json.tool", 0, "begun, unwound"),  # as a shell starts jobs in the background
    ],
)
def test_an_interrupt_unwinds_but_out_of_an_import(
    handler: str, where: str, code: int, out: str
) -> None:
    command = [sys.executable, "-c", INTERRUPTED, handler, where]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (code, out, "")


def test_an_interrupt_out_of_an_import_gives_the_terminal_its_cursor_back() -> None:
    ours, theirs = os.openpty()
    command = [sys.executable, "-c", INTERRUPTED, "default_int_handler", "json.tool"]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=theirs, check=False)
    os.close(theirs)
    assert (done.returncode, done.stdout) == (130, b"begun")
    assert os.read(ours, 100) == b"\x1b[?25h"
    os.close(ours)


def test_a_plan_is_the_same_text_as_in_python(project: Path) -> None:
    with (project / "kgsync.toml").open("a") as file:
        file.write('strategy = "auto"\n')
    assert kgsync(project, "step").returncode == 0
    told = kgsync(project, "plan").stdout
    assert told == f"{KGSync.from_config(project / 'kgsync.toml').plan()}\n"
    assert "update         " in told
    assert "predicted: " in told
