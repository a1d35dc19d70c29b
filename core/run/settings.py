"""Reads settings from a dict, the environment, and LangGraph's `configurable`; a wrong one becomes a one-line error."""

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

_EXAMPLES = {
    "limits": '{"max_cycles": 4}',
    "mcp": '{"NAME": {"command": "COMMAND", "args": []}}',
    "prices": '{"NAME": [0.25, 2.0]}',
}
"""Example values, for error messages, of settings that are JSON in the environment."""


def read_context(given: Mapping[str, Any]) -> Context:
    """Return the settings of a run: those in the dict, else those of the environment, else the defaults.

    Raises `UnknownSetting`, with one line for the user, for an unknown name or a wrong value.
    """
    return read_settings(Context, given)


def with_configurable(given: Context | None, configurable: Mapping[str, Any]) -> Context:
    """Return the settings of a run that LangGraph passed as `context` (`given`) and in `configurable`.

    Keys of `configurable` that are not settings are ignored. Raises `UnknownSetting` for a wrong setting, and for one
    that was given two different values.
    """
    named = {name: value for name, value in configurable.items() if name in Context.model_fields}
    if given is None or not named:
        return given or read_context(named)
    configured, environment = read_context(named), read_context({})
    for name in named.keys() & given.model_fields_set:
        value = getattr(given, name)
        is_from_environment = name in environment.model_fields_set and value == getattr(environment, name)
        if not is_from_environment and value != getattr(configured, name):
            raise UnknownSetting(f"{name}: `context` and `configurable` give different values; set it in only one.")
    return given.model_copy(update={name: getattr(configured, name) for name in named})


def read_settings(kind: type[Kind], given: Mapping[str, Any]) -> Kind:
    """Return settings of this class, otherwise like `read_context`."""
    try:
        return kind(**given)
    except ValidationError as error:
        # Each branch of a union reports a fault.
        faults = dict.fromkeys(map(_described, error.errors()))
        raise UnknownSetting(f"Wrong settings: {'; '.join(faults)}.") from error
    except SettingsError as error:
        # Only its message names the field.
        field = str(error).split('"')[1]
        raise UnknownSetting(
            f"Wrong settings: {_variable(field)}: this is not JSON such as {_EXAMPLES[field]}."
        ) from error


def _described(fault: ErrorDetails) -> str:
    """Describe a validation error for the user; a value that came from the environment is named by its variable."""
    *above, name = map(str, fault["loc"])
    is_limit = above == ["limits"]
    if fault["type"] == "extra_forbidden":
        return f"{name}: {fault['msg']}{'; `deep-research limits` lists all' if is_limit else ''}"
    if fault["loc"][0] == "models":
        return f"models: give a name such as 'openai:NAME', or one per role ({', '.join(ROLES)})"
    # A fault in a list has the index of the entry as its last part.
    field = above[0] if above and not is_limit else name
    value = os.environ.get(_variable(field), "")
    setting = f"limit {name}" if is_limit else ".".join([*above, name])
    if value and fault["input"] in (value, *re.split(r"[\s,]+", value)):
        setting = _variable(field)
    return f"{setting}: {fault['msg'].removeprefix('Value error, ')} (given: {fault['input']!r})"


def _variable(name: str) -> str:
    """Return the environment variable of a setting or limit."""
    return f"{ENVIRONMENT_PREFIX}{name.upper()}"
