"""`kgsync init`: look at a store, write a commented settings file."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from kgsync.config import EndpointSettings, ModelSettings, Settings, SourceSettings
from kgsync.config.toml_files import build
from kgsync.errors import ConfigError
from kgsync.graph.stores import opened, store_label
from kgsync.source.reading import versions_of

__all__ = ["TEMPLATE", "write_config"]

TEMPLATE = """\
# Settings of kgsync. Commented lines show the defaults; paths are relative to this file.

[source]
store = {store}
{graphs}
# catalog = "http://example.org/catalog"   # named graph of the version metadata; else the default
# scope = "scope.rq"           # a query that selects ?s ?p ?o from GRAPH $graph: what to embed
# ready = "http://purl.org/dc/terms/issued"   # property of a complete version in the catalogue
# settle = "10s"               # else wait until it, or its files, have been at rest so long
# read_whole = "1d"            # how often a live graph is read whole though hashes show no change
# start = "oldest"             # first version: "oldest", "latest", or a graph IRI
# max_removed = 0.2            # stop if a version would remove more than this share of the edges

[source.endpoint]              # secrets: KGSYNC_USER, KGSYNC_PASSWORD, KGSYNC_TOKEN
{update_url}   # without it nothing is written into the store
{auth}                # "basic", "digest" or "bearer"
# headers = {{}}                 # sent with every request
# timeout = "2m"               # without a byte
# answer_timeout = "1h"        # for a whole answer
# max_bytes = 68719476736      # of an answer
# max_rows = 0                 # the endpoint's limit on the rows of an answer; 0 finds it out
# retries = 5

[state]
# path = ".kgsync/name"        # everything kgsync knows; one folder a version
# keep = 3                     # versions whose files are kept

[filter]
# include = []                 # predicates to embed; empty: all
# exclude = []                 # predicates to leave out
# min_degree = 1               # leave out entities and relations in fewer edges

[split]
# validation = 0.05            # share of edges that decide when to stop; 0 for both: train on all
# test = 0.05                  # share of edges that the reported quality is measured on
# key = "kgsync"               # another key, another split

[model]
name = {model}
dimension = {dimension}                # 0: as in the paper, 50 for rescal, 100 for the others
# relation_dimension = 0       # of transd's relations; 0: as for entities
# norm = "l1"                  # distance of the translational models: "l1", "l2" or "l2sq"
# margin = 1.0
# l2_penalty = 0.02            # distmult, analogy and complex

[training]                     # from scratch
# epochs = 1000
# batches = 100                # batches an epoch
# steps = "batch"              # transe may also move vectors after every "pair", which is faster
# corruption = "uniform"       # false edges: other heads and tails alike, or "bernoulli"
# learning_rate = 0.001        # default 0.001 (trans*), 0.1 (the others)
# validate_every = 10          # epochs; 0: never
# patience = 10                # validations without a gain before it stops

[update]                       # to a new version
# start_vectors = "average"    # of new elements: "average", "random"; transe and transh also
#                              # "best", "balance", "jumps"
# start_negatives = 0          # false edges a true one: 0 takes 1 for "balance", 4 for "jumps"
# jump_rounds = 10
# jump_size = 0.5
# pretraining_epochs = 50      # epochs in which only new elements move; 0: none
# pretraining_negatives = 1    # false edges a true one in these epochs
# pretraining_learning_rate = 0.001   # default: training.learning_rate
# change_epochs = 20           # epochs on what was added and deleted
# general_epochs = 180         # epochs on all training edges
# change_learning_rate = 0.0001    # default: half of the next
# general_learning_rate = 0.0002   # default: a fifth of training.learning_rate
# skip_new_elements = false
# validate_every = 10
# patience = 10

[evaluation]
# validation_sample = 3000     # rank so many validation edges, always the same; 0: all
# test_sample = 2000
# stability_sample = 1000      # measure from so many elements how far vectors moved; 0: all
# memory_mb = 256              # bound on one block of scores

