"""The order of versions: by chain, by date, by name; and what comes after the current one."""

from __future__ import annotations

import pytest

from kgsync.errors import VersionError
from kgsync.graph.versions import GraphVersion, VersionList, find_versions
from tests.graph.catalogues import CATALOG, KG, STORES, TEMPLATE, full, names_of, short, store_with


def versions(
    names: str, catalogue: str = "", *, kind: str = "oxigraph", catalog: str | None = None
) -> VersionList:
    store = store_with(kind, names.split(), catalogue, catalog=catalog)
    return find_versions(store, TEMPLATE, catalog)


def after(found: VersionList, current: str | None, start: str = "oldest") -> list[str]:
    at = None if current is None else GraphVersion(full(current), full(current))
    return short(version.name for version in found.after(at, start))


# -- chain -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("catalog", [None, CATALOG])
def test_a_chain_may_mix_both_properties(kind: str, catalog: str | None) -> None:
    catalogue = (
        "kg:b dcat:previousVersion kg:c ."
        "kg:a prov:wasRevisionOf kg:b ; dcat:previousVersion kg:b ."
        "kg:d prov:wasRevisionOf kg:a ."
    )
    found = versions("a b c d", catalogue, kind=kind, catalog=catalog)
    assert (found.order, names_of(found)) == ("chain", ["c", "b", "a", "d"])
    assert short(found.chain) == ["c", "b", "a", "d"]


def test_a_chain_goes_before_dates_and_names() -> None:
    catalogue = (
        "kg:1 dcterms:issued '2020' ; dcat:previousVersion kg:2 . kg:2 dcterms:issued '2021' ."
    )
    found = versions("1 2", catalogue)
    assert names_of(found) == ["2", "1"]


def test_a_version_of_a_chain_keeps_its_date() -> None:
    catalogue = "kg:2 dcat:previousVersion kg:1 ; dcterms:issued '2021' ."
    assert [version.issued for version in versions("1 2", catalogue).versions] == [None, "2021"]


def test_a_chain_leads_through_versions_whose_graphs_are_gone() -> None:
    catalogue = "".join(
        f"kg:{after} dcat:previousVersion kg:{before} ."
        for before, after in ("ab", "bc", "cd", "de", "ef")
    )
    found = versions("e b", catalogue)
    assert names_of(found) == ["b", "e"]
    assert short(found.chain) == list("abcdef")


def test_a_chain_is_known_by_its_first_version_alone() -> None:
    """Only the oldest graph is left; that others followed it is in the catalogue."""
    found = versions("z", "kg:a dcat:previousVersion kg:z .")
    assert after(found, "a") == []


def test_a_fork_names_the_graphs() -> None:
    with pytest.raises(VersionError, match=f"forks: <{KG}b> and <{KG}c>.*<{KG}a>"):
        versions("a b c", "kg:b dcat:previousVersion kg:a . kg:c prov:wasRevisionOf kg:a .")


def test_a_fork_through_a_graph_that_is_gone_is_still_a_fork() -> None:
    with pytest.raises(VersionError, match="forks"):
        versions("a c", "kg:b dcat:previousVersion kg:a . kg:c dcat:previousVersion kg:a .")


@pytest.mark.parametrize(
    "unrelated",
    [
        "kg:x\\/2 dcat:previousVersion kg:x\\/1 . kg:x\\/3 dcat:previousVersion kg:x\\/1 .",
        "kg:x\\/2 dcat:previousVersion kg:x\\/1 , kg:x\\/0 .",
        "kg:x\\/1 dcat:previousVersion kg:x\\/2 . kg:x\\/2 dcat:previousVersion kg:x\\/1 .",
    ],
    ids=["fork", "two previous", "circle"],
)
def test_another_data_set_of_the_catalogue_does_not_matter(unrelated: str) -> None:
    found = versions("a b", "kg:a dcat:previousVersion kg:b ." + unrelated)
    assert names_of(found) == ["b", "a"]


