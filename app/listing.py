"""The limits of a run, as a list for the user."""

from __future__ import annotations

from ..run.limits import Limits
from .embed import read_context
from .endings import reported
from .exit_codes import DONE
from .terminal import RunName, put_out


def list_limits() -> int:
    """Print a line a limit: its name, the value that holds by the environment or by default, and what it is."""

    def work() -> int:
        limits = read_context({}).limits
        put_out("\n".join(_line(name, getattr(limits, name)) for name in Limits.model_fields))
        return DONE

    return reported(RunName("", None), work)


def _line(name: str, value: float | None) -> str:
    meaning = " ".join((Limits.model_fields[name].description or "").split())
    return f"{name:24} {'-' if value is None else f'{value:.15g}':>10}  {meaning}"