[publish]
# metadata = true              # describe every version in the store
# target = "metadata.oxigraph" # publish elsewhere than into the source
# graph = "urn:kgsync:name"    # named graph of the metadata
# base_url = "https://..."     # where the state directory is served, for addresses of the files
# literals = "none"            # vectors as literals in the store, too: a graph for each of the last
#                              # "versions", or two "rolling" ones in which what moved is replaced
# datatype = "list"            # of the literals: "list", "tensor", "json" or "base64"
# tolerance = 0.0              # rolling: leave a literal whose vector moved no farther
# keep = 2                     # versions that keep their graph of literals

[run]
# seed = 0
# threads = 1                  # 0: all; with 1 the same input and seed give the same vectors
# device = "cpu"               # where torch trains: "cuda", "cuda:1", "mps", ...
# backend = "auto"             # what computes the epochs: "cpu" (compiled kernels) or "torch"

[schedule]                     # of kgsync run; durations like "30s", "15m", "2h", "1d"
# every = "15m"                # or
# cron = "0 3 * * *"           # in local time
# jitter = "0s"                # put off every run by a random time of at most so long
# retries = 5                  # tries after an error that may pass, before the next regular run
# retry_after = "10s"          # before the first of them; twice as long before each further one
# retry_most = "10m"           # but never longer
# max_load = 0.1               # share of the time that an endpoint may work for this sync
# latest_only = false          # take the newest version only; else each is a step of its own
# min_change = 0               # let changes gather until so many triples were added or deleted,
# max_wait = "1d"              # or the oldest of them has waited so long
"""


def write_config(
    path: Path,
    store: str,
    graphs: str | None,
    model: str,
    dimension: int | None,
    adopt: Path | None,
    *,
    update_url: str | None,
    auth: str,
    force: bool,
) -> dict[str, Any]:
    """Write the settings file, once the store has shown that it has versions.

    Raises:
        ConfigError: The file is there already, or the answers are impossible.
        KgsyncError: The store cannot be read so.
    """
    if path.exists() and not force:
        raise ConfigError(f"{path} is there already; use --force to overwrite it")
    if store_label(store) != store:
        raise ConfigError(
            "a settings file is no place for credentials: leave them out of the URL, set auth in "
            "[source.endpoint], and KGSYNC_USER and KGSYNC_PASSWORD in the environment"
        )
    if dimension is None:
        dimension = _dimension_of(adopt) if adopt else ModelSettings(model).dimension
    endpoint = build(EndpointSettings, {"auth": auth}, "--auth")
    if update_url is not None:
        endpoint = replace(endpoint, update_url=update_url)
    source = SourceSettings(store=store, graphs=graphs, endpoint=endpoint)
    settings = Settings(source=source, model=ModelSettings(model, dimension))
    with opened(endpoint.applied(store)) as opened_store:
        versions = versions_of(opened_store, settings)
    if versions.order == "live":
        found = f"one live graph, {versions.versions[0].graph or 'the default graph'}"
    else:
        found = f"{len(versions.versions)} graph versions, ordered by {versions.order}"
    shown = f"graphs = {json.dumps(graphs)}" if graphs else '# graphs = "http://.../{version}"'
    # A path typed at the prompt is relative to the prompt, one in the file to the file.
    place = store if "://" in store else _relative(Path(store), path.parent)
    text = TEMPLATE.format(
        store=json.dumps(place),
        graphs=shown,
        model=json.dumps(model),
        dimension=dimension,
        update_url=_setting("update_url", update_url, "http://localhost:8890/sparql-auth"),
        auth=_setting("auth", auth if auth != "none" else None, "none"),
    )
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"cannot write {path}: {error.strerror}") from None
    return {"config": str(path), "found": found, "order": versions.order}


def _setting(name: str, value: str | None, default: str) -> str:
    """A line of the file; a comment if nothing was said."""
    return f"{'# ' if value is None else ''}{name} = {json.dumps(value or default)}"


def _dimension_of(file: Path) -> int:
    from kgsync.state.sidecar import load_vectors

    return int(load_vectors(file)["entity"][1].shape[1])


def _relative(target: Path, folder: Path) -> str:
    target = target.resolve()
    try:
        return str(target.relative_to(folder.resolve()))
    except ValueError:
        return str(target)
