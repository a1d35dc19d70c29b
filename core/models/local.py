"""Finds models that run on this machine, at the usual ports, to name them to the user; none is used unasked."""

from __future__ import annotations

import asyncio
import re
import ssl
from collections.abc import Iterable
from typing import Literal, NamedTuple

import httpx
from pydantic import BaseModel, ValidationError

from ..run.context import Context
from .resolve import is_unset

SECONDS = 1.0
"""Seconds that a server has for its whole answer. Where none listens, that is known at once."""
MOST_BYTES = 1_000_000
"""What the list of a server's models may take."""
# It becomes part of a command that a user types.
_TYPABLE = re.compile(r"[a-z0-9][\w./:@+-]{0,199}", re.ASCII | re.IGNORECASE)


class LocalModel(NamedTuple):
    """A model that answers on this machine."""

    port: int
    name: str

    @property
    def offer(self) -> str:
        """Return what a user has to type to use it."""
        place = f"http://localhost:{self.port}"
        return (
            f"A model is running at {place}; it is used only if you say so: "
            f"OPENAI_BASE_URL={place}/v1 deep-research ask QUESTION --model openai:{self.name}"
        )


class _Model(BaseModel):
    id: str


class _Models(BaseModel):
    """The list of models as OpenAI's API has it."""

    object: Literal["list"]
    data: list[_Model]


def local_offers(context: Context) -> tuple[str, ...]:
    """Return what to type for the models on this machine, where none is set; blocks for `SECONDS` at most.

    To be called outside of event loops, by the commands of a user who sits at this machine.
    """
    if not is_unset(context):
        return ()
    return tuple(model.offer for model in asyncio.run(local_models(context.model_ports)))


async def local_models(ports: Iterable[int], seconds: float = SECONDS) -> list[LocalModel]:
    """Return one model of each server that answers at these ports of this machine."""
    # It is never asked for a certificate, so none is read from the disk.
    no_certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    async with httpx.AsyncClient(trust_env=False, follow_redirects=False, verify=no_certificates) as client:
        asked = dict.fromkeys(ports)
        names = await asyncio.gather(*(_name_at(port, client, seconds) for port in asked))
    return [LocalModel(port, name) for port, name in zip(asked, names, strict=True) if name]


async def _name_at(port: int, client: httpx.AsyncClient, seconds: float) -> str:
    """Return the first model of the server at a port; empty if there is none, or something else answers."""
    body = b""
    try:
        async with asyncio.timeout(seconds), client.stream("GET", f"http://127.0.0.1:{port}/v1/models") as answer:
            if answer.status_code != httpx.codes.OK:
                return ""
            async for chunk in answer.aiter_raw():
                body += chunk
                if len(body) > MOST_BYTES:
                    return ""
    except (httpx.HTTPError, TimeoutError, OSError):
        return ""
    return _first_name(body)


def _first_name(body: bytes) -> str:
    try:
        names = [model.id for model in _Models.model_validate_json(body).data]
    except ValidationError:
        return ""
    # Models that only make vectors stand in the same list.
    return next((name for name in names if _TYPABLE.fullmatch(name) and "embed" not in name.lower()), "")
