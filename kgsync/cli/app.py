"""The commands of `kgsync`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kgsync import __version__
from kgsync.cli import reading, snapshots
from kgsync.cli.options import CONFIG, Config, Json, opened_sync
from kgsync.cli.output import output
from kgsync.cli.reports import show_plan, show_report

__all__ = ["app"]

_EXIT_CODES = (
    "Exit codes: 0 success; 2 wrong usage or settings; 3 try again later (store or state busy or "
    "unreachable); 4 store or graph versions unusable; 5 state empty, damaged or made with other "
    "settings; 6 a guard rejects the new version, such as one that removes too many edges; 7 "
    "unknown IRI; 130 interrupted; 1 other error."
)

app = typer.Typer(
    name="kgsync",
    help="Keep knowledge-graph embeddings in step with a live RDF store.",
    epilog=_EXIT_CODES,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(snapshots.app, name="snapshots")

LargeRemoval = Annotated[
    bool, typer.Option("--allow-large-removal", help="Continue even if too many edges are removed.")
]


@app.callback(invoke_without_command=True)
def _version(
    version: Annotated[bool, typer.Option("--version", help="Show the version.")] = False,
) -> None:
    if version:
        output.text(f"kgsync {__version__}")
        raise typer.Exit


@app.command()
def init(
    store: Annotated[
        str, typer.Argument(help="Oxigraph directory, RDF files, or URL of a SPARQL endpoint.")
    ],
    graphs: Annotated[
        str | None, typer.Option(help="Graph IRI with {version}, or the IRI of one live graph.")
    ] = None,
    model: Annotated[str, typer.Option(help="Embedding model.")] = "transe",
    dimension: Annotated[int | None, typer.Option(help="Dimension of the vectors.")] = None,
    adopt: Annotated[
        Path | None, typer.Option("--from", help="Adopt existing vectors as the first version.")
    ] = None,
    update_url: Annotated[
        str | None, typer.Option(help="SPARQL Update URL, if kgsync writes to the endpoint.")
    ] = None,
    auth: Annotated[
        str, typer.Option(help="Authentication at the endpoint: none, basic, digest, bearer.")
    ] = "none",
    config: Config = CONFIG,
    force: Annotated[bool, typer.Option(help="Overwrite an existing settings file.")] = False,
    json: Json = False,
) -> None:
    """Inspect a store and write a commented settings file for it."""
    output.json = json
    from kgsync.cli.init import removing_new_state, restoring, write_config

    report = None
    with restoring(config):  # so that the command can be run again
        answer = write_config(
            config,
            store,
            graphs,
            model,
            dimension,
            adopt,
            update_url=update_url,
            auth=auth,
            force=force,
        )
        if adopt is not None:
            with opened_sync(config) as sync, removing_new_state(sync.state):
                report = sync.adopt(adopt)
    output.text(f"wrote {config}: {answer['found']}")
    if report is not None:
        show_report(report)
    output.data({**answer, "report": report.to_json() if report else None})
    output.text("next: kgsync plan, then kgsync step")


@app.command()
def settings(
    wanted: Annotated[
        str | None,
        typer.Argument(
            metavar="[SECTION]", help="Section, or setting like update.patience; default: all."
        ),
    ] = None,
    markdown: Annotated[bool, typer.Option("--markdown", help="Print Markdown.")] = False,
    json_schema: Annotated[
        bool, typer.Option("--json-schema", help="Print a JSON Schema of the file, for editors.")
    ] = False,
    json: Json = False,
) -> None:
    """Explain the settings: type, default, bounds, and the name in the paper."""
    output.json = json
    from kgsync.cli.settings import show_settings

    show_settings(wanted, markdown=markdown, json_schema=json_schema)


@app.command()
def check(
    store: Annotated[
        str | None,
        typer.Argument(help="URL or path of the store; default: the one in the settings."),
    ] = None,
    graphs: Annotated[
        str | None, typer.Option(help="Graph IRI with {version}, or the IRI of one live graph.")
    ] = None,
    auth: Annotated[
        str | None,
        typer.Option(help="Authentication at the endpoint: none, basic, digest, bearer."),
    ] = None,
    update_url: Annotated[str | None, typer.Option(help="SPARQL Update URL.")] = None,
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Check a store: its type, features and permissions, and how kgsync would read it."""
    output.json = json
    from kgsync.cli.check import check_store

    if not check_store(store, graphs, config, auth, update_url):
        raise typer.Exit(4)


@app.command()
def plan(config: Config = CONFIG, json: Json = False) -> None:
    """Show what the next step would do, without changing anything."""
    output.json = json
    with opened_sync(config) as sync:
        found = sync.plan()
    output.data(found.to_json())
    show_plan(found)


