"""The sections of the settings, each a frozen dataclass whose fields stand with their defaults."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from kgsync.common.durations import seconds_of

if TYPE_CHECKING:
    from kgsync.graph.stores import StoreTarget

__all__ = [
    "Corruption",
    "Datatype",
    "EndpointSettings",
    "EvaluationSettings",
    "FilterSettings",
    "Literals",
    "ModelSettings",
    "Norm",
    "PublishSettings",
    "RunSettings",
    "ScheduleSettings",
    "SourceSettings",
    "SplitSettings",
    "StartVectors",
    "StateSettings",
    "TrainingSettings",
    "UpdateSettings",
]

StartVectors = Literal["average", "random", "best", "balance", "jumps"]
Norm = Literal["l1", "l2", "l2sq"]
Corruption = Literal["uniform", "bernoulli"]
Literals = Literal["none", "versions", "rolling"]
Datatype = Literal["list", "tensor", "json", "base64"]


@dataclass(frozen=True)
class EndpointSettings:
    """How a SPARQL endpoint is spoken to.

    Secrets come from the environment: KGSYNC_USER, KGSYNC_PASSWORD, KGSYNC_TOKEN.
    """

    update_url: str | None = None
    """Where updates go; without it nothing is written into the store."""
    auth: Literal["none", "basic", "digest", "bearer"] = "none"
    headers: dict[str, str] = field(default_factory=dict, repr=False)
    """Sent with every request."""
    timeout: str = "2m"
    """Time without a byte before an answer is given up."""
    answer_timeout: str = "1h"
    """Time for a whole answer."""
    max_bytes: int = 1 << 36
    """Size of the largest answer."""
    max_rows: int = 0
    """The endpoint's limit on the rows of an answer; 0 finds it out."""
    retries: int = 5
    """How often a request is repeated that failed for a reason that may pass."""

    def applied(self, target: StoreTarget) -> StoreTarget:
        """A target with these settings, if it is the address of an endpoint."""
        if not isinstance(target, str) or not target.lower().startswith(("http://", "https://")):
            return target
        from kgsync.graph.endpoint import Endpoint

        return Endpoint(
            target,
            update_url=self.update_url,
            auth=self.auth,
            headers=self.headers,
            timeout=seconds_of(self.timeout),
            answer_timeout=seconds_of(self.answer_timeout),
            max_bytes=self.max_bytes,
            max_rows=self.max_rows or None,
            retries=self.retries,
        )


@dataclass(frozen=True)
class SourceSettings:
    """Where the graph is and how its versions are found."""

    store: str | None = None
    """Path of an Oxigraph directory or of files, or the URL of a SPARQL endpoint."""
    graphs: str | None = None
    """IRI with `{version}` for one path segment; a plain IRI or "default" for a live graph."""
    catalog: str | None = None
    """Named graph of the version metadata; the default graph if not set."""
    scope: str | None = None
    """File of a query that selects ?s ?p ?o from `GRAPH $graph`: what to embed at all."""
    ready: str | None = None
    """Property that a version's graph has in the catalogue once it is complete. If not set,
    `dcterms:issued` is, where some versions have it."""
    settle: str = "10s"
    """A version that nothing says is complete is taken when it has had the same number of triples
    (on an endpoint), or its files have not been written, for so long."""
    read_whole: str = "1d"
    """How often a live graph is read whole, though counts by hash show no change."""
    start: str = "oldest"
    """First version to take: "oldest", "latest", or a graph IRI."""
    max_removed: float = 0.2
    """A step that would remove a larger share of the edges stops and says so."""
    endpoint: EndpointSettings = field(default_factory=EndpointSettings)


@dataclass(frozen=True)
class StateSettings:
    """Where kgsync keeps what it knows."""

    path: str | None = None
    """State directory; `.kgsync/<name of the store>` if not set."""
    keep: int = 3
    """How many embedding versions keep their files."""


@dataclass(frozen=True)
class FilterSettings:
    """Which edges are embedded."""

    include: tuple[str, ...] = ()
    """Predicates to keep; empty keeps all."""
    exclude: tuple[str, ...] = ()
    """Predicates to drop."""
    min_degree: int = 1
    """Drop entities and relations in fewer edges, until none is left."""


@dataclass(frozen=True)
class SplitSettings:
    """Shares of held-out edges; both 0 trains on everything."""

    validation: float = 0.05
    test: float = 0.05
    key: str = "kgsync"
    """Key of the hash that assigns edges; another key gives another split."""


@dataclass(frozen=True)
class ModelSettings:
    """The scoring model. Values left out take the paper's defaults for that model."""

    name: str = "transe"
    dimension: int = 0
    """Length of the vectors; 0 takes the paper's: 50 for RESCAL, else 100."""
    relation_dimension: int = 0
    """Length of TransD's relation vectors; 0 takes the same as for entities."""
    norm: Norm = "l1"
    """Distance of the translational models; l2sq is the square of l2."""
    margin: float = 1.0
    """γ of the pairwise ranking loss."""
    l2_penalty: float = 0.02
    """Weight of the L2 penalty of DistMult, ANALOGY and ComplEx."""

    def __post_init__(self) -> None:
        from kgsync.models import MODELS

        if self.dimension == 0 and self.name in MODELS:
            object.__setattr__(self, "dimension", MODELS[self.name].dimension)


