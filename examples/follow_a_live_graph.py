"""A graph that changes in place: embed it, change it, update the vectors."""

from __future__ import annotations

import tempfile

import rdflib

from kgsync import KGSync, Settings
from kgsync.config import ModelSettings, TrainingSettings

EX = rdflib.Namespace("http://example.org/")


def build() -> rdflib.Dataset:
    """Twelve cities in three countries, with neighbours and rivers."""
    dataset = rdflib.Dataset()
    graph = dataset.graph(EX.atlas)
    for i in range(12):
        city = EX[f"city{i}"]
        graph.add((city, EX.locatedIn, EX[f"country{i // 4}"]))
        graph.add((city, EX.neighborOf, EX[f"city{(i + 1) % 12}"]))
        graph.add((city, EX.on, EX[f"river{i % 3}"]))
    return dataset


def main() -> None:
    dataset = build()
    settings = Settings(
        model=ModelSettings("distmult", dimension=16),
        training=TrainingSettings(epochs=50, batches=4),
    )
    with tempfile.TemporaryDirectory() as state:
        sync = KGSync(dataset, str(EX.atlas), state=state, settings=settings)
        print(sync.step())
        print(sync.step())

        graph = dataset.graph(EX.atlas)
        graph.remove((EX.city3, EX.locatedIn, None))
        graph.add((EX.city3, EX.locatedIn, EX.country1))
        graph.add((EX.harbour, EX.on, EX.river0))
        print(sync.step())
        print("near the new harbour:", [n.iri for n in sync.neighbors(str(EX.harbour), k=3)])


if __name__ == "__main__":
    main()