@app.command()
def step(
    config: Config = CONFIG,
    all_: Annotated[bool, typer.Option("--all", help="Repeat until nothing is new.")] = False,
    allow_large_removal: LargeRemoval = False,
    now: Annotated[
        bool, typer.Option("--now", help="Take even a change below min_change.")
    ] = False,
    json: Json = False,
) -> None:
    """Take the next graph version: update the vectors, commit and publish them."""
    output.json = json
    with opened_sync(config) as sync:
        while True:
            report = sync.step(allow_large_removal=allow_large_removal, now=now)
            show_report(report)
            output.committed += [report.to_json()] if report.changed else []
            if not all_ or not report.changed or report.behind == 0:
                break
    output.data(output.committed if all_ else report.to_json())


@app.command()
def run(
    config: Annotated[
        list[Path], typer.Option("--config", "-c", help="Settings file; repeat for more graphs.")
    ] = [CONFIG],  # noqa: B006
    every: Annotated[
        str | None, typer.Option(help="Interval between runs, like 30s, 15m, 2h, 1d.")
    ] = None,
    cron: Annotated[str | None, typer.Option(help="Or: cron expression, local time.")] = None,
    json: Json = False,
) -> None:
    """Run steps on a schedule until SIGTERM or Ctrl-C; `kgsync status` shows the progress.

    A second signal ends the process at once. Graphs of several settings files run in turn.
    """
    output.json = json
    from kgsync.cli.run import run_schedule

    run_schedule(config, every, cron)


@app.command()
def rebuild(
    aligned: Annotated[
        bool,
        typer.Option("--aligned", help="Keep the space of the vectors: consumers need no refit."),
    ] = False,
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Train from scratch on the newest graph version with the current settings."""
    output.json = json
    with opened_sync(config) as sync:
        report = sync.rebuild(aligned=aligned)
    output.data(report.to_json())
    show_report(report)


@app.command()
def rollback(
    version: Annotated[int, typer.Argument(help="Number of a version that still has its files.")],
    config: Config = CONFIG,
    json: Json = False,
) -> None:
    """Make an older version current again, in the state and in the store.

    The next step continues from that version and takes the later graph versions again.
    """
    output.json = json
    with opened_sync(config) as sync:
        sync.rollback(version)
        found = sync.status()
    output.data(found.to_json())
    output.text(f"version {found.version} of {found.graph_version} is current again")


@app.command()
def accept(config: Config = CONFIG, json: Json = False) -> None:
    """Accept what paused the sync, like a large removal, so that it is applied."""
    output.json = json
    with opened_sync(config) as sync:
        sync.accept()
        found = sync.status()
    output.data(found.to_json())
    running = found.run is not None and found.run.running
    when = "the running schedule applies it now" if running else "`kgsync step` applies it"
    output.text(f"accepted: {when}")


@app.command()
def compact(config: Config = CONFIG, json: Json = False) -> None:
    """Rewrite an embedded store to free the disk space of deleted literals."""
    output.json = json
    with opened_sync(config) as sync:
        before, after = sync.compact()
    output.data({"bytes_before": before, "bytes_after": after})
    output.text(f"{before / 2**20:,.1f} MB before, {after / 2**20:,.1f} MB after")


@app.command()
def backtest(
    config: Config = CONFIG,
    out: Annotated[Path, typer.Option(help="Folder for the results.")] = Path("backtest"),
    models: Annotated[
        str, typer.Option(help="Models, separated by commas; default: the one in the settings.")
    ] = "",
    methods: Annotated[
        str,
        typer.Option(
            help="Methods, separated by commas: update (as the settings say), frozen (no update), "
            "scratch (retraining from scratch), or update strategies by name: paper, local, wide, "
            "aligned (the strategy retrain), ...; default: update,frozen,scratch."
        ),
    ] = "",
    first: Annotated[int, typer.Option(help="First version, counted from 0.")] = 0,
    last: Annotated[int | None, typer.Option(help="Last version; default: the newest.")] = None,
    plots: Annotated[
        bool | None, typer.Option(help="Draw figures; default: if matplotlib is installed.")
    ] = None,
    json: Json = False,
) -> None:
    """Compare update strategies, retraining and a frozen baseline over the versions of a graph.

    To continue an interrupted backtest, run it again with the same settings and folder.
    """
    output.json = json
    from kgsync.cli.backtest import run_backtest

    run_backtest(config, out, _names(models), _names(methods), first, last, plots=plots)


for _command in (
    reading.status,
    reading.neighbors,
    reading.predict,
    reading.moves,
    reading.export,
    reading.query,
):
    app.command()(_command)


@app.command()
def demo(
    folder: Annotated[Path, typer.Argument(help="Folder; must be new, empty or a demo.")] = Path(
        "kgsync-demo"
    ),
    json: Json = False,
) -> None:
    """Build an evolving graph in an embedded store, sync all its versions, show the results."""
    output.json = json
    from kgsync.cli.demo import run_demo

    with output.listening() as listener:
        run_demo(folder, listener)


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]
