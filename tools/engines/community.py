"""Imports from langchain-community without its notice that it will end."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

NOTICE = "`langchain-community` is being sunset"


@contextmanager
def without_notice() -> Iterator[None]:
    """Hide this one notice, which is for us and not for the user, from whatever is imported meanwhile."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", NOTICE, DeprecationWarning)
        yield
