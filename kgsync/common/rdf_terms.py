r"""RDF terms as text: which IRIs are valid, the grammar of N-Triples, how literals are quoted.

The patterns are texts that Python and Arrow (RE2) read alike. There are three grammars of one
language: `STATEMENT` for files, whose IRIs need not be valid; `SUBJECT`, `PREDICATE` and `OBJECT`
for what servers send; `CANONICAL` for lines that can be compared byte by byte.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

__all__ = [
    "CANONICAL",
    "EDGE",
    "ESCAPED_IRI",
    "KGE",
    "OBJECT",
    "PREDICATE",
    "STATEMENT",
    "SUBJECT",
    "VALID_IRI",
    "XSD",
    "are_iris",
    "bare_iri",
    "escaped",
    "is_iri",
    "is_plain_iri",
    "unescaped",
]

XSD = "http://www.w3.org/2001/XMLSchema#"
"""Namespace of the datatypes."""
KGE = "https://w3id.org/kgsync/ns#"
"""Namespace of our own terms; see `publish/metadata/vocabulary.ttl`."""

# -- IRIs ------------------------------------------------------------------------------------------

_SCHEME = r"[A-Za-z][A-Za-z0-9+.\-]*:"
# What the IRIREF production of SPARQL 1.1 excludes: with it an IRI could leave its brackets.
_VALID = rf"{_SCHEME}[^\x00-\x20<>\"{{}}|\\^`]*"
_CHARACTER = r"(?:[\w.~!$&'()*+,;=:@/?-]|%[0-9A-Fa-f]{2})"
_PLAIN = re.compile(rf"{_SCHEME}{_CHARACTER}*(?:#{_CHARACTER}*)?")
_IRI = re.compile(_VALID)
VALID_IRI = rf"^<{_VALID}>$"
"""An absolute IRI in its brackets."""


def is_iri(value: str) -> bool:
    """Whether a text can stand between `<` and `>` unchanged."""
    return bool(_IRI.fullmatch(value))


def are_iris(values: Iterable[str]) -> bool:
    """Whether all of many texts can stand between `<` and `>` unchanged."""
    return all(map(_IRI.fullmatch, values))


def is_plain_iri(value: str) -> bool:
    """Whether every parser takes a text for an IRI; some refuse `[`, which SPARQL allows."""
    return bool(_PLAIN.fullmatch(value))


# -- N-Triples -------------------------------------------------------------------------------------

_BLANK = r"_:[^\s<>\"]+"
_QUOTED = r"\"(?:[^\"\\]|\\.)*\""
_TAG = r"@[A-Za-z0-9-]+"

_SENT = r"<[^<>\x00-\x20]*>"
SUBJECT = rf"^(?:{_SENT}|{_BLANK})$"
PREDICATE = rf"^{_SENT}$"
OBJECT = (
    rf"^(?:{_SENT}|{_BLANK}|{_QUOTED}(?:{_TAG}|\^\^{_SENT})?"
    rf"|<<(?:[^\"]|{_QUOTED})*>>)$"  # a triple as a term
)

_WRITTEN = r"<[^<>]*>"
_NODE = rf"(?:{_WRITTEN}|{_BLANK})"
STATEMENT = (
    rf"^{_NODE}\s*{_WRITTEN}\s*(?:{_NODE}|{_QUOTED}(?:{_TAG}|\^\^{_WRITTEN})?)\s*\.\s*(?:#.*)?$"
)
EDGE = rf"^<(?P<s>{_VALID})>\s*<(?P<p>{_VALID})>\s*<(?P<o>{_VALID})>\s*\."
"""A statement between three valid IRIs, which have these names."""

_BARE = r"<[^<>\\\x00-\x20\x7f]*>"
_BARE_NODE = rf"(?:{_BARE}|_:[A-Za-z0-9]+)"
_BARE_TEXT = r'"(?:[^"\\\x00-\x1f\x7f\x{fffe}\x{ffff}]|\\[bfnrt"\\])*"'
_BARE_KIND = rf"@[a-z]+(?:-[a-z0-9]+)*|\^\^{_BARE}"
CANONICAL = rf"^{_BARE_NODE} {_BARE} (?:{_BARE_NODE}|{_BARE_TEXT}(?:{_BARE_KIND})?) \.$"
"""For Arrow only: Python writes characters by their number in another way."""

# -- escapes ---------------------------------------------------------------------------------------

ESCAPED_IRI = r'^[^"]*\\[uU]'
"""A term or statement in which an IRI has an escape."""
_ESCAPES = str.maketrans({"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"})
_NUMBERED = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})")


def escaped(text: str) -> str:
    """A text as it stands between the quotes of a literal."""
    return text.translate(_ESCAPES)


def unescaped(text: str) -> str:
    """A text with its numbered characters, the only escapes in IRIs, written out.

    Raises:
        ValueError: An escape is not a valid character.
    """
    try:
        return _NUMBERED.sub(lambda match: chr(int(match[1] or match[2], 16)), text)
    except (OverflowError, ValueError):
        raise ValueError(f"invalid character escape: {text[:60]!r}") from None


def bare_iri(text: str) -> str:
    """An IRI as people write it, without spaces around it and without <>."""
    text = text.strip()
    return text[1:-1] if text.startswith("<") and text.endswith(">") else text
