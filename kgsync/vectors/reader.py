"""Reading what was committed: vectors, neighbours, predictions, answers to queries, history."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, TypeVar, overload

from kgsync.errors import StateCorruptedError, StateError
from kgsync.graph.endpoint import watched
from kgsync.graph.settings import EndpointSettings
from kgsync.graph.stores import StoreTarget, store_identity, store_label
from kgsync.publish.settings import PublishSettings
from kgsync.publish.target import PublishTarget
from kgsync.state.committed import current_version, kept_version
from kgsync.state.directory import State
from kgsync.state.report import StepReport

if TYPE_CHECKING:
    from kgsync.graph.table import Table
    from kgsync.models.base import Kind
    from kgsync.vectors.embeddings import Embeddings, Neighbor, Prediction, Vector
    from kgsync.vectors.moves import Move

__all__ = ["Reader"]

T = TypeVar("T")


class EndpointSource(Protocol):
    """The part of `[source]` that is about endpoints."""

    @property
    def endpoint(self) -> EndpointSettings:
        """How to access one."""


class ReaderSettings(Protocol):
    """The sections that reading needs."""

    @property
    def source(self) -> EndpointSource:
        """How to access an endpoint."""

    @property
    def publish(self) -> PublishSettings:
        """Where the metadata is."""


class Reader:
    """The read-only part of a sync."""

    settings: ReaderSettings

    def __init__(self, settings: ReaderSettings, state: Path, store: StoreTarget) -> None:
        """Set up reading; nothing is opened yet.

        Args:
            settings: How an endpoint is asked, and where the metadata is published.
            state: The state directory, where the versions are.
            store: The store that the graph comes from.
        """
        self.settings = settings
        self.state = State(state, store_identity(store, state))
        self._target, self.watch = watched(settings.source.endpoint.applied(store))
        """`watch` knows how long the store has worked for this sync, if it is an endpoint."""
        self._view: tuple[tuple[str, int, str], Embeddings] | None = None

    @property
    def store(self) -> str:
        """Name of the source store, without credentials."""
        return store_label(self._target)

    def at(self, version: int | None = None) -> Embeddings:
        """The vectors of one committed version; by default of the current one.

        Raises:
            StateError: There is no such version, or its files are gone.
        """
        from kgsync.vectors.embeddings import Embeddings

        state = self.state
        chosen = current_version(state) if version is None else kept_version(state, version)
        if chosen is None:
            raise StateError(
                f"there is no embedding in {self.state.path} yet; run `kgsync step` first"
            )
        # A state may have been replaced by another one behind our back.
        key = self.state.uuid, chosen.manifest.version, chosen.manifest.created
        if self._view is None or self._view[0] != key:
            self._view = key, Embeddings.of_version(chosen)
        return self._view[1]

    def embedding(self, iri: str) -> Vector:
        """The current vector of an entity, as a numpy array.

        Raises:
            UnknownTermError: It has none (also a KeyError).
        """
        return self._ask(lambda view: view.embedding(iri))

    def relation_embedding(self, iri: str) -> Vector:
        """The current vector of a relation, as a numpy array.

        Raises:
            UnknownTermError: It has none (also a KeyError).
        """
        return self._ask(lambda view: view.relation_embedding(iri))

    def query(self, query: str | Path, /, *, at: int | None = None, **parameters: object) -> Table:
        """Run a query where the metadata is published; `kgsync query` lists all queries.

        Args:
            query: Name of a query, SPARQL text, or path of a file.
            at: The version that is meant, in placeholders and behind functions; by default the
                current one.
            parameters: Values for its placeholders; `from_` stands for `from`.

        Raises:
            ConfigError: A parameter or the query is wrong, or the store cannot run this query.
            QueryError: A function was called with invalid arguments.
            StateError: There is no such version.
            StoreError: The store failed.
        """
        from kgsync.vectors.querying import find_query, run_query

        given = {name.removesuffix("_"): value for name, value in parameters.items()}
        return run_query(self, self._publish, find_query(query), given, at)

    @overload
    def neighbors(self, iri: str, k: int = 10) -> list[Neighbor]: ...

    @overload
    def neighbors(self, iri: list[str], k: int = 10) -> list[list[Neighbor]]: ...

    def neighbors(self, iri: str | list[str], k: int = 10) -> list[Neighbor] | list[list[Neighbor]]:
        """The k nearest entities by cosine, nearest first; for a list of IRIs, one list each."""
        return self._ask(lambda view: view.neighbors(iri, k))

    def predict(
        self,
        *,
        relation: str,
        head: str | None = None,
        tail: str | None = None,
        k: int = 10,
        new_only: bool = False,
    ) -> list[Prediction]:
        """Predict the head or the tail with the current version; see `Embeddings.predict`."""
        return self._ask(
            lambda view: view.predict(
                relation=relation, head=head, tail=tail, k=k, new_only=new_only
            )
        )

    def _ask(self, ask: Callable[[Embeddings], T]) -> T:
        """Read from the current version, and follow if another process replaces it."""
        from kgsync.vectors.embeddings import FOLLOWED, ReplacedError

        def ask_current() -> T:
            view = self.at()
            try:
                return ask(view)
            except StateCorruptedError:
                if self.state.is_current(view.version):
                    raise
            raise ReplacedError(
                f"{self.state.path} has a new version each time it is read; try again later"
            )

        return FOLLOWED.call(ask_current)

    def history(self) -> list[StepReport]:
        """The reports of all committed versions, oldest first.

        Damaged ones are left out; `status` lists them.
        """
        return [StepReport.from_json(v.manifest.report) for v in self.state.readable_versions()]

    def moves(self, iri: str, kind: Kind = "entity") -> list[Move]:
        """How far an element moved in each version up to the current one, and what changed there.

        Args:
            iri: The entity or relation; it may have been deleted.
            kind: Which of the two.

        Returns:
            The versions in which it moved, came, went, or gained or lost triples, oldest first, as
            far back as there are records (`state.history`).

        Raises:
            UnknownTermError: No version has had it (also a KeyError).
            StateCorruptedError: A record is damaged.
        """
        from kgsync.vectors.moves import moves_of

        return self._ask(lambda view: moves_of(self.state, view.version, iri, kind))

    def _publish(self) -> PublishTarget:
        return PublishTarget(self.settings.publish, self._target, self.state)
