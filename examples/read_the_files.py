"""Read the vectors of a version with pyarrow and safetensors only.

python read_the_files.py .kgsync/graph/000001/embeddings
"""

from __future__ import annotations

import sys
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
from safetensors.numpy import load_file


def main(folder: Path) -> None:
    tensors = load_file(folder / "tensors.safetensors")
    index = pq.read_table(folder / "index.parquet")
    entities = index.filter(pc.equal(index["kind"], "entity"))
    first = entities["iri"][0].as_py()
    print(f"{entities.num_rows} entities, {tensors['entity'].shape[1]} numbers each")
    print(first, tensors["entity"][entities["row"][0].as_py()][:4])

    table = pq.read_table(folder / "vectors.parquet")
    vector = table["vector"][table["iri"].to_pylist().index(first)].as_py()
    print(first, vector[:4])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
