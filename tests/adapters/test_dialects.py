"""What is known about servers is said in one place."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgsync.adapters.sparql import dialects
from kgsync.adapters.sparql.dialects import Complaint, complaint_in, dialect_of
from kgsync.adapters.sparql.failures import RowLimitError, error_of_status
from kgsync.errors import PermanentStoreError, StoreError, TransientStoreError
from kgsync.graph.endpoint import Endpoint

ADAPTERS = Path(__file__).parents[2] / "adapters"
ENDPOINT = Endpoint("http://127.0.0.1/sparql")


def test_a_server_is_known_by_its_name() -> None:
    assert dialect_of("Virtuoso/07.20.3240 (Linux) x86_64") is dialects.VIRTUOSO
    for server in ("", "Apache Jena Fuseki (4.10.0)", "oxigraph/0.5"):
        assert dialect_of(server) is dialects.STANDARD
        assert not dialect_of(server).system_graphs.fullmatch("http://localhost:8890/DAV/")
    assert dialects.VIRTUOSO.system_graphs.fullmatch("http://localhost:8890/DAV/")


@pytest.mark.parametrize(
    ("status", "said", "kind", "error"),
    [
        (500, "Virtuoso 42000 Error SR186: No permission", "no rights", PermanentStoreError),
        (500, "Virtuoso 37000 Error SP030: SPARQL compiler", "mistake", PermanentStoreError),
        (500, "Virtuoso 40001 Error SR172: deadlock", "unclear", TransientStoreError),
        (500, "FRVEC: over max vector length 2 > 1000", "too many rows", RowLimitError),
        (503, "busy", "unclear", TransientStoreError),
        (404, "nothing here", "unclear", PermanentStoreError),
        (401, "who are you?", "unclear", PermanentStoreError),
    ],
)
def test_errors_are_told_apart_by_status_and_complaint(
    status: int, said: str, kind: str, error: type[StoreError]
) -> None:
    assert complaint_in(said).kind == kind
    assert type(error_of_status(ENDPOINT, status, ENDPOINT.url, said)) is error


def test_the_limit_of_a_server_is_read_from_its_complaint() -> None:
    said = "over max vector length 2000 > 1000"
    assert complaint_in(said) == Complaint("too many rows", 1000)
    found = error_of_status(ENDPOINT, 500, ENDPOINT.url, said)
    assert isinstance(found, RowLimitError)
    assert found.limit == 1000


def test_no_other_file_knows_a_server_by_name() -> None:
    for path in ADAPTERS.rglob("*.py"):
        if path.name != "dialects.py":
            assert "virtuoso" not in path.read_text(encoding="utf-8").lower(), path
