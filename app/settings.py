"""Settings from a dict, from the environment and from the options of the command line."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsError

from ..core.run.context import ROLES, Context
from ..core.run.errors import UnknownSetting
from ..core.run.limits import ENVIRONMENT_PREFIX, Limits
from .words import nearest

Kind = TypeVar("Kind", bound=BaseModel)

EXAMPLES = {
    "limits": '{"max_cycles": 4}',
    "mcp": '{"NAME": {"command": "COMMAND", "args": []}}',
    "prices": '{"NAME": [0.25, 2.0]}',
}
"""How the settings look in the environment that are JSON there."""
SETTINGS = {
    "model": "models",
    "window": "window",
    "allow_small_window": "allow_small_window",
    "domain": "domains_allow",
    "not_domain": "domains_deny",
    "after": "published_after",
    "mix_private": "mix_private",
    "depth": "depth",
    "review_plan": "review_plan",
    "language": "language",
    "verify": "verify",
    "yes": "yes",
    "data_dir": "data_dir",
}
"""The setting that an option gives, by the option's name."""


def read_context(given: Mapping[str, Any]) -> Context:
    """Return the settings from a dict; raises `UnknownSetting` in one line for a name or value that is not known."""
    return read_settings(Context, given)


def read_settings(kind: type[Kind], given: Mapping[str, Any]) -> Kind:
    """Return settings of this kind from a dict; raises `UnknownSetting` as `read_context` does."""
    try:
        return kind(**given)
    except ValidationError as error:
        # The branches of a union each complain.
        faults = dict.fromkeys(map(_in_words, error.errors()))
        raise UnknownSetting(f"Wrong settings: {'; '.join(faults)}.") from error
    except SettingsError as error:
        # Its message is the only place that names the field.
        field = str(error).split('"')[1]
        raise UnknownSetting(
            f"Wrong settings: {_variable(field)}: this is no JSON, as {EXAMPLES[field]} is."
        ) from error


def _in_words(fault: ErrorDetails) -> str:
    """Return one fault in a line; a value from the environment is named by its variable."""
    *above, name = map(str, fault["loc"])
    is_limit = above == ["limits"]
    if fault["type"] == "extra_forbidden":
        if is_limit:
            return (
                f"{name}: there is no such limit{nearest(name, Limits.model_fields)}; `deep-research limits` lists all"
            )
        return f"{name}: there is no such setting"
    if fault["loc"][0] == "models":
        return f"models: give a name such as 'openai:NAME', or by role, of {', '.join(ROLES)}"
    # A fault of one of several words bears the place of the word.
    field = above[0] if above and not is_limit else name
    value = os.environ.get(_variable(field), "")
    is_from_environment = bool(value) and fault["input"] in (value, *re.split(r"[\s,]+", value))
    place = _variable(field) if is_from_environment else f"limit {name}" if is_limit else ".".join([*above, name])
    return f"{place}: {fault['msg'].removeprefix('Value error, ')} (given: {fault['input']!r})"


def _variable(name: str) -> str:
    return f"{ENVIRONMENT_PREFIX}{name.upper()}"


def settings_from_options(
    *,
    docs: tuple[str, ...] = (),
    attach: tuple[str, ...] = (),
    no_web: bool = False,
    engine: tuple[str, ...] = (),
    limit: tuple[str, ...] = (),
    **options: Any,
) -> dict[str, Any]:
    """Return the settings that the options give, and no others; raises `UnknownSetting`.

    `options` are those whose value is the setting itself; see `SETTINGS`.
    """
    if "" in (*docs, *attach) or options.get("model") == "":
        raise UnknownSetting("--docs, --attach and --model take a name, not an empty text; is a variable not set?")
    folders, files = [_expanded(path) for path in docs], [_expanded(path) for path in attach]
    for folder in (file for file in files if file.is_dir()):
        raise UnknownSetting(f"--attach {str(folder)!r}: this is a folder; --docs searches folders, --attach files.")
    given = {SETTINGS[name]: value for name, value in options.items() if value}
    if docs or attach:
        # A run may be resumed from another folder.
        given["docs"] = tuple(path.absolute() for path in (*folders, *files))
    if no_web and engine:
        raise UnknownSetting("--no-web and --engine exclude each other.")
    if no_web or engine:
        given["engines"] = engine
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
