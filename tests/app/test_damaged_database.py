"""A database that is damaged, whatever has happened to it: one line that names it, and never a traceback."""

from __future__ import annotations

import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from command import Desk, desk_in

PAGE = 4096
ASK = ("ask", "When was the Skerry Light lit?", "--docs", "docs", "--thread")
COMMANDS = (
    *((*ASK, thread) for thread in ("new", "light")),
    *((command, "light") for command in ("resume", "show", "export", "audit", "refresh")),
    ("resume", "light", "--from-last-good"),
    ("show", "light", "--json"),
    ("runs",),
    ("doctor",),
)
"""Every command that opens the database."""

Damage = Callable[[bytes, random.Random], bytes]


def bytes_changed(whole: bytes, chance: random.Random) -> bytes:
    changed = bytearray(whole)
    for place in chance.sample(range(len(whole)), 2000):
        changed[place] = chance.randrange(256)
    return bytes(changed)


def pages_changed(whole: bytes, chance: random.Random) -> bytes:
    changed = bytearray(whole)
    for page in chance.sample(range(len(whole) // PAGE), chance.choice((1, 3, 20))):
        length = chance.choice((8, PAGE))
        changed[page * PAGE : page * PAGE + length] = chance.randbytes(length)
    return bytes(changed)


def schema_changed(whole: bytes, chance: random.Random) -> bytes:
    # SQLite quotes what it finds there in its errors, text or not.
    changed = bytearray(whole)
    for place in chance.sample([place for place in range(100, PAGE) if 32 < whole[place] < 127], 8):
        changed[place] |= 128
    return bytes(changed)


def truncated(whole: bytes, chance: random.Random) -> bytes:
    return whole[: chance.randrange(1, len(whole))]


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    """A folder with two runs."""
    desk = desk_in(tmp_path_factory.mktemp("damaged"))
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(desk.folder)
        assert [desk.call(*ASK, name).code for name in ("light", "tower")] == [0, 0]
    return desk


def put_database(desk: Desk, content: bytes) -> None:
    # A new file: a connection that a failed command has left open in this process does not see it.
    for file in desk.data.glob("runs.sqlite*"):
        file.unlink()
    (desk.data / "runs.sqlite").write_bytes(content)


@pytest.mark.slow
@pytest.mark.fault(40)
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("damage", [bytes_changed, pages_changed, schema_changed, truncated])
def test_a_damaged_database_is_named_in_one_line(
    desk: Desk, damage: Damage, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(desk.folder)
    whole = (desk.data / "runs.sqlite").read_bytes()
    try:
        for command in COMMANDS:
            put_database(desk, damage(whole, random.Random(seed)))
            says_what_is_wrong(desk, command)
    finally:
        put_database(desk, whole)


@pytest.mark.fault(40)
@pytest.mark.parametrize("place", ["a folder", "/proc/version", "a bit of the schema"])
def test_what_cannot_be_a_database_is_named_in_one_line(
    desk: Desk, place: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.chdir(desk.folder)
    file = tmp_path / "runs.sqlite" if place[0] != "/" else Path(place)
    if place == "a folder":
        file.mkdir()
    elif place[0] != "/":
        file.write_bytes(schema_changed((desk.data / "runs.sqlite").read_bytes(), random.Random(4)))
    for command in COMMANDS:
        says_what_is_wrong(desk, command, file)


def says_what_is_wrong(desk: Desk, command: tuple[str, ...], place: Path | None = None) -> None:
    """Run the command; if it fails, it says in one line which file it is."""
    ended = desk.call(*command, **({"DEEP_RESEARCH_DATABASE": str(place)} if place else {}))
    assert place is None or ended.code == 2, ended
    if ended.code not in (0, 3):
        # What `doctor` finds is its output.
        said = [*ended.out.splitlines(), *ended.err.splitlines()]
        [line] = [one for one in said if one.startswith(("Error: ", "missing  runs: "))]
        assert str(place or desk.data / "runs.sqlite") in line
        assert "It is damaged: restore a backup" in line or not re.search("malformed|not a database", line)
