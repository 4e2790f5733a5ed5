"""Apache Jena as its Debian package gives it: the engine, in memory, behind a small server."""

from __future__ import annotations

import shutil
import urllib.parse
import zipfile
from pathlib import Path

from tests.servers.server import Server

_JARS = Path("/usr/share/java")
_NEEDED = (
    *("jena-arq", "jena-base", "jena-core", "jena-iri", "slf4j-api", "slf4j-nop", "jcl-over-slf4j"),
    *("commons-cli", "commons-codec", "commons-compress", "commons-csv", "commons-io"),
    *("commons-lang3", "dexx.collection", "gson", "guava", "httpclient", "httpcore"),
    *("jackson-annotations", "jackson-core", "jackson-databind", "jakarta.json-api"),
    *("jsonld-java", "protobuf", "thrift", "titanium-json-ld"),
)
_MESSAGES = "org/apache/jena/ext/"


class Jena(Server):
    """A Jena that anyone may read and change. Its SPARQL parser is strict about IRIs."""

    @classmethod
    def missing(cls) -> str | None:
        if shutil.which("javac") is None:
            return "a JDK is not installed: apt-get install default-jdk-headless"
        if not (_JARS / "jena-arq.jar").is_file():
            return "Jena is not installed: apt-get install libapache-jena-java"
        return None

    @property
    def query_url(self) -> str:
        return f"{self.base_url}/query"

    @property
    def update_url(self) -> str:
        return f"{self.base_url}/update"

    @property
    def graph_store_url(self) -> str:
        return f"{self.base_url}/data"

    def load(self, graph: str | None, ntriples: str | bytes) -> None:
        """None is the default graph."""
        where = "default" if graph is None else urllib.parse.urlencode({"graph": graph})
        self.request(
            "POST",
            f"{self.graph_store_url}?{where}",
            ntriples if isinstance(ntriples, bytes) else ntriples.encode(),
            {"Content-Type": "application/n-triples"},
        )

    def clear(self) -> None:
        self.update("DROP ALL")

    def _command(self, folder: Path, ports: list[int]) -> list[str]:
        jars = [str(_JARS / f"{name}.jar") for name in _NEEDED]
        path = ":".join([str(_with_messages(folder)), *jars])
        source = str(Path(__file__).with_name("Jena.java").absolute())
        return ["java", "-Xmx256m", "-cp", path, source, str(ports[0])]

    def _online(self, log: str) -> bool:
        return "Listening" in log


def _with_messages(folder: Path) -> Path:
    """A folder with the messages of Xerces where Debian's classes look for them."""
    target = folder / "messages"
    with zipfile.ZipFile(_JARS / "jena-core.jar") as jar:
        for name in jar.namelist():
            if name.startswith(_MESSAGES) and not name.endswith((".class", "/")):
                file = target / name.removeprefix(_MESSAGES)
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(jar.read(name))
    return target
