"""The hyper-parameters and datatypes of the vocabulary, from where they are declared.

    python -m kgsync.config.vocabulary

writes that part of `publish/metadata/vocabulary.ttl` anew. The rest of the file is written by hand.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from kgsync.common.declare import Setting, every_section, settings_of
from kgsync.common.durable import write_file
from kgsync.common.rdf_terms import KGE, escaped
from kgsync.config.settings import Settings
from kgsync.publish import metadata
from kgsync.publish.literals.datatypes import DATATYPES

__all__ = ["FILE", "with_declared_terms"]

FILE = Path(*metadata.__path__) / "vocabulary.ttl"
_HEAD = (
    "# -- hyper-parameters, named and explained as in kgsync.toml; former names are deprecated "
    "-----------\n"
    "# Written by `python -m kgsync.config.vocabulary`, from the declarations of the settings.\n"
)
_DATATYPES = (
    "# -- datatypes of kgsync's own "
    "----------------------------------------------------------------------\n"
    "# Written likewise, from the declarations of the literal datatypes.\n"
)
_HOME = f"  rdfs:isDefinedBy <{KGE.removesuffix('#')}> .\n"


def with_declared_terms(text: str) -> str:
    """The text of a vocabulary whose last part, the declared terms, is written anew."""
    by_hand, _, _ = text.partition(_HEAD.partition("\n")[0])
    datatypes = list(_datatypes())
    parts = [
        by_hand + _HEAD,
        *_hyper_parameters(),
        *([_DATATYPES] if datatypes else []),
        *datatypes,
    ]
    return "\n".join(parts)


def _datatypes() -> Iterator[str]:
    """Terms of the datatypes whose IRI is in the namespace of the vocabulary."""
    for declared in DATATYPES.values():
        if declared.iri.startswith(KGE):
            comment = f"Vectors of 32-bit floats, as literals: {declared.help}."
            yield _term(declared.iri.removeprefix(KGE), "rdfs:Datatype", declared.name, comment)


def _hyper_parameters() -> Iterator[str]:
    published = Settings().hyper_parameters()
    for name, section, _ in every_section(Settings):
        for key, setting in settings_of(section).items() if name in published else ():
            yield _hyper_parameter(name, key, _comment(setting))
            if setting.was:
                replaced = f"  owl:deprecated true ;\n  dcterms:isReplacedBy kge:{name}.{key} ;\n"
                yield _hyper_parameter(name, setting.was, f"Former name of {name}.{key}.", replaced)


def _hyper_parameter(section: str, key: str, comment: str, more: str = "") -> str:
    label = f"{section}: {key.replace('_', ' ')}"
    return _term(f"{section}.{key}", "mls:HyperParameter", label, comment, more)


def _term(name: str, of: str, label: str, comment: str, more: str = "") -> str:
    return (
        f"kge:{name} a {of} ;\n"
        f'  rdfs:label "{escaped(label)}"@en ;\n'
        f'  rdfs:comment "{escaped(comment)}"@en ;\n'
        f"{more}{_HOME}"
    )


def _comment(setting: Setting) -> str:
    text = setting.help
    if setting.type is tuple:
        text += " Published as one string, separated by spaces."
    return f"{text} In the paper: {setting.paper}." if setting.paper else text


if __name__ == "__main__":
    write_file(FILE, with_declared_terms(FILE.read_text(encoding="utf-8")))
