"""Parses command-line options and arguments: settings, the data folder, and names of runs."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any, NamedTuple

from ..core.errors import DeepResearchError, UnknownSetting, UnknownThread
from ..core.settings.context import Context
from ..core.store.location import RunsLocation, thread_id

_SETTINGS = {
    "model": "models",
    "domain": "domains_allow",
    "not_domain": "domains_deny",
    "after": "published_after",
}
"""Setting name for each option whose name differs from its setting."""
_WAIT_SECONDS = 0.5
"""Seconds to wait for a busy database; short, because the user may be stopping the command."""
SHOWN_ID_CHARACTERS = 6
"""Number of characters of a run's generated id that messages show."""
_ID_BEGINNING = re.compile(r"[0-9a-fA-F][0-9a-fA-F-]{5,}")
_ID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def settings_from_options(
    *,
    docs: tuple[str, ...] = (),
    attach: tuple[str, ...] = (),
    outline: str | None = None,
    no_web: bool = False,
    no_trace: bool = False,
    no_open_copies: bool = False,
    engine: tuple[str, ...] = (),
    limit: tuple[str, ...] = (),
    **options: Any,
) -> dict[str, Any]:
    """Return the settings that command-line options choose; raises `UnknownSetting`.

    `options` are the options whose values need no conversion; options that were not given are left
    out.
    """
    if "" in (*docs, *attach, outline) or options.get("model") == "":
        raise UnknownSetting(
            "--docs, --attach, --outline and --model need a name, but one is empty; is a shell "
            "variable unset?"
        )
    folders = [_expanded(path) for path in docs]
    files = [_expanded(path) for path in attach]
    for file in files:
        if file.is_dir():
            raise UnknownSetting(
                f"--attach {str(file)!r}: this is a folder; use --docs for folders."
            )
    given = dict[str, Any]()
    for name, value in options.items():
        if value:
            given[_SETTINGS.get(name, name)] = value
    if docs or attach:
        # Absolute, since a run may be resumed from another folder.
        given["docs"] = tuple(path.absolute() for path in (*folders, *files))
    if outline is not None:
        given["outline"] = _outline_of(_expanded(outline))
    if no_web and engine:
        raise UnknownSetting("--no-web and --engine cannot be combined.")
    if no_web or engine:
        given["engines"] = engine
    if no_trace:
        given["tracing"] = False
    if no_open_copies:
        given["open_copies"] = False
    if given.pop("yes", False):
        given["clarify"] = "assume"
    for pair in limit:
        limit_name, sign, number = pair.partition("=")
        if not sign:
            raise UnknownSetting(f"--limit takes NAME=VALUE, not {pair!r}.")
        given.setdefault("limits", {})[limit_name.strip().lower()] = number.strip()
    return given


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UnknownSetting(
            f"{path!r}: unknown user in the path; write the path in full."
        ) from error


def _outline_of(path: Path) -> str:
    """Return the outline in a file; raises `UnknownSetting` if it has none."""
    try:
        text = path.read_text("utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", "") or "it is not UTF-8"
        raise UnknownSetting(f"--outline {str(path)!r} cannot be read: {reason}.") from error
    if not text.strip():
        raise UnknownSetting(f"--outline {str(path)!r}: the file is empty.")
    return text


def data_folder(data_dir: Path | None) -> Path:
    """Return the data folder: that of the option `--data-dir`, else of the environment, else the
    default."""
    given = {"data_dir": data_dir} if data_dir else {}
    return Context.read(given).data_dir


class RunName(NamedTuple):
    """A run as the user names it on the command line."""

    thread: str
    """Name or id of the run."""
    data_dir: Path | None
    """Value of the option `--data-dir`; None if not given."""

    @property
    def shown(self) -> str:
        """The name, or the first characters of the id, which commands accept too."""
        if _ID.fullmatch(self.thread):
            return self.thread[:SHOWN_ID_CHARACTERS]
        return self.thread

    def command(self, verb: str) -> str:
        """Return the command line that applies a command, such as `resume`, to this run."""
        words = ["deep-research", verb, self.shown]
        if self.data_dir:
            words += ["--data-dir", str(self.data_dir)]
        return shlex.join(words)

    def is_stored(self) -> bool:
        """Whether the run has a stored state, so that it can be resumed."""
        return bool(_stored_ids(thread_id(self.thread), self.data_dir))


def unknown_thread(thread: str) -> UnknownThread:
    """Return the error for an unknown run."""
    return UnknownThread(f"There is no run {thread!r}; `deep-research runs` lists them all.")


def expand_id(thread: str, data_dir: Path | None) -> str:
    """Return the id of the run whose id begins with `thread`; if that is a run's name or is
    ambiguous, `thread`."""
    if not _ID_BEGINNING.fullmatch(thread) or RunName(thread, data_dir).is_stored():
        return thread
    found = _stored_ids(f"{thread.lower()}%", data_dir)
    return found[0] if len(found) == 1 else thread


def _stored_ids(pattern: str, data_dir: Path | None) -> list[str]:
    """Return the ids of stored threads that match an SQL `LIKE` pattern; empty if the database
    cannot be read."""
    query = "SELECT DISTINCT thread_id FROM checkpoints WHERE thread_id LIKE ?"
    try:
        # Uses a new connection, since the run's own may be busy or closed.
        location = RunsLocation.of(data_folder(data_dir))
        rows = location.query(query, pattern, seconds=_WAIT_SECONDS)
        return [str(row[0]) for row in rows]
    except DeepResearchError:
        return []
