"""Run a benchmark and put what it prints into RESULTS.md, in place of what it printed last.

`python -m tests.benchmarks.record TITLE MODULE [ARGUMENT ...]`
"""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

_RESULTS = Path(__file__).with_name("RESULTS.md")


def replaced(text: str, title: str, body: str) -> str:
    """The text with another body below the heading `## title`, which is added if it is not there.

    Args:
        text: Markdown.
        title: What the section is called.
        body: Its new body.
    """
    first, *sections = text.split("\n## ")
    bodies = dict(section.partition("\n")[::2] for section in sections)
    bodies[title] = f"\n{body.strip()}\n"
    parts = [first.rstrip(), *(f"{name}\n\n{told.strip()}" for name, told in bodies.items())]
    return "\n\n## ".join(parts) + "\n"


def main() -> None:
    """Show what the benchmark prints while it runs; keep it once it has come to its end."""
    title, module, *arguments = sys.argv[1:]
    lines = []
    command = [sys.executable, "-m", module, *arguments]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as running:
        assert running.stdout is not None
        for line in running.stdout:
            print(line, end="", flush=True)
            lines.append(line)
    if running.returncode:
        sys.exit(running.returncode)
    if lines and lines[-1].startswith("Skipped:"):
        return
    called = " ".join(["python -m", module, *arguments])
    text = _RESULTS.read_text(encoding="utf-8")
    body = f"`{called}`\n\n{''.join(lines)}"
    _RESULTS.write_text(replaced(text, title, body), encoding="utf-8")


if __name__ == "__main__":
    main()
