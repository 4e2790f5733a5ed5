"""Every way an answer goes wrong between a store and us, as faults for `FaultProxy`.

Where an answer is cut, `rows=n` keeps so many rows of a result in CSV, TSV, N-Triples or JSON (a
negative n drops so many), and `size=n` so many bytes; without either, half of the bytes stay.
"""

from __future__ import annotations

import gzip
import itertools
import json
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from email.utils import format_datetime

from tests.servers.messages import Answer
from tests.servers.proxy import Exchange, Fault

CANCELLED = b"The SPARQL operation has been cancelled"
"""What Oxigraph adds to a result that it breaks off."""
_HTML = b"<!DOCTYPE html><html><body><h1>Service temporarily overloaded</h1></body></html>\n"


@dataclass(frozen=True)
class Rows:
    """A result taken apart; literals with line breaks in CSV are beyond it."""

    head: bytes
    rows: list[bytes]
    tail: bytes = b""
    between: bytes = b""

    @classmethod
    def of(cls, answer: Answer) -> Rows:
        if answer.status != 200:
            raise ValueError(f"no rows in status {answer.status}: {answer.body[:500]!r}")
        kind = (answer.header("Content-Type") or "").partition(";")[0].strip()
        if kind.endswith("json"):
            result = json.loads(answer.body)
            rows = [json.dumps(row).encode() for row in result["results"]["bindings"]]
            result["results"]["bindings"] = []
            head, tail = json.dumps(result).encode().split(b'"bindings": []')
            return cls(head + b'"bindings": [', rows, b"]" + tail, b", ")
        lines = answer.body.splitlines(keepends=True)
        if kind in {"text/csv", "text/tab-separated-values"}:
            return cls(lines[0], lines[1:])
        if kind in {"application/n-triples", "text/plain"}:
            comments = [line for line in lines if line.startswith(b"#")]
            return cls(b"".join(comments), [line for line in lines if line not in comments])
        raise ValueError(f"where the rows are in {kind or 'no content type'} is not known")

    def begun(self, rows: list[bytes]) -> bytes:
        """A result with these rows that is not ended."""
        return self.head + self.between.join(rows)

    def whole(self, rows: list[bytes]) -> bytes:
        """A result with these rows that looks whole."""
        return self.begun(rows) + self.tail


