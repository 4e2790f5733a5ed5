"""How files with RDF in them are named: dumps, numbered changes, patches, and what lies beside."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from kgsync.common.durable import UNFINISHED

__all__ = [
    "CHANGE",
    "COMPRESSED",
    "DUMPS",
    "PATCHES",
    "bare_name",
    "holds_rdf",
    "is_rdf",
    "not_understood",
    "one_of",
    "rdf_suffix",
    "strange_files",
]

DUMPS = (".nt", ".nq", ".ttl", ".trig", ".n3", ".rdf", ".owl", ".xml", ".jsonld")
PATCHES = (".patch", ".rdfp")
COMPRESSED = (".gz", ".bz2", ".zst")


def one_of(suffixes: Iterable[str]) -> str:
    """A regular expression for any of some suffixes."""
    return "|".join(map(re.escape, suffixes))


CHANGE = re.compile(
    rf"(\d+)\.(added|removed|clear|reinserted)({one_of(DUMPS)})({one_of(COMPRESSED)})?", re.I
)
"""Name of a file with one part of a numbered change."""

_YEAR = re.compile(r"\d{4}")
_OTHER_SYNTAXES = ".hdt .hext .jelly .nquads .ntriples .rdfj .rdfxml .rj .rpb .trdf .trix .turtle"
_OTHER_ARCHIVES = (
    ".7z .bgz .br .bzip2 .gzip .lz .lz4 .lzma .lzo .rar .snappy .sz .tar .tbz .tbz2 .tgz .txz .xz "
    ".z .zip .zstd"
)
_RDF = {*DUMPS, *PATCHES, *COMPRESSED, *_OTHER_SYNTAXES.split(), *_OTHER_ARCHIVES.split()}
"""What a part of a name may say of a file that holds triples, also if kgsync cannot read it."""
_BESIDE = tuple(
    f"~ {UNFINISHED} .asc .crdownload .filepart .lock .md5 .part .partial .sha .sha1 .sha224 "
    ".sha256 .sha384 .sha512 .sig .swp .tmp".split()
)
"""Ends of names of checksums, signatures, and copies that are not finished."""
_DOCUMENTS = (".htm", ".html", ".log", ".md", ".pdf", ".rst")


def bare_name(path: Path) -> Path:
    """The path without the suffix of a compression."""
    return path.with_suffix("") if path.suffix.lower() in COMPRESSED else path


def rdf_suffix(path: Path) -> str:
    """What the name says of the syntax, in small letters."""
    return bare_name(path).suffix.lower()


def is_rdf(path: Path) -> bool:
    """Whether the name is one of a dump or a patch."""
    return rdf_suffix(path) in DUMPS + PATCHES


def holds_rdf(path: Path) -> bool:
    """Whether a path is a file, or a folder with dumps, patches or changes; looks at names only."""
    try:
        if not path.is_dir():
            return path.is_file() or is_rdf(path)
        # An embedded store has files of any name in it, and is none of these.
        return not (path / "CURRENT").exists() and any(map(_is_part, path.iterdir()))
    except OSError:
        return False


def _is_part(path: Path) -> bool:
    if path.is_dir():
        return bool(_YEAR.fullmatch(path.name)) or path.name.lower() == "changes"
    return is_rdf(path) or _is_strange(path.name, numbered=False)


def strange_files(
    paths: Iterable[Path], known: Iterable[Path], *, numbered: bool
) -> Iterator[Path]:
    """Files that may belong to a graph, although their names are not recognized.

    Hidden files, checksums, signatures, documents and copies that are not finished may lie beside
    a graph's files; so may others whose names have nothing of RDF.

    Args:
        paths: The files of a folder.
        known: Those whose names are recognized.
        numbered: Whether the folder holds numbered changes: then a number makes a file strange.
    """
    understood = set(known)
    stems = {stem for path in understood if "0" in (stem := _stem(path.name))}
    for path in paths:
        if path in understood or path.name.startswith(".") or path.is_dir():
            continue
        alike = not path.name.lower().endswith((*_BESIDE, *_DOCUMENTS, ".txt")) and (
            _stem(path.name) in stems
        )
        if alike or _is_strange(path.name, numbered=numbered):
            yield path


def _is_strange(name: str, *, numbered: bool) -> bool:
    lower = name.lower()
    if lower.startswith(".") or lower.endswith(_BESIDE):
        return False
    if numbered and lower[0].isdigit():
        return True
    looks = any(f".{piece}" in _RDF for piece in lower.split(".")[1:])
    return looks and not lower.endswith(_DOCUMENTS)


def _stem(name: str) -> str:
    """What the names of dumps of one graph have in common."""
    return re.sub(r"\d+", "0", name.lower().partition(".")[0])


def not_understood(path: Path) -> str:
    """The message for a file that must not be ignored."""
    return (
        f"{path} may be part of the graph, but its name is not recognized: kgsync reads dumps "
        f"(kg-1.nt; {', '.join(DUMPS)}), changes (0001.added.nt, 0001.removed.nt, 0001.clear.nt, "
        f"0001.reinserted.nt) and patches (0001.rdfp, 0001.patch), each also as "
        f"{', '.join(COMPRESSED)}; rename or convert it, or move it away"
    )
