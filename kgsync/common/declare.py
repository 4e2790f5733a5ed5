"""How a room declares its settings: type, default, bounds, help and the paper's name, all at once.

A section is a frozen dataclass whose fields are made by `setting`. The declaration is in the
field's metadata, so that a section costs no more to import than any dataclass. Secrets are never
settings: they come from the environment.
"""

from __future__ import annotations

import types
import typing
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cache, wraps
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast, runtime_checkable

from kgsync.errors import ConfigError

__all__ = [
    "Choices",
    "Kind",
    "Part",
    "Rule",
    "Ruled",
    "Setting",
    "Walked",
    "every_section",
    "part",
    "parts_of",
    "setting",
    "settings_of",
    "with_old_names",
    "wrong",
]

T = TypeVar("T")
Kind = Literal["value", "duration", "path", "store"]
"""A duration is text like "15m"; a path is relative to the file; a store is a path or a URL."""
Choices = Callable[[], Mapping[str, str] | Sequence[str]]
"""Asked late, for the names of the choices, or what each of them means."""
_KEY = "kgsync"


@dataclass(frozen=True)
class Setting:
    """One declared setting."""

    default: Any
    explained: str | Callable[[], str]
    """The help without the choices; a function where it tells what other files declare."""
    kind: Kind = "value"
    at_least: float | str | None = None
    """Bounds; for a duration a duration."""
    above: float | str | None = None
    at_most: float | None = None
    or_zero: bool = False
    """Whether 0 is allowed besides what the bounds allow."""
    allowed: Choices | tuple[str, ...] = ()
    paper: str | None = None
    """Its name in the paper."""
    example: Any = None
    """A value to show where there is no default."""
    was: str | None = None
    """Its former key."""
    key: str = ""
    """The name of its field; this and the rest come from there."""
    type: type = str
    """int, float, str, bool, tuple (a list of strings) or dict (a table of strings)."""
    optional: bool = False
    """Whether it may be left unset (None); TOML has no null."""

    @property
    def choices(self) -> Sequence[str]:
        """The only values allowed; empty allows all."""
        return tuple(self._allowed())

    @property
    def help(self) -> str:
        """One or two sentences, with what each choice means where that is declared."""
        text = self.explained() if callable(self.explained) else self.explained
        allowed = self._allowed()
        if not isinstance(allowed, Mapping):
            return text
        *most, last = (f'"{name}" ({meaning})' for name, meaning in allowed.items())
        listed = f"{', '.join(most)} or {last}" if most else last
        return f"{text.removesuffix('.')}: {listed}."

    def _allowed(self) -> Mapping[str, str] | Sequence[str]:
        return self.allowed() if callable(self.allowed) else self.allowed


class Part(NamedTuple):
    """A section inside a section, like `[source.endpoint]`."""

    section: type
    help: str


class Walked(NamedTuple):
    """A section as `every_section` yields it."""

    name: str
    """As in a TOML header: "source.endpoint"."""
    section: type
    help: str


class Rule(NamedTuple):
    """A rule about several settings, or one that bounds cannot express."""

    holds: bool
    keys: tuple[str, ...]
    """The settings to change if the rule is violated."""
    message: str


@runtime_checkable
class Ruled(Protocol):
    """A section with rules that bounds cannot express."""

    def rules(self) -> Iterable[Rule]:
        """The rules about its settings, by their keys."""


