"""Tables as lines of text that fit a width: no word and no number is broken over two lines."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from rich.cells import cell_len, chop_cells

__all__ = ["shortened", "table_lines"]

_GAP = "  "
_SHORTEST = 16
"""A cell is not shortened below this width: that of a time to the minute."""


def table_lines(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int | None,
    *,
    right: Collection[str],
    spare: Sequence[str] = (),
    shorten: Collection[str] = (),
) -> list[str]:
    """The lines of a table, the header first.

    Args:
        columns: Their titles.
        rows: The cells.
        width: What the lines should fit, if possible; None for any width.
        right: Columns that are right-aligned.
        spare: Columns to leave out when there is little room, the least important one first.
        shorten: Columns whose cells may be shortened.
    """
    full = {
        title: max(map(cell_len, [title, *(row[i] for row in rows)]))
        for i, title in enumerate(columns)
    }
    least = {
        title: min(size, max(_SHORTEST, cell_len(title))) if title in shorten else size
        for title, size in full.items()
    }
    kept = list(columns)
    if width is not None:
        for title in spare:
            if _total([least[each] for each in kept]) > width:
                kept.remove(title)
    sizes = {title: full[title] for title in kept}
    if width is not None:
        _shrink(sizes, least, width)
    lines = [{title: title for title in columns}]
    lines += [dict(zip(columns, row, strict=True)) for row in rows]
    return [
        _GAP.join(_cell(line[title], sizes[title], right=title in right) for title in kept).rstrip()
        for line in lines
    ]


def shortened(text: str, width: int) -> str:
    """A text that fits a width, shortened in the middle: both ends of an IRI tell it apart."""
    if cell_len(text) <= width:
        return text
    start, end = width // 2, width - width // 2 - 1
    tail = chop_cells(text[::-1], end)[0][::-1] if end else ""
    return f"{chop_cells(text, start)[0]}…{tail}"


def _shrink(sizes: dict[str, int], least: dict[str, int], width: int) -> None:
    """Take room from the widest column that can be shortened, until the table fits."""
    while _total(list(sizes.values())) > width:
        able = [title for title in sizes if sizes[title] > least[title]]
        if not able:
            return
        sizes[max(able, key=lambda title: sizes[title])] -= 1


def _total(sizes: Sequence[int]) -> int:
    return sum(sizes) + len(_GAP) * (len(sizes) - 1)


def _cell(text: str, width: int, *, right: bool) -> str:
    text = shortened(text, width)
    room = " " * (width - cell_len(text))
    return room + text if right else text + room
