"""Runs LangGraph's server with our web page, as configured in `langgraph.json`."""

from __future__ import annotations

import json
import logging
import os
import re
import socket
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any

from ...core.errors import ExtraMissing, UnknownSetting, how_to_install
from ...core.events.tracing import traced_to, tracing_notices
from ...core.library.library import Library
from ...core.models.resolve import RoleModels
from ...core.settings.context import Context
from ...core.settings.limits import ENVIRONMENT_PREFIX
from ...core.settings.server_settings import SharedDocuments
from ...core.store.pages import LOCAL_USER
from .users import LOOPBACK, REQUIRE_TOKEN, server_settings, users

_PORT = 2024
"""Default port; if it is taken, a free port is chosen."""
_JOBS = 50
"""Maximum number of concurrent runs, if no user may have more than half as many."""


def serve(
    given: Mapping[str, Any], host: str, port: int | None, on_notice: Callable[[str], None]
) -> None:
    """Run the server until it is stopped; raises `UserMistake` before it starts if a setting or an
    extra is wrong.

    `given`: the settings from the operator's options, which become environment variables.
    `on_notice` is called with each line for the operator before the server starts.
    """
    # Absolute paths, because the server runs in another working directory.
    context = Context.read(given).with_absolute_paths()
    folder = context.data_dir.absolute()
    docs = context.docs
    demo = folder / "demo" / "lighthouses"
    if not docs and demo.is_dir():
        on_notice(
            "No documents are given (--docs): the server searches the documents of `deep-research "
            "demo`."
        )
        docs = (demo,)
    # Raises `DocumentsUnreadable` if one is missing; a single user's folder is opened when that
    # user asks.
    Library(
        context.model_copy(update={"docs": SharedDocuments(docs).of_all_users})
    ).check_documents()
    limitation = RoleModels(context).quotes_only()
    if limitation:
        on_notice(f"Note: {limitation}")
    if host not in LOOPBACK and LOCAL_USER in users().values():
        raise UnknownSetting(
            f"--host {host} lets other machines reach the server, so tokens are required: set "
            "DEEP_RESEARCH_SERVER_TOKENS to USER:TOKEN, and DEEP_RESEARCH_SERVER_HOSTS to the "
            "host name by which they reach this machine."
        )
    for notice in tracing_notices(context):
        on_notice(notice)
    chosen = _free_port(host, port)
    try:
        from langgraph_api.cli import run_server
    except ImportError:
        raise ExtraMissing(
            f"`serve` needs LangGraph's server: {how_to_install('serve')}."
        ) from None
    _set_environment({**given, "docs": docs, "data_dir": folder})
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # LangGraph stores its list of threads and runs in the working directory, so this is the data
    # folder.
    os.chdir(folder)
    # Hides LangGraph's start-up message; `guard` prints ours when the server is ready.
    logging.getLogger("langgraph_api.cli").setLevel(logging.ERROR)
    config_file = resources.files("deep_research").joinpath("langgraph.json")
    config = json.loads(config_file.read_text("utf-8"))
    # In private networks, LangGraph calls webhooks only on these hosts.
    names = [re.sub(r":\d+$", "", name).strip("[]") for name in server_settings().webhook_hosts]
    config["webhooks"]["url"]["allowed_domains"] = names
    run_server(
        host,
        chosen,
        graphs=config["graphs"],
        # So that the runs of one user never keep another user's run waiting.
        n_jobs_per_worker=max(_JOBS, 2 * server_settings().user_runs),
        auth=config["auth"],
        http=config["http"],
        webhooks=config["webhooks"],
        checkpointer=config["checkpointer"],
        store=config["store"],
        # Its search for blocking calls is for developers, and takes a fifth of the server's time.
        allow_blocking=True,
    )


def _free_port(host: str, wanted: int | None) -> int:
    """Return the wanted port, or one that is free if none is wanted; raises `UnknownSetting` if it
    is taken."""
    # The system chooses a free port for 0.
    for port in [wanted] if wanted else [_PORT, 0]:
        try:
            with socket.create_server((host, port)) as taken:
                return int(taken.getsockname()[1])
        except OSError as error:
            if wanted:
                raise UnknownSetting(f"--port {wanted}: {error.strerror}.") from error
    raise UnknownSetting(f"--host {host}: the server cannot listen on this address.")


def _set_environment(given: dict[str, Any]) -> None:
    """Set the options as environment variables, from which the server reads its settings."""
    for name, value in given.items():
        if name == "docs":
            value = os.pathsep.join(map(str, value))
        elif isinstance(value, tuple | list):
            value = ",".join(value) or "none"
        elif isinstance(value, dict):
            value = json.dumps(value)
        os.environ[f"{ENVIRONMENT_PREFIX}{name.upper()}"] = str(value)
    os.environ |= {"LANGGRAPH_NO_VERSION_CHECK": "1", "LANGGRAPH_CLI_NO_ANALYTICS": "1"}
    if not traced_to():
        # Otherwise LangGraph's server would trace as soon as a key is set.
        os.environ["LANGSMITH_TRACING"] = "false"
    os.environ.setdefault("LOG_LEVEL", "WARNING")
    # The printed page address contains the token, so no client needs access without a token.
    os.environ[REQUIRE_TOKEN] = "true"
    server_settings.cache_clear()