def _cut(answer: Answer, rows: int | None, size: int | None, *, whole: bool = False) -> bytes:
    if rows is None:
        return answer.body[: len(answer.body) // 2 if size is None else size]
    parts = Rows.of(answer)
    return (parts.whole if whole else parts.begun)(parts.rows[:rows])


def _edited(edit: Callable[[Answer], Answer]) -> Fault:
    return lambda exchange: exchange.answer(edit(exchange.forward()))


def passed(exchange: Exchange) -> None:
    """No fault: the store's own answer."""
    exchange.pass_on()


def delayed(seconds: float) -> Fault:
    """The store's own answer, asked for only after a while."""

    def fault(exchange: Exchange) -> None:
        exchange.wait(seconds)
        exchange.pass_on()

    return fault


def truncated(*, rows: int | None = None, size: int | None = None) -> Fault:
    """A part of the body with a Content-Length that fits it: it looks whole."""
    return _edited(lambda answer: answer.with_body(_cut(answer, rows, size, whole=True)))


def truncated_chunked(*, rows: int | None = None, size: int | None = None) -> Fault:
    """A part of the body in chunks that end in good order: it looks whole."""

    def fault(exchange: Exchange) -> None:
        answer = exchange.forward()
        _chunked_head(exchange, answer)
        exchange.send_chunk(_cut(answer, rows, size, whole=True))
        exchange.end_chunks()

    return fault


def short_body(*, rows: int | None = None, size: int | None = None) -> Fault:
    """The whole body's Content-Length, a part of it, and the connection closed."""

    def fault(exchange: Exchange) -> None:
        _part(exchange, rows, size)
        exchange.hang_up()

    return fault


def unfinished_chunk(*, rows: int | None = None, size: int | None = None) -> Fault:
    """A chunk of which a part arrives before the connection is closed."""

    def fault(exchange: Exchange) -> None:
        answer = exchange.forward()
        _chunked_head(exchange, answer)
        part = _cut(answer, rows, size)
        exchange.send(b"%x\r\n%b" % (max(len(answer.body), len(part) + 1), part))
        exchange.hang_up()

    return fault


def no_last_chunk(*, rows: int | None = None, size: int | None = None) -> Fault:
    """Whole chunks with a part of the body, and the connection closed before the last chunk."""

    def fault(exchange: Exchange) -> None:
        answer = exchange.forward()
        _chunked_head(exchange, answer)
        exchange.send_chunk(_cut(answer, rows, size))
        exchange.hang_up()

    return fault


def reset_midstream(*, rows: int | None = None, size: int | None = None) -> Fault:
    """A part of the body, then a reset (RST)."""

    def fault(exchange: Exchange) -> None:
        _part(exchange, rows, size)
        # Let the client read the part: a reset may overtake what is still on its way.
        exchange.wait(0.05)
        exchange.reset()

    return fault


def reset_before_answer(*, carried_out: bool = False) -> Fault:
    """A reset (RST) instead of an answer, though the store may have carried the request out."""

    def fault(exchange: Exchange) -> None:
        if carried_out:
            exchange.forward()
        exchange.reset()

    return fault


def closed_before_answer(*, carried_out: bool = False) -> Fault:
    """The connection closed (FIN) instead of an answer."""

    def fault(exchange: Exchange) -> None:
        if carried_out:
            exchange.forward()
        exchange.hang_up()

    return fault


def dripped(bytes_per_second: float) -> Fault:
    """The whole body, slowly."""

    def fault(exchange: Exchange) -> None:
        answer = exchange.forward()
        exchange.answer_head(answer)
        step = max(1, round(bytes_per_second / 20))
        for start in range(0, len(answer.body), step):
            exchange.send(answer.body[start : start + step])
            exchange.wait(step / bytes_per_second)

    return fault


def stalled(*, rows: int | None = None, size: int | None = None, head: bool = True) -> Fault:
    """A part of the body and then nothing, for ever; nothing at all without the head."""

    def fault(exchange: Exchange) -> None:
        if head:
            _part(exchange, rows, size)
        exchange.wait()

    return fault


def status(
    code: int,
    body: bytes = b"",
    *,
    retry_after: int | str | datetime | None = None,
    carried_out: bool = False,
) -> Fault:
    """An answer with this status, though the store may have carried the request out.

    Args:
        code: The status.
        body: Plain text.
        retry_after: Seconds or any text, or a moment with a time zone, sent as an HTTP-date.
        carried_out: Whether the store gets the request nevertheless.
    """
    answer = Answer(code, [("Content-Type", "text/plain")], body or f"status {code}\n".encode())
    if isinstance(retry_after, datetime):
        answer = answer.with_header("Retry-After", format_datetime(retry_after, usegmt=True))
    elif retry_after is not None:
        answer = answer.with_header("Retry-After", str(retry_after))

    def fault(exchange: Exchange) -> None:
        if carried_out:
            exchange.forward()
        exchange.answer(answer)

    return fault


def too_many_requests(retry_after: int | datetime) -> Fault:
    """429 with Retry-After: in seconds, or as an HTTP-date of a moment in UTC."""
    return status(429, b"too many requests\n", retry_after=retry_after)


def html_page(code: int = 200) -> Fault:
    """An HTML page instead of a result."""
    return lambda exchange: exchange.answer(Answer(code, [("Content-Type", "text/html")], _HTML))


def header_added(name: str, value: str) -> Fault:
    """The store's answer with a header more."""
    return _edited(lambda answer: answer.with_header(name, value))


def max_rows_header(rows: int = 10_000) -> Fault:
    """The store's whole answer with the header by which Virtuoso says that it may be cut."""
    return header_added("X-SPARQL-MaxRows", str(rows))


def partial_results(rows: int) -> Fault:
    """So many rows and status 200, as Virtuoso answers when its time is over."""

    def edit(answer: Answer) -> Answer:
        cut = answer.with_body(_cut(answer, rows, None, whole=True))
        return cut.with_header("X-SQL-State", "S1TAT").with_header(
            "X-SQL-Message", "RC...: Returning incomplete results, query interrupted by timeout"
        )

    return _edited(edit)


def cancelled(*, rows: int | None = None, size: int | None = None) -> Fault:
    """A part of the body and Oxigraph's message, in chunks that end in good order."""

    def fault(exchange: Exchange) -> None:
        answer = exchange.forward()
        _chunked_head(exchange, answer)
        exchange.send_chunk(_cut(answer, rows, size) + CANCELLED)
        exchange.end_chunks()

    return fault


def repeated_row(row: int = 0) -> Fault:
    """One row twice."""

    def edit(answer: Answer) -> Answer:
        parts = Rows.of(answer)
        return answer.with_body(parts.whole([*parts.rows, parts.rows[row]]))

    return _edited(edit)


def dropped_last_row() -> Fault:
    """All rows but the last."""
    return truncated(rows=-1)


def redirected(code: int, to: str) -> Fault:
    """A redirect to the same path elsewhere, such as another proxy's `base_url`."""

    def fault(exchange: Exchange) -> None:
        exchange.answer(Answer(code, [("Location", to.rstrip("/") + exchange.request.path)]))

    return fault


def content_type(value: str) -> Fault:
    """The store's body under another content type."""
    return header_added("Content-Type", value)


def gzipped(*, declared: bool = True) -> Fault:
    """The store's body compressed, whether or not the client asked for it."""

    def edit(answer: Answer) -> Answer:
        answer = answer.with_body(gzip.compress(answer.body))
        return answer.with_header("Content-Encoding", "gzip") if declared else answer

    return _edited(edit)


def endless() -> Fault:
    """The store's rows over and over, in chunks, until the client leaves."""

    def fault(exchange: Exchange) -> None:
        answer = exchange.forward()
        parts = Rows.of(answer)
        _chunked_head(exchange, answer)
        exchange.send_chunk(parts.begun(parts.rows))
        more = parts.between + parts.between.join(parts.rows)
        block = more * (65536 // len(more) + 1)
        for _ in itertools.repeat(None):
            exchange.send_chunk(block)

    return fault


def _chunked_head(exchange: Exchange, answer: Answer) -> None:
    exchange.send_head(answer.status, [*answer.headers, ("Transfer-Encoding", "chunked")])


def _part(exchange: Exchange, rows: int | None, size: int | None) -> None:
    """The head of the whole body and a part of the body."""
    answer = exchange.forward()
    exchange.answer_head(answer)
    exchange.send(_cut(answer, rows, size))
