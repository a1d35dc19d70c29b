"""Searches arXiv (ARXIV_URL) for preprints, through langchain-community and the package arxiv."""

from __future__ import annotations

import io
import os
import zlib
from collections.abc import Iterable
from types import SimpleNamespace
from typing import Any

from ...core.concurrency import in_thread
from ...core.settings.context import Context
from ...core.settings.network import ENCODING, AnswerTooLarge, Slices, usable_proxy
from ..engine import ANSWER_BYTES, EngineFailed, Found, Reported, without_notice
from ._api import USER_AGENT, connection_broke_off, failed_status, unreachable

_ADDRESS = "https://export.arxiv.org/api/query"
# Query operators of arXiv, which models do not use on purpose.
_PLAIN = str.maketrans(":-", "  ")
_ERRORS = "arxiv.org/api/errors"
_CHUNK_BYTES = 65_536


class Arxiv:
    """Searches papers and their abstracts (https://info.arxiv.org/help/api/user-manual.html)."""

    name, title = "arxiv", "arXiv"
    # Its terms of use: one request at a time, and one every three seconds.
    parallel, gap = 1, 3.0

    def __init__(self, context: Context, address: str = "") -> None:
        """`address`: the query API's URL, instead of the environment variable's."""
        self._seconds = context.limits.search_seconds
        self._address = address or os.environ.get("ARXIV_URL") or _ADDRESS

    async def search(self, query: str, count: int) -> list[Found]:
        """Return papers with their abstracts, most relevant first; raises `EngineFailed`."""
        return await in_thread(self._search, query, count)

    def _search(self, query: str, count: int) -> list[Found]:
        import arxiv
        import requests

        with without_notice():
            from langchain_community.utilities.arxiv import ArxivAPIWrapper

        wrapper = ArxivAPIWrapper.model_validate({"top_k_results": count})
        # The wrapper calls `arxiv.Search.results`, which current versions of arxiv no longer have.
        wrapper.arxiv_search = self._papers
        try:
            documents = wrapper.get_summaries_as_docs(query.translate(_PLAIN))
        except AnswerTooLarge:
            raise EngineFailed.too_large(self.title) from None
        except arxiv.HTTPError as error:
            raise failed_status(self.title, error.status) from None
        except (requests.Timeout, TimeoutError):
            raise EngineFailed.too_slow(self.title) from None
        except requests.ConnectionError as error:
            raise unreachable(self.title, error) from None
        except requests.RequestException:
            raise connection_broke_off(self.title) from None
        found = [_found(document.metadata, document.page_content) for document in documents]
        # Errors come as a paper with this address.
        if any(_ERRORS in paper.address for paper in found):
            reported = Reported.of({"error": found[0].excerpt})
            raise EngineFailed(f"{self.title} found nothing and reports {reported.words}.")
        return found

    def _papers(
        self, query: str = "", *, max_results: int, id_list: Iterable[str] = ()
    ) -> SimpleNamespace:
        """Return the search that the wrapper expects: an object with the method `results`."""
        import arxiv

        client = arxiv.Client(page_size=max_results, delay_seconds=0, num_retries=0)
        client.query_url_format = f"{self._address}?{{}}"
        client._session = _session(self._seconds, self._address)
        search = arxiv.Search(query, list(id_list), max_results)
        return SimpleNamespace(results=lambda: client.results(search))


def _session(seconds: float, address: str) -> Any:
    """Return a session of the library requests with this timeout and a limit on answers, without
    redirects."""
    import requests
    import urllib3

    class Session(requests.Session):
        def request(self, *arguments: Any, **options: Any) -> requests.Response:
            settings = {"timeout": seconds, "allow_redirects": False, "stream": True}
            response = super().request(*arguments, **{**options, **settings})
            with response:
                body = body_of(response)
            response.raw = io.BytesIO(body)
            return response

    def body_of(response: requests.Response) -> bytes:
        """Return the decompressed body; raises `AnswerTooLarge` and `requests.RequestException`."""
        try:
            slices = Slices(response.headers.pop("Content-Encoding", ""), ANSWER_BYTES, seconds)
            body = bytearray()
            # Unlike `stream`, it does not wait for so many bytes.
            while chunk := response.raw.read1(_CHUNK_BYTES, decode_content=False):
                for piece in slices.feed(chunk):
                    body += piece
            return bytes(body + slices.rest())
        except urllib3.exceptions.ReadTimeoutError as error:
            raise requests.Timeout from error
        except (urllib3.exceptions.HTTPError, ValueError, zlib.error) as error:
            raise requests.exceptions.ContentDecodingError from error

    session = Session()
    # Otherwise requests would also take passwords from the environment.
    session.trust_env = False
    session.verify = os.environ.get("SSL_CERT_FILE") or True
    proxy = usable_proxy(address)
    if proxy:
        session.proxies = {"all": proxy}
    session.headers.update({"User-Agent": USER_AGENT, "Accept-Encoding": ENCODING})
    return session


def _found(fields: dict[str, Any], summary: str) -> Found:
    """Convert a document of the wrapper; its date is that of the latest version."""
    address = fields["Entry ID"].replace("http://", "https://", 1)
    return Found(fields["Title"], address, summary, fields["Published"].isoformat())