@dataclass(frozen=True)
class TrainingSettings:
    """Training from scratch (alg. TDSM_offline)."""

    epochs: int = 1000
    batches: int = 100
    """Batches an epoch."""
    steps: Literal["batch", "pair"] = "batch"
    """When vectors move: once a batch, as in the paper, or after every pair of a true and a false
    triple, which is faster; only for TransE, and not with torch."""
    corruption: Corruption = "uniform"
    """Which side of a triple is replaced to make it false: either alike, as in the paper, or, with
    "bernoulli", more often the one that has fewer true answers, by relation."""
    learning_rate: float | None = None
    """Model default: 0.001 (translational), 0.1 (semantic matching)."""
    validate_every: int = 10
    """Epochs between validations; 0 switches validation off."""
    patience: int = 10
    """Validations without a gain in Hits@10 before training stops."""


@dataclass(frozen=True)
class UpdateSettings:
    """Updating (alg. TDSM_online); the paper's parameter names in brackets."""

    start_vectors: StartVectors = "average"
    """Start of new elements (preInit): "average" of those that stay (ave), "random" (ran), or, for
    TransE and TransH, the "best" place for their true triples (pos), its "balance" with false
    ones (neg), or "jumps" away from false ones (neg2)."""
    start_negatives: int = 0
    """False triples for each true one (preNegs); 0 takes 1 for "balance", 4 for "jumps"."""
    jump_rounds: int = 10
    """At most so many rounds of jumps (jumpLim)."""
    jump_size: float = 0.5
    """Length of a jump, as a share of the way to the best place (jumpSize)."""
    pretraining_epochs: int = 50
    """Epochs in which only new elements move (initTimes); 0 leaves their start vectors alone."""
    pretraining_negatives: int = 1
    """False triples for each true one in these epochs (initNegs)."""
    pretraining_learning_rate: float | None = None
    """The rate of training from scratch if not set (initLR)."""
    change_epochs: int = 20
    """Epochs on the added and deleted triples only (csNum)."""
    general_epochs: int = 180
    """Epochs on all training triples (geNum)."""
    change_learning_rate: float | None = None
    """Half of the general rate if not set (csLR)."""
    general_learning_rate: float | None = None
    """A fifth of the rate of training from scratch if not set (geLR)."""
    skip_new_elements: bool = False
    """Leave added triples that touch a new element out of the change epochs (csRestrict)."""
    validate_every: int = 10
    patience: int = 10


@dataclass(frozen=True)
class EvaluationSettings:
    """Link prediction on the held-out edges."""

    validation_sample: int = 3000
    """Rank a fixed, seeded sample of so many validation edges; 0 ranks all."""
    test_sample: int = 2000
    """The same for the quality in the report."""
    stability_sample: int = 1000
    """Estimate how far vectors moved from so many elements, each against all; 0 takes all."""
    memory_mb: int = 256
    """Bound on one block of scores or distances."""


@dataclass(frozen=True)
class PublishSettings:
    """Where the metadata of every version goes, and whether vectors go there too."""

    metadata: bool = True
    literals: Literals = "none"
    """Vectors as literals in the store: "none", a graph for each of the last "versions", or
    "rolling": two graphs that take turns, in which only vectors that moved are replaced."""
    datatype: Datatype = "list"
    """Of the literals: a "list" (cdt:List), a "tensor" (rdf-tensor), "json" (rdf:JSON), or
    "base64" (xsd:base64Binary: 32-bit floats, little-endian)."""
    tolerance: float = 0.0
    """A rolling literal is replaced if its vector moved farther than this (Euclidean)."""
    keep: int = 2
    """How many versions keep their graph of literals."""
    base_url: str | None = None
    """Where the state directory is served; makes the addresses of the files in the metadata."""
    target: str | None = None
    """Store to publish into; the source where it can be written, else one inside the state."""
    graph: str | None = None
    """Named graph of the metadata; `urn:kgsync:<name>` if not set."""
    endpoint: EndpointSettings = field(default_factory=EndpointSettings)
    """If the target is one."""


@dataclass(frozen=True)
class RunSettings:
    """How the work is done."""

    seed: int = 0
    threads: int = 1
    """CPU threads at most; 0 takes all. With 1 the same input and seed give the same vectors."""
    backend: Literal["auto", "cpu", "torch"] = "auto"
    """What computes: compiled kernels on the CPU (auto takes them there), or torch."""
    device: str = "cpu"
    """Where torch trains: any device it knows, as "cuda", "cuda:1" or "mps". On others than the
    CPU, runs need not repeat to the bit."""


@dataclass(frozen=True)
class ScheduleSettings:
    """When `kgsync run` steps, and which changes are worth a step; durations like "15m"."""

    every: str | None = None
    """Time from one run to the next; the first one is at once."""
    cron: str | None = None
    """Instead: a cron line of five fields, in local time."""
    jitter: str = "0s"
    """Put off every run by a random time of at most so long."""
    retries: int = 5
    """After an error that may pass, try so often before waiting for the next regular run."""
    retry_after: str = "10s"
    """Wait about so long before the first such try, and twice as long before each further one."""
    retry_most: str = "10m"
    """But never longer than that."""
    latest_only: bool = False
    """Take the newest graph version only; otherwise every version is a step of its own."""
    max_load: float = 0.1
    """Share of the time that an endpoint may work for this sync: if a run takes it longer, the next
    one is put off."""
    min_change: int = 0
    """Let changes gather until so many triples were added or deleted."""
    max_wait: str = "1d"
    """Take smaller changes, too, once the oldest of them has waited so long."""