@pytest.mark.parametrize(
    ("names", "links"),
    [("a", ["aa"]), ("a b", ["ab", "ba"]), ("a b c", ["ab", "bc", "ca"]), ("a", ["ab", "ba"])],
)
def test_a_circle_names_the_graphs(names: str, links: list[str]) -> None:
    catalogue = "".join(f"kg:{link[0]} dcat:previousVersion kg:{link[1]} ." for link in links)
    with pytest.raises(VersionError, match=f"cycle: .*<{KG}a>"):
        versions(names, catalogue)


def test_a_broken_chain_names_the_graphs_that_are_cut_off() -> None:
    catalogue = "kg:b dcat:previousVersion kg:a . kg:d dcat:previousVersion kg:c ."
    with pytest.raises(VersionError, match=f"broken: <{KG}c>, <{KG}d> cannot be reached") as error:
        versions("a b c d", catalogue)
    assert "dcat:previousVersion" in str(error.value)


def test_a_graph_outside_the_chain_breaks_it() -> None:
    with pytest.raises(VersionError, match=f"broken: <{KG}c>"):
        versions("a b c", "kg:b dcat:previousVersion kg:a .")


def test_two_previous_versions_are_named() -> None:
    with pytest.raises(VersionError, match=f"<{KG}c> has several previous versions") as error:
        versions("a b c", "kg:c dcat:previousVersion kg:a ; prov:wasRevisionOf kg:b .")
    assert f"<{KG}a>" in str(error.value)
    assert f"<{KG}b>" in str(error.value)


def test_a_previous_version_that_is_no_iri_is_no_link() -> None:
    found = versions("1 2", "kg:2 dcat:previousVersion '1' . kg:1 prov:wasRevisionOf [] .")
    assert (found.order, names_of(found)) == ("name", ["1", "2"])


# -- issued ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", STORES)
def test_dates_compare_as_moments_whatever_their_form(kind: str) -> None:
    dates = {
        "d": "'2021-06-01T00:30:00+02:00'^^xsd:dateTime",  # 31 May, 22:30 UTC
        "c": "'2021-05-31T23:00:00Z'^^xsd:dateTime",
        "a": "'2021-06-01'^^xsd:date",
        "e": "'2021'^^xsd:gYear",
        "b": "'2021-07'^^xsd:gYearMonth",
        "f": "'2021-05-31T18:00:00.5-05:00'^^xsd:dateTime",  # 31 May, 23:00:00.5 UTC
        "g": "'2021-06-01T00:00:01'",
    }
    catalogue = "".join(f"kg:{name} dcterms:issued {date} ." for name, date in dates.items())
    found = versions(" ".join(dates), catalogue, kind=kind)
    assert (found.order, names_of(found)) == ("issued", ["e", "d", "c", "f", "a", "g", "b"])


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("'2021-06-01Z'^^xsd:date", "'2021-06-02Z'^^xsd:date"),
        ("'2021-06-01+05:00'^^xsd:date", "'2021-06-01+02:00'^^xsd:date"),
        ("'2020Z'^^xsd:gYear", "'2021Z'^^xsd:gYear"),
    ],
)
def test_a_date_may_have_a_time_zone(first: str, second: str) -> None:
    found = versions("a b", f"kg:b dcterms:issued {first} . kg:a dcterms:issued {second} .")
    assert names_of(found) == ["b", "a"]


def test_a_version_keeps_its_date_as_the_catalogue_has_it() -> None:
    found = versions("a", "kg:a dcterms:issued '2021-06-01'^^xsd:date .")
    assert found.versions == (GraphVersion(KG + "a", KG + "a", "2021-06-01"),)


def test_graphs_that_are_not_issued_yet_are_pending() -> None:
    found = versions("a b c", "kg:b dcterms:issued '2021' .")
    assert names_of(found) == ["b"]
    assert short(found.pending) == ["a", "c"]


@pytest.mark.parametrize("other", ["'2021-01-01'^^xsd:date", "'2021-01-01T02:00:00+02:00'"])
def test_the_same_moment_twice_names_both_graphs(other: str) -> None:
    with pytest.raises(VersionError, match=f"<{KG}a> and <{KG}b> have the same dcterms:issued"):
        versions("a b", f"kg:a dcterms:issued '2021' . kg:b dcterms:issued {other} .")


