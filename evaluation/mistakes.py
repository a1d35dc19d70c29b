"""What a user of the command can put right."""

from __future__ import annotations

import click
from pydantic import ValidationError


class Mistake(click.ClickException):
    """An option, or what it names, has to change; its text is one line that names the option."""

    exit_code = 2


def first_fault(error: ValidationError) -> str:
    """The first field that is wrong, and what is wrong with it."""
    fault = error.errors()[0]
    return f"{'.'.join(map(str, fault['loc']))}: {fault['msg']}"
