"""The hyper-parameters of the vocabulary, from the declarations of the settings.

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

__all__ = ["FILE", "with_hyper_parameters"]

FILE = Path(*metadata.__path__) / "vocabulary.ttl"
_HEAD = (
    "# -- hyper-parameters, named and explained as in kgsync.toml; former names are deprecated "
    "-----------\n"
    "# Written by `python -m kgsync.config.vocabulary`, from the declarations of the settings.\n"
)
_HOME = f"  rdfs:isDefinedBy <{KGE.removesuffix('#')}> .\n"


def with_hyper_parameters(text: str) -> str:
    """The text of a vocabulary whose last part, the hyper-parameters, is written anew."""
    by_hand, _, _ = text.partition(_HEAD.partition("\n")[0])
    return "\n".join([by_hand + _HEAD, *_terms()])


def _terms() -> Iterator[str]:
    published = Settings().hyper_parameters()
    for name, section, _ in every_section(Settings):
        for key, setting in settings_of(section).items() if name in published else ():
            yield _term(name, key, _comment(setting))
            if setting.was:
                replaced = f"  owl:deprecated true ;\n  dcterms:isReplacedBy kge:{name}.{key} ;\n"
                yield _term(name, setting.was, f"Former name of {name}.{key}.", replaced)


def _term(section: str, key: str, comment: str, more: str = "") -> str:
    return (
        f"kge:{section}.{key} a mls:HyperParameter ;\n"
        f'  rdfs:label "{section}: {key.replace("_", " ")}"@en ;\n'
        f'  rdfs:comment "{escaped(comment)}"@en ;\n'
        f"{more}{_HOME}"
    )


def _comment(setting: Setting) -> str:
    text = setting.help
    if setting.type is tuple:
        text += " Published as one string, separated by spaces."
    return f"{text} In the paper: {setting.paper}." if setting.paper else text


if __name__ == "__main__":
    write_file(FILE, with_hyper_parameters(FILE.read_text(encoding="utf-8")))