def test_two_dates_of_one_graph_are_an_error() -> None:
    with pytest.raises(VersionError, match=f"<{KG}a> has several dcterms:issued.*2021.*"):
        versions("a b", "kg:a dcterms:issued '2021', '2022' .")


@pytest.mark.parametrize("date", ["'yesterday'", "''", "'2021-13-01'", "<urn:x>", "'21'"])
def test_a_bad_date_names_the_graph(date: str) -> None:
    with pytest.raises(VersionError, match=f"<{KG}a> has a dcterms:issued that is not a date"):
        versions("a b", f"kg:a dcterms:issued {date} . kg:b dcterms:issued '2021' .")


# -- name ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "ordered",
    ["v2 v10", "1.9.2 1.10.0 2.0", "2015Q1 2015Q2 2016Q1", "2019-12-31 2020-01-01", "a a1 a2b a10"],
)
def test_numbers_in_names_compare_as_numbers(ordered: str) -> None:
    found = versions(" ".join(reversed(ordered.split())))
    assert (found.order, names_of(found)) == ("name", ordered.split())


def test_a_digit_that_is_no_number_does_not_matter() -> None:
    assert names_of(versions("1² 2² 2")) == ["1²", "2", "2²"]


# -- what comes after ------------------------------------------------------------------------------

CHAIN = "kg:z dcat:previousVersion kg:m . kg:m dcat:previousVersion kg:a ."
DATES = "kg:z dcterms:issued '2020' . kg:m dcterms:issued '2019' . kg:a dcterms:issued '2018' ."


@pytest.mark.parametrize("catalogue", [CHAIN, DATES, ""], ids=["chain", "issued", "name"])
def test_what_comes_after_the_current_version(catalogue: str) -> None:
    found = versions("a m z", catalogue)
    assert after(found, None) == ["a", "m", "z"]
    assert after(found, "a") == ["m", "z"]
    assert after(found, "z") == []


@pytest.mark.parametrize("catalogue", [CHAIN, DATES, ""], ids=["chain", "issued", "name"])
def test_the_current_version_has_its_place_also_when_its_graph_is_gone(catalogue: str) -> None:
    found = versions("a z", catalogue)
    gone = GraphVersion(KG + "m", KG + "m", "2019")
    assert short(version.name for version in found.after(gone, "oldest")) == ["z"]


def test_a_later_version_that_is_gone_is_passed_over() -> None:
    assert after(versions("a z", CHAIN), "a") == ["z"]


def test_a_current_version_outside_the_chain_is_an_error_that_names_the_remedy() -> None:
    with pytest.raises(VersionError, match=f"<{KG}x> is not in the catalogue's chain") as error:
        after(versions("a m z", CHAIN), "x")
    assert "kgsync rebuild" in str(error.value)
    assert f"<{KG}a>, <{KG}m>, <{KG}z>" in str(error.value)


def test_a_current_version_without_a_date_cannot_be_placed_among_dates() -> None:
    with pytest.raises(VersionError, match=f"<{KG}x>"):
        after(versions("a m z", DATES), "x")


@pytest.mark.parametrize(
    ("start", "expected"),
    [("oldest", ["a", "m", "z"]), ("latest", ["z"]), (KG + "m", ["m", "z"]), (KG + "z", ["z"])],
)
def test_the_first_step_begins_where_start_says(start: str, expected: list[str]) -> None:
    assert after(versions("a m z", CHAIN), None, start) == expected


@pytest.mark.parametrize("start", [KG + "q", "newest", ""])
def test_an_unknown_start_is_an_error_that_lists_the_versions(start: str) -> None:
    with pytest.raises(VersionError, match=f"there are <{KG}a>, <{KG}m>, <{KG}z>"):
        after(versions("a m z", CHAIN), None, start)


def test_start_does_not_matter_once_there_is_a_current_version() -> None:
    assert after(versions("a m z", CHAIN), "a", "latest") == ["m", "z"]
