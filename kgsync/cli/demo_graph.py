"""An invented world of people, places and works that changes from year to year.

Its facts are consistent: a person speaks the language of the country they were born in, a work is
written in its maker's language and genre, academies belong to countries. So a model that has
learned the graph can predict facts that were held out.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

__all__ = ["BASE", "HEROINE", "DemoWorld"]

BASE = "http://demo.example/"
HEROINE = f"{BASE}person/Mara_Ilves"
"""Moves to another country in version 4 and takes up another art."""

Edge = tuple[str, str, str]

_FIRST = tuple(
    re.findall(
        r"\w+", "Ada Bela Caro Dario Elin Farid Gita Hugo Iris Jonas Kaia Levi Maia Nico Oda Pavel"
    )
)
_LAST = tuple(
    re.findall(
        r"\w+",
        "Aster Brandt Corvo Duval Ekholm Ferro Grau Holt Ivers Jansen Kovar Lund Moreau Novak",
    )
)
_ENDINGS = ("", "ova", "sen", "elli", "ard", "sky", "man", "ez", "oglu", "ic")
_PLACES = tuple(
    re.findall(
        r"\w+", "Al Bor Cas Dun Esk Fal Gren Har Isk Jor Kel Lom Mar Nor Os Pel Quin Ros Sel Tor"
    )
)
_ARTS = {
    "writer": ("novel", "poetry", "essay", "crime", "fantasy"),
    "composer": ("opera", "symphony", "chamber", "jazz", "choral"),
    "painter": ("portrait", "landscape", "abstract", "mural", "still-life"),
    "director": ("drama", "comedy", "documentary", "thriller", "western"),
}


def _iri(kind: str, name: str) -> str:
    return f"{BASE}{kind}/{name.replace(' ', '_')}"


def _relation(name: str) -> str:
    return f"{BASE}ontology/{name}"


@dataclass
class _Person:
    iri: str
    home: str
    """City of birth."""
    city: str
    """City of residence."""
    art: str
    genre: str
    works: list[tuple[str, str]] = field(default_factory=list)
    """(work, genre)"""
    influences: list[str] = field(default_factory=list)
    prizes: list[str] = field(default_factory=list)


class DemoWorld:
    """The world; `facts` is its graph now, `pass_a_year` changes it."""

    def __init__(self, seed: int = 7, people: int = 1500) -> None:
        """Invent a world.

        Args:
            seed: Same seed, same world.
            people: How many people live in it at first.
        """
        self._random = random.Random(seed)  # noqa: S311 - a story, not a secret
        self._names: set[str] = set()
        self.year = 1
        self._countries = [_iri("country", f"{place}land") for place in _PLACES]
        self._language = {
            country: _iri("language", f"{_PLACES[i % 12]}ish")
            for i, country in enumerate(self._countries)
        }
        self._cities = {
            _iri("city", f"{a}{b}".capitalize()): self._countries[(i * 7 + j) % len(_PLACES)]
            for i, a in enumerate(_PLACES)
            for j, b in enumerate(("by", "ham", "stad", "ville", "polis", "gard", "mouth", "field"))
        }
        self._by_country: dict[str, list[str]] = {country: [] for country in self._countries}
        for city, country in self._cities.items():
            self._by_country[country].append(city)
        self._people: dict[str, _Person] = {}
        self._known_for: dict[str, str] = {}
        heroine = self._new_person("Mara Ilves", city=self._by_country[self._countries[0]][0])
        heroine.art, heroine.genre = "writer", "poetry"
        self._give_works(heroine, 4)
        for _ in range(people - 1):
            self._give_works(self._new_person(), self._random.choice((0, 1, 1, 1, 2, 3)))
        for person in list(self._people.values()):
            self._give_influences(person)
        self._remember()

    def pass_a_year(self) -> None:
        """Deaths, births, new works, moves, corrections; now and then a new kind of fact."""
        self.year += 1
        people = [p for p in self._people.values() if p.iri != HEROINE]
        for person in self._random.sample(people, 40):
            del self._people[person.iri]
        for person in self._people.values():
            person.influences = [iri for iri in person.influences if iri in self._people]
        active = [p for p in self._people.values() if p.iri != HEROINE]
        for person in self._random.sample(active, 60):  # moved house
            person.city = self._random.choice(list(self._cities))
        for person in self._random.sample(active, 30):  # wrongly attributed works
            person.works = person.works[:-1]
        for person in self._random.sample(active, 90):
            self._give_works(person, 1)
        for _ in range(60):
            person = self._new_person()
            self._give_works(person, self._random.choice((1, 1, 2)))
            self._give_influences(person)
        if self.year == 4:
            self._move_heroine()
        if self.year >= 3:
            self._award_prizes()
        self._remember()

    def facts(self) -> Iterator[Edge]:
        """All facts between things, as (subject, predicate, object) IRIs."""
        for country, language in self._language.items():
            yield country, _relation("officialLanguage"), language
            yield country, _relation("type"), _iri("class", "Country")
        for city, country in self._cities.items():
            yield city, _relation("locatedIn"), country
            yield city, _relation("type"), _iri("class", "City")
        for art, genres in _ARTS.items():
            for genre in genres:
                yield _iri("genre", genre), _relation("genreOf"), _iri("art", art)
        for person in self._people.values():
            yield from self._facts_about(person)

    def describe(self, iri: str) -> str:
        """What someone is or was known for."""
        return self._known_for.get(iri, "")

    def labels(self) -> Iterator[tuple[str, str]]:
        """(IRI, name) of every person: literals, which are not embedded."""
        for iri in self._people:
            yield iri, iri.rpartition("/")[2].replace("_", " ")

    def _remember(self) -> None:
        for person in self._people.values():
            country = self._cities[person.home].rpartition("/")[2]
            self._known_for[person.iri] = f"{person.genre}, {country}"

    def _facts_about(self, person: _Person) -> Iterator[Edge]:
        country = self._cities[person.home]
        yield person.iri, _relation("type"), _iri("class", person.art.capitalize())
        yield person.iri, _relation("bornIn"), person.home
        yield person.iri, _relation("livesIn"), person.city
        yield person.iri, _relation("citizenOf"), country
        yield person.iri, _relation("speaks"), self._language[country]
        yield person.iri, _relation("worksAs"), _iri("art", person.art)
        yield person.iri, _relation("knownFor"), _iri("genre", person.genre)
        # The academies are dissolved in version 5: a relation and its entities leave the graph.
        if self.year < 5:
            academy = f"{country.rpartition('/')[2]} Academy of {person.art.capitalize()}s"
            yield person.iri, _relation("memberOf"), _iri("academy", academy)
        for iri in person.influences:
            yield person.iri, _relation("influencedBy"), iri
        for prize in person.prizes:
            yield person.iri, _relation("won"), prize
        for work, genre in person.works:
            yield work, _relation("createdBy"), person.iri
            yield work, _relation("hasGenre"), _iri("genre", genre)
            yield work, _relation("inLanguage"), self._language[country]
            yield work, _relation("firstShownIn"), person.city

    def _new_person(self, name: str | None = None, city: str | None = None) -> _Person:
        pick = self._random.choice
        while name is None or name in self._names:
            name = f"{pick(_FIRST)} {pick(_LAST)}{pick(_ENDINGS)}"
            if self._random.random() < 0.3:
                name += f" {pick('ABCDEFGHIKLMNOPRSTVW')}"
        self._names.add(name)
        home = city or pick(list(self._cities))
        stays = self._random.random() < 0.7
        residence = (
            pick(self._by_country[self._cities[home]]) if stays else pick(list(self._cities))
        )
        art = pick(list(_ARTS))
        # Each country leans to some genres, so that place and taste are related.
        lean = self._countries.index(self._cities[home])
        genre = _ARTS[art][lean % 5] if self._random.random() < 0.6 else pick(_ARTS[art])
        person = _Person(_iri("person", name), home, residence, art, genre)
        self._people[person.iri] = person
        return person

    def _give_works(self, person: _Person, count: int) -> None:
        for _ in range(count):
            title = f"{person.iri.rpartition('/')[2]} op {len(person.works) + 1} y{self.year}"
            own = self._random.random() < 0.8
            genre = person.genre if own else self._random.choice(_ARTS[person.art])
            person.works.append((_iri("work", title), genre))

    def _give_influences(self, person: _Person) -> None:
        """Influences come from the same genre, or at least the same art."""
        same_genre = [
            other.iri
            for other in self._people.values()
            if other.genre == person.genre and other.iri != person.iri
        ]
        count = min(self._random.choice((0, 1, 2)), len(same_genre))
        person.influences = self._random.sample(same_genre, count)

    def _move_heroine(self) -> None:
        heroine = self._people[HEROINE]
        heroine.home = heroine.city = self._by_country[self._countries[9]][1]
        heroine.art, heroine.genre = "composer", "opera"
        heroine.works = []
        self._give_works(heroine, 5)
        self._give_influences(heroine)

    def _award_prizes(self) -> None:
        """From version 3 on there are prizes, one for each genre."""
        for person in self._random.sample(list(self._people.values()), 60):
            person.prizes.append(_iri("prize", f"Prize for {person.genre}"))
