"""NELL's beliefs: its columns, its categories, its times, and the minimum degree of NELL5."""

from __future__ import annotations

from pathlib import Path

import pytest

from kgsync.errors import ConfigError
from kgsync.snapshots.nell import RDF_TYPE, read_nell
from kgsync.snapshots.window import sliding_window
from tests.graph.graphs import edge_list
from tests.snapshots.files import ENTITY, NAMING, RELATION, write

HEADER = "\t".join(
    [
        "Entity",
        "Relation",
        "Value",
        "Iteration of Promotion",
        "Probability",
        "Source",
        "Entity literalStrings",
        "Value literalStrings",
        "Best Entity literalString",
        "Best Value literalString",
        "Categories for Entity",
        "Categories for Value",
        "Candidate Source",
    ]
)


def belief(entity: str, relation: str, value: str, iteration: str) -> str:
    """A line as NELL writes it, quotes and percent signs included."""
    rest = ["0.95", "MBL-Iter%3A710", '"Guitar" "guitar', '""', "Guitar", "", "concept:x", "", "[]"]
    return "\t".join([entity, relation, value, iteration, *rest])


def nell_file(folder: Path, *beliefs: tuple[str, str, str, str]) -> Path:
    lines = (belief(*one) for one in beliefs)
    return write(folder / "NELL.08m.1115.esv.csv.gz", HEADER, *lines)


def test_beliefs_become_facts_with_their_iteration_as_time(tmp_path: Path) -> None:
    path = nell_file(
        tmp_path,
        ("concept:musician:george", "concept:plays", "concept:instrument:guitar ", "710"),
        ("concept:instrument:guitar", "generalizations", "concept:instrument", "12"),
        ("concept:place:x", "concept:haswikipediaurl", "http://e.org/a%20b?c", "[718, 720]"),
    )
    facts = read_nell(path, NAMING)
    assert facts.times is not None
    assert facts.times.tolist() == [710, 12, 718]
    assert not facts.dated
    assert set(edge_list(facts.snapshot(), facts.terms)) == {
        (
            f"{ENTITY}concept:musician:george",
            f"{RELATION}concept:plays",
            f"{ENTITY}concept:instrument:guitar",
        ),
        (f"{ENTITY}concept:instrument:guitar", RDF_TYPE, f"{ENTITY}concept:instrument"),
        (
            f"{ENTITY}concept:place:x",
            f"{RELATION}concept:haswikipediaurl",
            f"{ENTITY}http://e.org/a%2520b%3Fc",
        ),
    }


def test_the_minimum_degree_of_five_is_iterated_on_the_whole_graph(tmp_path: Path) -> None:
    clique = [
        (f"concept:e{i}", "concept:knows", f"concept:e{j}", str(100 * i + j))
        for i in range(4)
        for j in range(4)
        if i != j
    ]
    # A category of four members falls, and with it what only it held up.
    weak = [(f"concept:w{i}", "generalizations", "concept:rare", "5") for i in range(4)]
    facts = read_nell(nell_file(tmp_path, *weak, *clique), NAMING).with_min_degree(5)
    assert len(facts) == len(clique)
    (version,) = sliding_window(facts, versions=1, share=1.0)
    assert len(version.edges.entities) == 4
    assert version.issued is None
    assert "time 1 to 302" in version.title


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ([HEADER, belief("a", "r", "b", "1"), "a\tr\tb"], "line 3: expected 13 fields"),
        ([HEADER, belief("a", "r", "", "1")], "line 2: the Value is empty"),
        (["Entity\tRelation\tValue", "a\tr\tb"], "line 1: no column 'Iteration of Promotion'"),
        ([HEADER, belief("a", "r", "b", "soon")], "line 2: the Iteration .* not a number: 'soon'"),
        ([HEADER], "there are no facts"),
        ([], "is empty"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, lines: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read_nell(write(tmp_path / "nell.csv", *lines), NAMING)


def test_a_row_may_be_long(tmp_path: Path) -> None:
    long = belief("a", "r", "b", "1") + "x" * 5_000_000
    facts = read_nell(
        write(tmp_path / "nell.csv", HEADER, long, belief("c", "r", "d", "2")), NAMING
    )
    assert len(facts) == 2
