"""Apache Jena as its Debian package gives it: the engine, in memory, behind a small server."""

from __future__ import annotations

import shutil
import zipfile
from pathlib import Path

from tests.servers.server import OpenServer

_JARS = Path("/usr/share/java")
_NEEDED = (
    *("jena-arq", "jena-base", "jena-core", "jena-iri", "slf4j-api", "slf4j-nop", "jcl-over-slf4j"),
    *("commons-cli", "commons-codec", "commons-compress", "commons-csv", "commons-io"),
    *("commons-lang3", "dexx.collection", "gson", "guava", "httpclient", "httpcore"),
    *("jackson-annotations", "jackson-core", "jackson-databind", "jakarta.json-api"),
    *("jsonld-java", "protobuf", "thrift", "titanium-json-ld"),
)
_MESSAGES = "org/apache/jena/ext/"


class Jena(OpenServer):
    """A Jena that anyone may read and change. Its SPARQL parser is strict about IRIs."""

    _graph_store = "data"

    @classmethod
    def missing(cls) -> str | None:
        if shutil.which("javac") is None:
            return "a JDK is not installed: apt-get install default-jdk-headless"
        if not (_JARS / "jena-arq.jar").is_file():
            return "Jena is not installed: apt-get install libapache-jena-java"
        return None

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
