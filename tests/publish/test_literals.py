from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kgsync.errors import StateError
from kgsync.publish.literals.datatypes import DATATYPES, decode, encode, ntriples

FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=32)
TABLES = arrays.arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=FLOATS)


@pytest.mark.parametrize("datatype", DATATYPES)
@given(table=TABLES)
def test_every_datatype_gives_back_the_same_bits(datatype: str, table: np.ndarray) -> None:
    texts = encode(table, datatype).to_pylist()
    for text, row in zip(texts, table, strict=True):
        assert decode(text, DATATYPES[datatype]).tobytes() == row.tobytes()


@pytest.mark.parametrize("datatype", DATATYPES)
def test_any_pattern_of_bits_that_is_a_number_survives(datatype: str) -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, 20_000, dtype=np.uint32)
    numbers = bits.view(np.float32)
    table = numbers[np.isfinite(numbers)][:19_000].reshape(190, 100)
    found = [decode(text, DATATYPES[datatype]) for text in encode(table, datatype).to_pylist()]
    assert np.array_equal(np.stack(found).view(np.uint32), table.view(np.uint32))


def test_a_list_is_short_and_without_spaces() -> None:
    table = np.array([[0.1, -2e-5, 1.0, -0.0, 3e20]], np.float32)
    assert encode(table, "list").to_pylist() == ["[0.1,-0.00002,1,-0.0,3e+20]"]


def test_a_tensor_names_its_type_and_shape() -> None:
    table = np.arange(4, dtype=np.float32).reshape(1, 2, 2)
    (text,) = encode(table, "tensor").to_pylist()
    assert text == '{"type":"float32","shape":[2,2],"data":[0,1,2,3]}'


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("datatype", DATATYPES)
def test_what_is_no_number_is_refused(datatype: str, value: float) -> None:
    with pytest.raises(StateError, match="NaN or infinity"):
        encode(np.array([[0, value]], np.float32), datatype)


@pytest.mark.parametrize(
    ("text", "datatype"),
    [
        ("[1,2", "list"),
        ("[1,true]", "list"),
        ("1", "json"),
        ("[NaN]", "json"),
        ("[1e400]", "list"),
        ('{"shape":[1]}', "tensor"),
        ("[1]", "tensor"),
        ("!!!!", "base64"),
        ("AAAA", "base64"),
    ],
)
def test_a_literal_that_is_no_vector_is_an_error(text: str, datatype: str) -> None:
    with pytest.raises(ValueError):
        decode(text, DATATYPES[datatype])


def test_another_datatype_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a vector datatype"):
        decode("[1]", "http://www.w3.org/2001/XMLSchema#string")


@pytest.mark.parametrize("datatype", DATATYPES)
def test_triples_are_what_a_parser_reads(datatype: str) -> None:
    table = np.array([[0.5, -1e-9], [2.0, 3.0]], np.float32)
    subjects = pa.array(["http://example.org/é", "urn:b"])
    text = ntriples(subjects, "urn:p", table, datatype)
    quads = list(ox.parse(text.encode(), format=ox.RdfFormat.N_TRIPLES))
    assert [str(quad.subject) for quad in quads] == ["<http://example.org/é>", "<urn:b>"]
    for quad, row in zip(quads, table, strict=True):
        assert isinstance(quad.object, ox.Literal)
        assert np.array_equal(decode(quad.object.value, quad.object.datatype.value), row)
