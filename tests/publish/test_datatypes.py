"""What every literal datatype does. A new one needs a file `datatype_<name>.py` beside this one."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules

import numpy as np
import pyarrow as pa
import pyoxigraph as ox
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from kgsync.common.declare import settings_of
from kgsync.config.reference import as_text, reference
from kgsync.errors import StateError
from kgsync.publish.literals import datatypes
from kgsync.publish.literals.datatypes import DATATYPES, decode, encode, ntriples
from kgsync.publish.settings import PublishSettings

FLOATS = st.floats(allow_nan=False, allow_infinity=False, width=32)
TABLES = arrays.arrays(np.float32, st.tuples(st.integers(1, 4), st.integers(1, 6)), elements=FLOATS)
LIMITS = np.finfo(np.float32)
EDGES = [0.0, LIMITS.smallest_subnormal, 1.1e-41, LIMITS.tiny, LIMITS.eps, 1 / 3, 16_777_217]
HOSTILE = [
    "vector",
    "NaN",
    "null",
    "\0",
    "0.1,0.2",
    "[0.1 0.2]",
    '[1]"^^<urn:x> . <urn:a> <urn:b> "',
    "[١]",
    "[" * 100_000,
    "[" + "9" * 400 + "]",
    "[1e39]",
    "<script>",
    "__import__('os')",
]
"""What no datatype takes for a vector."""

unhurried = settings(deadline=None)
"""The first example also imports pyarrow."""
every_datatype = pytest.mark.parametrize("name", sorted(DATATYPES))


def as_bits(vectors: object) -> list[int]:
    return np.asarray(vectors, np.float32).reshape(-1).view(np.uint32).tolist()


def read_back(table: np.ndarray, name: str) -> np.ndarray:
    return np.stack([decode(text, DATATYPES[name].iri) for text in encode(table, name).to_pylist()])


def test_every_file_of_the_folder_is_a_datatype_of_its_name() -> None:
    files = {file.name for file in iter_modules(datatypes.__path__)}
    assert files - {"declaration", "parts"} == set(DATATYPES)
    assert len({declared.iri for declared in DATATYPES.values()}) == len(DATATYPES)


def test_no_case_is_left_of_a_datatype_that_is_gone() -> None:
    cases = {path.stem.removeprefix("datatype_") for path in Path(__file__).parent.glob("dataty*")}
    assert cases == set(DATATYPES)


@every_datatype
@unhurried
@given(table=TABLES)
def test_reading_gives_back_the_same_bits(name: str, table: np.ndarray) -> None:
    assert as_bits(read_back(table, name)) == as_bits(table)


@every_datatype
def test_zeros_denormals_and_extremes_keep_their_bits(name: str) -> None:
    numbers = np.array([*EDGES, LIMITS.max], np.float32)
    table = np.stack([numbers, -numbers])
    assert as_bits(read_back(table, name)) == as_bits(table)


@every_datatype
def test_any_pattern_of_bits_that_is_a_number_survives(name: str) -> None:
    bits = np.random.default_rng(0).integers(0, 2**32, 20_000, dtype=np.uint32)
    numbers = bits.view(np.float32)
    table = numbers[np.isfinite(numbers)][:19_000].reshape(190, 100)
    assert as_bits(read_back(table, name)) == as_bits(table)


@every_datatype
def test_the_text_is_what_other_programs_expect(name: str) -> None:
    table = np.array([[[0.1, -2e-5, 1.0], [-0.0, 3e20, 2.0]]], np.float32)
    written = import_module(f"tests.publish.datatype_{name}").WRITTEN
    assert encode(table, name).to_pylist() == [written]
    assert as_bits(decode(written, DATATYPES[name].iri)) == as_bits(table)


@every_datatype
def test_a_table_without_rows_has_no_texts(name: str) -> None:
    assert encode(np.empty((0, 3), np.float32), name).to_pylist() == []
    assert ntriples(pa.array([], pa.string()), "urn:p", np.empty((0, 3), np.float32), name) == ""


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@every_datatype
def test_what_is_not_a_finite_number_is_not_written(name: str, value: float) -> None:
    with pytest.raises(StateError, match="NaN or infinity"):
        encode(np.array([[0, value]], np.float32), name)


@every_datatype
def test_a_text_that_is_not_a_vector_is_refused(name: str) -> None:
    for text in [*HOSTILE, *import_module(f"tests.publish.datatype_{name}").REFUSED]:
        with pytest.raises(ValueError):
            print(text[:50], decode(text, DATATYPES[name].iri))


@every_datatype
@unhurried
@given(text=st.text())
def test_any_text_is_a_vector_of_finite_numbers_or_refused(name: str, text: str) -> None:
    try:
        vector = decode(text, DATATYPES[name].iri)
    except ValueError:
        return
    assert vector.dtype == np.float32
    assert np.isfinite(vector).all()


@every_datatype
def test_triples_are_what_a_parser_reads(name: str) -> None:
    table = np.array([[0.5, -1e-9], [2.0, -0.0]], np.float32)
    text = ntriples(pa.array(["http://example.org/é", "urn:b"]), "urn:p", table, name)
    quads = list(ox.parse(text.encode(), format=ox.RdfFormat.N_TRIPLES))
    assert [str(quad.subject) for quad in quads] == ["<http://example.org/é>", "<urn:b>"]
    for quad, row in zip(quads, table, strict=True):
        assert isinstance(quad.object, ox.Literal)
        assert quad.object.datatype.value == DATATYPES[name].iri
        assert as_bits(decode(quad.object.value, DATATYPES[name].iri)) == as_bits(row)


def test_another_datatype_is_an_error() -> None:
    with pytest.raises(ValueError, match="not a vector datatype"):
        decode("[1]", "http://www.w3.org/2001/XMLSchema#string")


@every_datatype
def test_the_setting_explains_it(name: str) -> None:
    setting = settings_of(PublishSettings)["datatype"]
    assert name in setting.choices
    assert f'"{name}" ({DATATYPES[name].help})' in setting.help
    assert DATATYPES[name].help in " ".join(as_text(reference("publish.datatype")).split())


def test_listing_the_datatypes_loads_nothing_heavy() -> None:
    code = (
        "import sys\n"
        "from kgsync.config import Settings\n"
        "from kgsync.publish.literals.datatypes import DATATYPES\n"
        "assert len(DATATYPES) >= 4\n"
        "heavy = {'torch', 'numba', 'pyarrow', 'rdflib', 'pyoxigraph'} & set(sys.modules)\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
