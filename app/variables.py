"""Variables of the environment that look like settings and are none."""

from __future__ import annotations

import os

from ..run.context import Context
from ..run.limits import ENVIRONMENT_PREFIX, Limits
from .strategies import VARIABLE
from .users import ServerSettings
from .words import nearest


def unknown_variables() -> str:
    """What to say of them, in one line; empty if there are none."""
    known = {name.upper() for name in (*Context.model_fields, *Limits.model_fields)}
    known.add(VARIABLE.removeprefix(ENVIRONMENT_PREFIX))
    known |= {f"SERVER_{name.upper()}" for name in ServerSettings.model_fields}
    given = sorted(name for name in os.environ if name.upper().startswith(ENVIRONMENT_PREFIX))
    unknown = [name for name in given if name.upper().removeprefix(ENVIRONMENT_PREFIX) not in known]
    return "; ".join(f"{name} is no setting{_meant(name, known)}" for name in unknown)


def _meant(name: str, known: set[str]) -> str:
    # What all of them begin with makes none of them alike.
    return nearest(name.removeprefix(ENVIRONMENT_PREFIX), known, ENVIRONMENT_PREFIX)
