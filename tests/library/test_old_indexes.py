"""Indexes of folders that are gone do not stay for ever."""

from __future__ import annotations

from datetime import datetime, timedelta

import pytest
from shelf import FixedClock, Place

from deep_research.core.library.library import Library


class Later(FixedClock):
    def __init__(self, days: int) -> None:
        self.days = days

    def now(self) -> datetime:
        return super().now() + timedelta(days=self.days)


def refresh_another(place: Place, days: int) -> int:
    """How many indexes there are after another folder was indexed, so many days later."""
    other = place.data.parent / "other"
    other.mkdir(exist_ok=True)
    (other / "tides.md").write_text("High water is at noon.")
    Library(place.context(other).model_copy(update={"clock": Later(days)})).refresh()
    return len(list((place.data / "indexes").glob("*.sqlite")))


@pytest.mark.fault("R23")
def test_the_index_of_a_folder_that_is_gone_is_removed_after_ninety_days(place: Place) -> None:
    place.indexed()
    place.docs.rename(place.docs.with_name("gone"))
    assert refresh_another(place, 89) == 2
    assert refresh_another(place, 91) == 1


def test_the_index_of_a_folder_that_is_there_stays(place: Place) -> None:
    place.indexed()
    assert refresh_another(place, 1000) == 2


def test_what_is_used_now_and_then_stays(place: Place) -> None:
    place.indexed()
    Library(place.context().model_copy(update={"clock": Later(80)})).refresh()
    place.docs.rename(place.docs.with_name("gone"))
    assert refresh_another(place, 160) == 2


def test_an_index_that_cannot_be_read_is_removed_after_ninety_days(place: Place) -> None:
    place.indexed()
    place.index_file().write_bytes(b"not a database, but long enough to be taken for one" * 100)
    assert refresh_another(place, 89) == 2
    assert refresh_another(place, 91) == 1
