"""If a store cannot parse a query because of the scope in it, the error names the scope."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kgsync.errors import ConfigError, MalformedQueryError
from kgsync.source.settings import ReadingSettings

__all__ = ["naming_scope"]


@contextmanager
def naming_scope(settings: ReadingSettings) -> Iterator[None]:
    """Read a graph through the scope, if there is one.

    Raises:
        ConfigError: The scope is not valid SPARQL.
    """
    try:
        yield
    except MalformedQueryError as error:
        if settings.source.scope is None:
            raise
        raise ConfigError(
            f"syntax error in the scope {settings.source.scope}: write it as "
            f"SELECT ?s ?p ?o WHERE {{ GRAPH $graph {{ … }} }}; the store says: {error}"
        ) from error