def setting(
    default: T,
    help: str | Callable[[], str],  # noqa: A002
    *,
    kind: Kind = "value",
    at_least: float | str | None = None,
    above: float | str | None = None,
    at_most: float | None = None,
    or_zero: bool = False,
    choices: Choices | None = None,
    paper: str | None = None,
    example: object = None,
    was: str | None = None,
    by_name: bool = False,
) -> T:
    """Declare a setting.

    As in `epochs: int = setting(1000, "Maximum number of epochs.", at_least=0)`.

    Args:
        default: Its default; None if it may be left unset.
        help: One or two sentences, shown in the template, the reference and the schema; a function
            where they tell what other files declare.
        kind: What a string is, if not just a string.
        at_least: Smallest value allowed; for a duration a duration.
        above: The value must be larger than this.
        at_most: Largest value allowed.
        or_zero: Allow 0 besides; it usually stands for "choose for me".
        choices: The only values allowed, where the type cannot list them. If they come with their
            meanings, the help lists these.
        paper: Its name in the paper.
        example: A value to show in the template if there is no default.
        was: A former key that is still read.
        by_name: Never a positional argument, so that a new setting may come first.
    """
    limits = at_least, above, at_most, or_zero, choices or ()
    said = {_KEY: Setting(default, help, kind, *limits, paper, example, was)}
    if isinstance(default, dict):  # its values may be secrets
        return cast("T", field(default_factory=lambda: dict(default), repr=False, metadata=said))
    return field(default=default, metadata=said, kw_only=by_name)


def part(section: type[T], help: str | None = None) -> T:  # noqa: A002
    """Declare a section inside a section.

    Args:
        section: Its dataclass.
        help: What it is for there; the first paragraph of its docstring if not given.
    """
    text = help or " ".join((section.__doc__ or "").partition("\n\n")[0].split())
    return field(default_factory=section, metadata={_KEY: Part(section, text)})


def settings_of(section: type) -> dict[str, Setting]:
    """The declared settings of a section by their keys, in order."""
    return _settings_of(cast("Any", section))


@cache
def _settings_of(section: Any) -> dict[str, Setting]:
    hints, found = typing.get_type_hints(section), {}
    for each in fields(section):
        said = each.metadata.get(_KEY)
        if isinstance(said, Setting):
            type_, optional, literals = _taken_apart(hints[each.name])
            allowed = said.allowed or literals
            found[each.name] = replace(
                said, key=each.name, type=type_, optional=optional, allowed=allowed
            )
    return found


def parts_of(section: type) -> dict[str, Part]:
    """The sections inside a section."""
    declared = ((each.name, each.metadata.get(_KEY)) for each in fields(cast("Any", section)))
    return {name: said for name, said in declared if isinstance(said, Part)}


def every_section(root: type, name: str = "") -> Iterator[Walked]:
    """All sections below one, in order, each before those inside it."""
    for key, (section, text) in parts_of(root).items():
        inner = f"{name}.{key}" if name else key
        yield Walked(inner, section, text)
        yield from every_section(section, inner)


def with_old_names(section: type[T]) -> type[T]:
    """Let a section's constructor take former keys as well, with a DeprecationWarning.

    `dataclasses.replace` gives every field by its new name, and so takes the new names only.
    """
    said = {each.name: each.metadata.get(_KEY) for each in fields(cast("Any", section))}
    renamed = {d.was: key for key, d in said.items() if isinstance(d, Setting) and d.was}
    create = section.__init__

    @wraps(create)
    def init(self: T, *args: Any, **given: Any) -> None:
        for old in given.keys() & renamed.keys():
            new = renamed[old]
            if new in given:
                raise TypeError(f"{section.__name__}: {old} is the former name of {new}")
            text = f"{section.__name__}: {old} is now called {new}"
            warnings.warn(text, DeprecationWarning, stacklevel=2)
            given[new] = given.pop(old)
        create(self, *args, **given)

    section.__init__ = init  # type: ignore[assignment]
    return section


def wrong(section: str, keys: Sequence[str], message: str) -> ConfigError:
    """An error about settings of a section; it knows which, so that their line can be named."""
    error = ConfigError(f"[{section}] {message}" if section else message)
    error.keys = tuple(f"{section}.{key}" if section else key for key in keys)
    return error


def _taken_apart(hint: Any) -> tuple[type, bool, tuple[str, ...]]:
    """The plain type of a hint, whether it allows None, and the texts it allows."""
    origin, options = typing.get_origin(hint), typing.get_args(hint)
    if origin is types.UnionType:
        (inner,) = (option for option in options if option is not type(None))
        type_, _, literals = _taken_apart(inner)
        return type_, True, literals
    if origin is Literal:
        return str, False, options
    return (origin or hint), False, ()
