"""`kgsync run` for minutes against a Virtuoso whose versions keep arriving, with restarts of both.

Every version has to be committed exactly once, in order, and memory has to stay flat.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from tests.servers.virtuoso import Virtuoso

_GRAPH = "http://example.org/kg/{}"
_SETTINGS = """\
[source]
store = "{url}"
graphs = "http://example.org/kg/{{version}}"
quiet_period = "2s"

[source.endpoint]
update_url = "{url}"
timeout = "20s"
retries = 2

[model]
dimension = 20

[training]
epochs = 20

[update]
general_epochs = 9
change_epochs = 1

[schedule]
every = "3s"
retry_after = "1s"
retry_most = "5s"
"""


def main() -> None:
    """Run it and print what happened."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks.soak")
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--pause", type=float, default=8.0, help="seconds between two versions")
    options = parser.parse_args()
    if reason := Virtuoso.missing():
        print(f"Skipped: {reason}.")
        return
    with (
        tempfile.TemporaryDirectory() as folder,
        Virtuoso(anonymous_updates=True) as server,
    ):
        _Soak(Path(folder), server).run(options.minutes * 60, options.pause)


class _Soak:
    def __init__(self, folder: Path, server: Virtuoso) -> None:
        self._folder = folder
        self._server = server
        self._random = random.Random(0)
        self._edges = {self._edge() for _ in range(3000)}
        self._loaded = 0
        self._memory: list[float] = []
        (folder / "kgsync.toml").write_text(_SETTINGS.format(url=server.query_url))

    def run(self, seconds: float, pause: float) -> None:
        self._load()
        self._process = self._start()
        try:
            self._drive(seconds, pause)
            self._process.send_signal(signal.SIGTERM)
            self._report(self._process.wait(60))
        finally:
            self._process.kill()

    def _drive(self, seconds: float, pause: float) -> None:
        started, restarts = time.monotonic(), ["server", "kgsync", "server"]
        while (passed := time.monotonic() - started) < seconds:
            time.sleep(pause)
            if restarts and passed > seconds * (4 - len(restarts)) / 4:
                what = restarts.pop(0)
                print(f"{passed:5.0f} s: restarting {what}", flush=True)
                if what == "server":
                    self._server.kill()
                    time.sleep(3)
                    self._server.start()
                else:
                    self._process.kill()
                    self._process.wait()
                    self._process = self._start()
            self._load()
            self._memory.append(_resident(self._process.pid))
        deadline = time.monotonic() + 120
        while len(self._committed()) < self._loaded and time.monotonic() < deadline:
            time.sleep(1)

    def _report(self, code: int) -> None:
        committed = self._committed()
        expected = [_GRAPH.format(number) for number in range(1, self._loaded + 1)]
        status = json.loads(next((self._folder / ".kgsync").glob("*/run.json")).read_text())
        middle = self._memory[len(self._memory) // 2]
        print(f"versions loaded {self._loaded}, committed {len(committed)}, exit code {code}")
        print(f"every version exactly once, in order: {committed == expected}")
        print(f"resident MB: {self._memory[1]:.0f} at first, {middle:.0f}, {self._memory[-1]:.0f}")
        print(f"status: {status}")
        if committed != expected or code:
            print((self._folder / "log").read_text()[-3000:])
            sys.exit(1)

    def _committed(self) -> list[str]:
        """Graph versions of the committed embedding versions, oldest first."""
        current = next((self._folder / ".kgsync").glob("*/CURRENT"), None)
        if current is None:
            return []
        newest = json.loads(current.read_text())["version"] or 0
        manifests = sorted(current.parent.glob("0*/manifest.json"))
        found = [json.loads(file.read_text())["manifest"] for file in manifests]
        return [m["graph_version"]["name"] for m in found if m["version"] <= newest]

    def _start(self) -> subprocess.Popen[bytes]:
        with (self._folder / "log").open("ab") as log:
            return subprocess.Popen(
                [sys.executable, "-m", "kgsync", "run", "-c", str(self._folder / "kgsync.toml")],
                stdout=log,
                stderr=log,
                env={**os.environ, "PYTHONUNBUFFERED": "1"},
            )

    def _load(self) -> None:
        """The next version: a few edges come, a few go."""
        self._loaded += 1
        gone = self._random.sample(sorted(self._edges), 20)
        self._edges = (self._edges - set(gone)) | {self._edge() for _ in range(30)}
        self._server.load(_GRAPH.format(self._loaded), "".join(sorted(self._edges)))

    def _edge(self) -> str:
        head, tail = self._random.randrange(500), self._random.randrange(500)
        names = (f"e{head}", f"p{self._random.randrange(5)}", f"e{tail}")
        return " ".join(f"<http://example.org/{name}>" for name in names) + " .\n"


def _resident(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


if __name__ == "__main__":
    main()
