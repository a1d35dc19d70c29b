"""What a user of the command can put right."""

from __future__ import annotations

import click


class Mistake(click.ClickException):
    """An option, or what it names, has to change; its text is one line that names the option."""

    exit_code = 2
