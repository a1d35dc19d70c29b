"""The options of the command line as settings of a run."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from deep_research.app.embed import read_context
from deep_research.run.errors import UnknownSetting


def settings_of(
    *,
    docs: tuple[Path, ...],
    attach: tuple[Path, ...],
    no_web: bool,
    strategy: str,
    model: str | None,
    yes: bool,
    review_plan: bool,
    limit: tuple[str, ...],
) -> dict[str, Any]:
    """The settings that the options of `ask` give, and no others; raises `UnknownSetting`."""
    del no_web, strategy  # documents are all that this version searches, and there is one strategy
    given: dict[str, Any] = {}
    if docs or attach:
        # A run may be resumed from another folder.
        given["docs"] = tuple(path.expanduser().absolute() for path in (*docs, *attach))
    if model is not None:
        given["models"] = model
    if yes:
        given["clarify"] = "assume"
    if review_plan:
        given["review_plan"] = True
    if limit:
        given["limits"] = dict(_pair(pair) for pair in limit)
    return given


def data_folder(data_dir: Path | None) -> Path:
    """The folder for runs: the option's, else that of the environment, else the default."""
    return read_context({"data_dir": data_dir} if data_dir else {}).data_dir


def _pair(pair: str) -> tuple[str, str]:
    name, sign, value = pair.partition("=")
    if not sign:
        raise UnknownSetting(f"--limit takes NAME=VALUE, not {pair!r}.")
    return name.strip().lower(), value.strip()
