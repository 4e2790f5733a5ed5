"""Which texts the kernels are compiled from; read without loading numba."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

__all__ = ["digest_of_texts"]

_PACKAGE = Path(__file__).parents[2]


def digest_of_texts() -> str:
    """A name for the kernels as they are written now, constants of other files included."""
    rooms = (_PACKAGE / room for room in ("evaluation", "models", "training"))
    files = sorted(file for room in rooms for file in room.rglob("*.py"))
    files += [
        _PACKAGE / "common" / name for name in ("compiled.py", "kernels.py", "inner_functions.py")
    ]
    return sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:16]
