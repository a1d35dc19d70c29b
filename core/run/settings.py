"""Settings from a dict, from the environment, and from what LangGraph calls `configurable`."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import SettingsError

from .context import ROLES, Context
from .errors import UnknownSetting
from .limits import ENVIRONMENT_PREFIX

Kind = TypeVar("Kind", bound=BaseModel)

EXAMPLES = {
    "limits": '{"max_cycles": 4}',
    "mcp": '{"NAME": {"command": "COMMAND", "args": []}}',
    "prices": '{"NAME": [0.25, 2.0]}',
}
"""How the settings look in the environment that are JSON there."""


def read_context(given: Mapping[str, Any]) -> Context:
    """Return the settings from a dict; raises `UnknownSetting` in one line for a name or value that is not known."""
    return read_settings(Context, given)


def with_configurable(given: Context | None, configurable: Mapping[str, Any]) -> Context:
    """Return what is given as `context`, with the settings that `configurable` names.

    All other keys of `configurable` belong to LangGraph or to the app. Raises `UnknownSetting` for a setting that is
    given in both with different values.
    """
    named = {name: value for name, value in configurable.items() if name in Context.model_fields}
    if given is None or not named:
        return given or read_context(named)
    configured, environment = read_context(named), read_context({})
    for name in named.keys() & given.model_fields_set:
        value = getattr(given, name)
        is_from_environment = name in environment.model_fields_set and value == getattr(environment, name)
        if not is_from_environment and value != getattr(configured, name):
            raise UnknownSetting(f"{name}: `context` and `configurable` give different values; give it in one of them.")
    return given.model_copy(update={name: getattr(configured, name) for name in named})


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
        return f"{name}: {fault['msg']}{'; `deep-research limits` lists all' if is_limit else ''}"
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
