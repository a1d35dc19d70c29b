"""The options of the command line that are settings of a run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

MODEL = click.option(
    "--model",
    metavar="NAME",
    help="Model for all roles: `openai:NAME` at OpenAI or the server of OPENAI_BASE_URL, another provider's by "
    "`PROVIDER:NAME`, or `extractive`, which needs no key and no network.",
)
LIMIT = click.option(
    "--limit",
    multiple=True,
    metavar="NAME=VALUE",
    help="Set a limit, e.g. max_cycles=4 (repeatable); `deep-research limits` lists all.",
)
OPTIONS = (
    click.option("--docs", multiple=True, type=click.Path(), metavar="DIR", help="Folder to search (repeatable)."),
    click.option("--attach", multiple=True, type=click.Path(), metavar="FILE", help="File to search (repeatable)."),
    click.option("--no-web", is_flag=True, help="Search your documents only."),
    click.option(
        "--engine",
        multiple=True,
        type=click.Choice(["tavily", "duckduckgo", "wikipedia", "arxiv"]),
        help="Search the web by this engine (repeatable). Without: Tavily if TAVILY_API_KEY is set, else DuckDuckGo "
        "unless documents are given.",
    ),
    click.option(
        "--domain", multiple=True, metavar="NAME", help="Search and read this domain of the web only (repeatable)."
    ),
    click.option(
        "--not-domain", multiple=True, metavar="NAME", help="Leave this domain of the web alone (repeatable)."
    ),
    click.option(
        "--mix-private",
        is_flag=True,
        help="Let web queries use words that only your documents say (a limited number); without, they are left out.",
    ),
    click.option("--after", metavar="YYYY-MM-DD", help="Leave out web pages that are known to be older."),
    click.option(
        "--language", metavar="NAME", help="Language of the report, by its name or code. Without: that of the question."
    ),
    click.option(
        "--verify",
        type=click.Choice(["off", "check", "repair"]),
        help="Hold each sentence of the report against its sources: not at all, only to mark those that are not "
        "supported, or to mend them first (the default).",
    ),
    MODEL,
    click.option("--window", metavar="TOKENS", help="Tokens that the model reads, where that is not known."),
    click.option(
        "--allow-small-window", is_flag=True, help="Run a model that reads less than 50 000 tokens, down to 8 000."
    ),
    LIMIT,
)


def with_settings(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that are settings of a run."""
    for option in reversed(OPTIONS):
        command = option(command)
    return command
