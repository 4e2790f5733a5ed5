"""The vocabulary: every term that is in use, and no other setting, model or datatype."""

from __future__ import annotations

import re
import tarfile
from dataclasses import replace
from importlib import resources
from pathlib import Path

import pytest
from rdflib import DCTERMS, OWL, RDF, RDFS, Graph, Literal, URIRef

from kgsync import Settings
from kgsync.common.declare import Setting, every_section, settings_of
from kgsync.config.vocabulary import FILE, with_declared_terms
from kgsync.models import MODELS
from kgsync.publish.literals.datatypes import DATATYPES
from kgsync.publish.metadata.description import KGE, MLS, describe
from kgsync.state.directory import State
from tests.publish.described import NAME, SHAPES, VOCABULARY
from tests.saved.histories import FOLDER


def declared(of: URIRef | None = None) -> set[str]:
    found = {s for s in VOCABULARY.subjects(RDF.type, of) if str(s).startswith(str(KGE))}
    return {str(term).removeprefix(str(KGE)) for term in found}


def own_terms(graph: Graph) -> set[str]:
    found = {t for triple in graph for t in triple if isinstance(t, URIRef) and t in KGE}
    return {str(term).removeprefix(str(KGE)) for term in found}


def test_every_term_has_a_label_a_comment_and_a_home() -> None:
    for term in {*VOCABULARY.subjects(RDF.type)}:
        for said in (RDFS.label, RDFS.comment, RDFS.isDefinedBy):
            assert len(list(VOCABULARY.objects(term, said))) == 1, (term, said)
    assert own_terms(VOCABULARY) == declared()


def test_every_term_in_use_is_in_the_vocabulary(metadata: Graph) -> None:
    assert own_terms(metadata) <= declared()
    assert own_terms(SHAPES) <= declared()
    for file in resources.files("kgsync.queries").iterdir():
        if file.name.endswith(".rq"):
            used = set(re.findall(r"\bkge:(\w+(?:\.\w+)*)", file.read_text(encoding="utf-8")))
            assert used <= declared(), file.name


def hyper_parameters() -> dict[str, Setting]:
    published = Settings().hyper_parameters()
    return {
        f"{name}.{key}": setting
        for name, section, _ in every_section(Settings)
        for key, setting in settings_of(section).items()
        if name in published
    }


def test_the_vocabulary_has_exactly_the_hyper_parameters_and_models_there_are() -> None:
    sections = Settings().hyper_parameters()
    names = {f"{section}.{name}" for section, chosen in sections.items() for name in chosen}
    former = {str(term).removeprefix(str(KGE)) for term in VOCABULARY.subjects(OWL.deprecated)}
    assert declared(MLS.HyperParameter) == names | former
    assert not names & former
    assert declared(MLS.Algorithm) == set(MODELS)


def test_the_written_terms_are_those_that_the_rooms_declare() -> None:
    text = FILE.read_text(encoding="utf-8")
    assert with_declared_terms(text) == text, "run `python -m kgsync.config.vocabulary`"


def test_hyper_parameters_are_explained_as_where_they_are_declared() -> None:
    for name, setting in hyper_parameters().items():
        assert str(VOCABULARY.value(KGE[name], RDFS.comment)).startswith(setting.help), name


def test_the_vocabulary_has_exactly_the_datatypes_of_its_namespace() -> None:
    own = {URIRef(each.iri) for each in DATATYPES.values() if each.iri.startswith(str(KGE))}
    assert {KGE[name] for name in declared(RDFS.Datatype)} == own


def test_a_datatype_of_our_own_becomes_a_term(monkeypatch: pytest.MonkeyPatch) -> None:
    given = DATATYPES["base64"]
    own = replace(given, name="own", iri=f"{KGE}own", help='a "list"')
    text = FILE.read_text(encoding="utf-8")
    with monkeypatch.context() as patch:
        patch.setattr("kgsync.config.vocabulary.DATATYPES", {"base64": given, "own": own})
        written = with_declared_terms(text)
        assert with_declared_terms(written) == written
    term, graph = KGE["own"], Graph().parse(data=written, format="turtle")
    assert set(graph.subjects(RDF.type, RDFS.Datatype)) == {term}
    assert str(graph.value(term, RDFS.comment)).endswith(': a "list".')
    assert set(graph.predicates(term)) == {RDF.type, RDFS.label, RDFS.comment, RDFS.isDefinedBy}
    rest = with_declared_terms(written)  # as when the datatype is gone
    assert rest == text


def test_a_version_that_was_made_under_former_names_can_still_be_described(tmp_path: Path) -> None:
    with tarfile.open(FOLDER / "state-named-seeds.tar.gz") as archive:
        archive.extractall(tmp_path, filter="data")
    version = State(tmp_path / "state").version(3)
    assert "start_vectors" in version.manifest.settings["update"]
    graph = describe(NAME, "owner", version.manifest, tmp_path / "state" / "000003")
    assert (None, MLS.specifiedBy, KGE["update.start_vectors"]) in graph
    assert own_terms(graph) <= declared()


def test_former_names_of_hyper_parameters_are_deprecated() -> None:
    replaced = {
        KGE[f"{name.partition('.')[0]}.{setting.was}"]: KGE[name]
        for name, setting in hyper_parameters().items()
        if setting.was
    }
    assert dict(VOCABULARY.subject_objects(DCTERMS.isReplacedBy)) == replaced
    assert set(VOCABULARY.subjects(OWL.deprecated, Literal(True))) == set(replaced)
