"""What comes from outside reaches terminals and logs without control characters."""

from __future__ import annotations

import json
import logging
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pyoxigraph as ox
import pytest

from kgsync.common.printable import PrintableFormatter, printable, printable_json
from tests.processes import kgsync
from tests.servers import faults
from tests.servers.proxy import FaultProxy, Rule
from tests.servers.server import Server
from tests.thinning import thinned
from tests.worlds import GRAPHS, fill

ProxyTo = Callable[[Server], FaultProxy]
CONTROL = [
    *(chr(code) for code in (*range(9), *range(11, 32), *range(127, 160))),
    *"\u061c\u200b\u200e\u200f\u2028\u2029\u202a\u202b\u202c\u202d\u202e\u2060",
    *"\u2066\u2067\u2068\u2069\ufeff\U000e0041",
]
HOSTILE = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\r\nkgsync: all is well\x7f\u200f"


def harmless(text: str) -> None:
    for character in CONTROL:
        assert character not in text, repr(character)


@pytest.mark.parametrize("character", CONTROL, ids=ascii)
def test_a_control_character_is_shown_and_not_obeyed(character: str) -> None:
    text = f"before{character}after"
    for shown in (printable(text), printable(text, lines=True)):
        harmless(shown)
        assert shown.encode().decode("unicode_escape") == text
    document = json.dumps({"x": text}, ensure_ascii=False)
    harmless(printable_json(document))
    assert json.loads(printable_json(document)) == {"x": text}


def test_ordinary_text_stays_as_it_is() -> None:
    text = "Zürich 日本 😀 \u0646\u0627\u0645\u0647\u200c\u0647\u0627 👩\u200d💻 \\x1b"
    assert printable(text) == text
    assert printable("a\nb\tc", lines=True) == "a\nb\tc"
    assert printable("a\nb\tc") == "a\\nb\\tc"


def test_a_record_of_a_log_is_one_line_and_its_traceback_is_harmless() -> None:
    formatter = PrintableFormatter("%(levelname)s %(message)s")
    try:
        raise ValueError(HOSTILE)
    except ValueError:
        record = logging.LogRecord("x", 30, "", 0, "said %s", (HOSTILE,), sys.exc_info())
    text = formatter.format(record)
    harmless(text)
    assert text.startswith("WARNING said \\x1b]0;owned")
    assert "\\nkgsync: all is well" in text.split("\n", maxsplit=1)[0]
    assert "Traceback" in text


def on_terminal(folder: Path, *arguments: str) -> str:
    """What a command prints on a terminal, less the colours and bars that are our own."""
    ours, theirs = pty.openpty()
    env = {**os.environ, "TERM": "dumb", "NO_COLOR": "1"}
    with subprocess.Popen(
        [sys.executable, "-m", "kgsync", *arguments],
        cwd=folder,
        stdin=theirs,
        stdout=theirs,
        stderr=subprocess.DEVNULL,
        env=env,
    ) as process:
        os.close(theirs)
        data = b""
        try:
            while piece := os.read(ours, 65536):
                data += piece
        except OSError:  # the other side was closed
            pass
        process.wait()
    os.close(ours)
    return data.decode().replace("\r\n", "\n")


@pytest.fixture
def hostile(oxigraph_server: Server, proxy_to: ProxyTo, tmp_path: Path) -> FaultProxy:
    """A server whose errors are not meant to be read, and a folder with settings for it."""
    oxigraph_server.clear()
    proxy = proxy_to(oxigraph_server)
    body = HOSTILE.encode() + b"\x9b31m"
    proxy.program(Rule(faults.status(400, body)))
    (tmp_path / "kgsync.toml").write_text(
        f'[source]\nstore = "{proxy.url(oxigraph_server.query_url)}"\n[schedule]\nevery = "1s"\n',
        encoding="utf-8",
    )
    return proxy


def run_until_paused(folder: Path) -> str:
    """What a scheduled sync prints until it pauses, and while it stops."""
    command = [sys.executable, "-m", "kgsync", "run"]
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True) as process:
        assert process.stderr is not None
        shown = ""
        while "paused" not in shown:
            line = process.stderr.readline()
            assert line, shown
            shown += line
        process.terminate()
        return shown + process.communicate(timeout=60)[1]


@pytest.mark.usefixtures("hostile")
@pytest.mark.parametrize("command", [["step"], ["plan"], ["check"]], ids=" ".join)
def test_a_servers_message_is_shown_without_control_characters(
    tmp_path: Path, command: list[str]
) -> None:
    done = kgsync(tmp_path, *command)
    assert done.returncode == 4, done.stderr
    harmless(done.stdout + done.stderr)
    assert "owned" in done.stdout + done.stderr
    assert "\nkgsync: all is well" not in done.stdout + done.stderr


@pytest.mark.usefixtures("hostile")
def test_the_status_of_a_schedule_and_json_show_none_either(tmp_path: Path) -> None:
    shown = run_until_paused(tmp_path)
    harmless(shown)
    assert "owned" in shown
    for arguments in (["status"], ["status", "--json"], ["step", "--json"]):
        done = kgsync(tmp_path, *arguments)
        harmless(done.stdout + done.stderr)
        if "--json" in arguments:
            assert "owned" in json.dumps(json.loads(done.stdout))


@pytest.mark.parametrize(
    "arguments", thinned([[], ["--json"], ["--format", "csv"]], lambda case: not case), ids=" ".join
)
def test_iris_and_literals_are_shown_without_control_characters(
    tmp_path: Path, arguments: list[str]
) -> None:
    store = fill(ox.Store(str(tmp_path / "kg")), ["1"])
    store.add(ox.Quad(ox.NamedNode("urn:a\u202eb"), ox.NamedNode("urn:said"), ox.Literal(HOSTILE)))
    store.flush()
    del store
    (tmp_path / "kgsync.toml").write_text(
        f'[source]\nstore = "kg"\ngraphs = "{GRAPHS}"\n[training]\nepochs = 1\n', encoding="utf-8"
    )
    assert kgsync(tmp_path, "step").returncode == 0
    query = "SELECT ?s ?o WHERE { ?s <urn:said> ?o }"
    shown = on_terminal(tmp_path, "query", query, *arguments)
    harmless(shown)
    assert "owned" in shown
    piped = kgsync(tmp_path, "query", query, *arguments).stdout
    if "csv" in arguments:
        assert HOSTILE.replace("\r\n", "\n") in piped.replace("\r\n", "\n")  # exact data
    else:
        harmless(piped)
    if "--json" in arguments:
        assert json.loads(piped) == [{"s": "urn:a\u202eb", "o": HOSTILE}]
