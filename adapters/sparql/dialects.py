"""Known differences of servers from SPARQL 1.1 and from each other, in one place.

What a server calls itself chooses its `Dialect`. A server behind a proxy may not name itself, so
what is harmless for all holds for all: the limits on the size of a request, and the words by which
servers say what went wrong.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from email.message import Message
from typing import Literal

__all__ = [
    "NAMES_PER_PAGE",
    "TRIPLES_PER_UPDATE",
    "VALUES_PER_QUERY",
    "Complaint",
    "Dialect",
    "blank_node_label",
    "complaint_in",
    "cut_after",
    "dialect_of",
    "gave_up",
    "limit_behind",
]

TRIPLES_PER_UPDATE = 1000
"""Virtuoso takes no more than some thousands."""
VALUES_PER_QUERY = 1000
"""Virtuoso refuses several thousand."""
NAMES_PER_PAGE = 5000
"""Virtuoso sorts no more than 10,000 rows."""

_NO_GRAPHS = re.compile(r"(?!)")


@dataclass(frozen=True)
class Dialect:
    """The particularities of one kind of server; the defaults follow the standard."""

    parameters: Mapping[str, str] = field(default_factory=dict)
    """Sent with every request."""
    union_default_graph: bool = False
    """The default graph shows the triples of all named graphs."""
    hashed: Literal["ascii", "all"] = "all"
    """For which IRIs, as objects, its MD5 is the standard one."""
    hashes_fast: bool = True
    """Hashing triples takes less time than sending them."""
    system_graphs: re.Pattern[str] = _NO_GRAPHS
    """Names of the server's own system graphs."""


STANDARD = Dialect()
VIRTUOSO = Dialect(
    # Without it, Virtuoso sends what it has after a while, as if that were all.
    parameters={"timeout": "0"},
    union_default_graph=True,
    hashed="ascii",
    hashes_fast=False,
    system_graphs=re.compile(
        r"http://www\.openlinksw\.com/schemas/virtrdf#|http://localuriqaserver/sparql"
        r"|http://www\.w3\.org/ns/ldp#|http://localhost:\d+/(sparql|DAV/)|virtrdf-label"
        r"|urn:(core:services:sparql|activitystreams-owl:map|rules\.skos)"
    ),
)
_BY_NAME = {"Virtuoso": VIRTUOSO}


def dialect_of(server: str) -> Dialect:
    """The dialect of a server that calls itself so in its `Server` header."""
    return next((dialect for name, dialect in _BY_NAME.items() if name in server), STANDARD)


# -- what servers say ------------------------------------------------------------------------------

_NO_RIGHTS = "SR186"
"""Virtuoso's error for a user without the right to write; the status is 500."""
_MISTAKE = re.compile(r"Virtuoso (?:22|37|42)\w{3} Error")
"""What Virtuoso finds wrong with a query, by the class of the SQL state; the status is 500."""
_TOO_MANY_ROWS = re.compile(r"over max vector length \d+ > (\d+)")
"""Virtuoso's FRVEC error: a result with more rows than it can hold, by default a million."""


@dataclass(frozen=True)
class Complaint:
    """What the text of an error adds to its status."""

    kind: Literal["no rights", "mistake", "too many rows", "unclear"]
    rows: int = 0
    """The server's row limit, if that is the complaint."""


def complaint_in(said: str) -> Complaint:
    """Interpret the text of a server error."""
    if _NO_RIGHTS in said:
        return Complaint("no rights")
    if limit := _TOO_MANY_ROWS.search(said):
        return Complaint("too many rows", int(limit[1]))
    return Complaint("mistake" if _MISTAKE.search(said) else "unclear")


def gave_up(headers: Message) -> str | None:
    """The SQL state by which Virtuoso marks a response of status 200 as incomplete."""
    return headers.get("X-SQL-State")


def cut_after(headers: Message) -> str | None:
    """The number of rows after which Virtuoso reports that it cut a result."""
    return headers.get("X-SPARQL-MaxRows")


def limit_behind(came: int) -> int:
    """The row limit of a server that always sends this many; Virtuoso sends one triple more."""
    return came - 1


def blank_node_label(text: str) -> str:
    """The label of a blank node in an XML answer; Virtuoso's look like IRIs."""
    return text.rpartition("/")[2]
