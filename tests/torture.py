"""Flip bits in every file of a state: `python -m tests.torture [--bits 64]`, or `make torture`.

Every bit of CURRENT and state.json is flipped, and a sample of those of all other files. Whatever
is asked must be answered as if nothing had happened, or with an error of kgsync's own.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from tests.state.test_damage import bits, check_flip, facts, files_of, make_state, sync_of

_EVERY_BIT = ("CURRENT", "state.json")


def main() -> None:
    """Flip them, and print a line for every file."""
    parser = argparse.ArgumentParser(prog="python -m tests.torture")
    parser.add_argument("--bits", type=int, default=64, help="flipped in each larger file")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        state = make_state(Path(folder))
        wanted = facts(sync_of(state.parent / "kg", state, literals="rolling"))
        for name in files_of(state):
            chosen = [*bits(state, name, 10**9 if name in _EVERY_BIT else options.bits)]
            for bit in chosen:
                check_flip(state, name, bit, wanted)
            print(f"{name}: {len(chosen)} flips", flush=True)


if __name__ == "__main__":
    main()
