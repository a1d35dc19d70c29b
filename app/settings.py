"""Settings from the options of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from ..core.run.errors import UnknownSetting
from ..core.run.settings import read_context

NAMES = {"model": "models", "domain": "domains_allow", "not_domain": "domains_deny", "after": "published_after"}
"""The settings whose options have other names, by the option's."""


def settings_from_options(
    *,
    docs: tuple[str, ...] = (),
    attach: tuple[str, ...] = (),
    no_web: bool = False,
    no_trace: bool = False,
    no_open_copies: bool = False,
    engine: tuple[str, ...] = (),
    limit: tuple[str, ...] = (),
    **options: Any,
) -> dict[str, Any]:
    """Return the settings that the options give, and no others; raises `UnknownSetting`.

    `options` are those whose value is the setting itself; see `NAMES`.
    """
    if "" in (*docs, *attach) or options.get("model") == "":
        raise UnknownSetting("--docs, --attach and --model take a name, not an empty text; is a variable not set?")
    folders, files = [_expanded(path) for path in docs], [_expanded(path) for path in attach]
    for folder in (file for file in files if file.is_dir()):
        raise UnknownSetting(f"--attach {str(folder)!r}: this is a folder; --docs searches folders, --attach files.")
    given = {NAMES.get(name, name): value for name, value in options.items() if value}
    if docs or attach:
        # A run may be resumed from another folder.
        given["docs"] = tuple(path.absolute() for path in (*folders, *files))
    if no_web and engine:
        raise UnknownSetting("--no-web and --engine exclude each other.")
    if no_web or engine:
        given["engines"] = engine
    if no_trace:
        given["tracing"] = False
    if no_open_copies:
        given["open_copies"] = False
    if given.pop("yes", False):
        given["clarify"] = "assume"
    if limit:
        given["limits"] = dict(_pair(pair) for pair in limit)
    return given


def _expanded(path: str) -> Path:
    try:
        return Path(path).expanduser()
    except RuntimeError as error:
        raise UnknownSetting(f"{path!r}: there is no such user; write the path in full.") from error


def data_folder(data_dir: Path | None) -> Path:
    """Return the folder for runs: the option's, else that of the environment, else the default."""
    return read_context({"data_dir": data_dir} if data_dir else {}).data_dir


def _pair(pair: str) -> tuple[str, str]:
    name, sign, value = pair.partition("=")
    if not sign:
        raise UnknownSetting(f"--limit takes NAME=VALUE, not {pair!r}.")
    return name.strip().lower(), value.strip()
