"""Texts as vectors: those that mean much the same point much the same way.

By wordllama's model, which is of English and lies in its package: nothing is downloaded.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from threading import Lock
from typing import Any

from ..evidence.inflection.common_words import IN_QUESTION, evident
from ..evidence.inflection.wording import sought_words
from ..run.errors import ExtraMissing

NUMBERS = 256
"""The length of a vector, each number of which is a byte."""
MODEL = "l2_supercat"
LARGEST = 127
_LOADING = Lock()


class Meaning:
    """Makes vectors; may be used from several threads, and costs nothing before the first text."""

    def __init__(self) -> None:
        """Raises `ExtraMissing` where the package is not installed."""
        if find_spec("wordllama") is None:
            raise ExtraMissing(
                "Finding passages by meaning (setting embeddings) needs a package that is not installed: "
                'pip install "deep-research[embeddings]"'
            )

    def vectors(self, texts: Sequence[str]) -> list[bytes]:
        """For each text its vector, whole numbers from -127 to 127; all zeros if it says nothing."""
        import numpy as np

        if not texts:
            return []
        with _LOADING:
            model = _model()
        # A text from a model may hold halves of characters, which no tokenizer takes.
        found = model.embed([text.encode(errors="replace").decode() for text in texts])
        largest = np.abs(found).max(axis=1, keepdims=True)
        whole = np.rint(found * (LARGEST / np.where(largest > 0, largest, 1))).astype(np.int8)
        return [row.tobytes() for row in whole]


def is_english(question: str) -> bool:
    """Whether a question is in the model's language, or in none that is evident."""
    return evident(sought_words(question), IN_QUESTION) in ("", "en")


@cache
def _model() -> Any:
    # Its import would set up the logging of the whole program, which it leaves alone where there is a handler.
    root, handler = logging.getLogger(), logging.NullHandler()
    root.addHandler(handler)
    try:
        import wordllama
    finally:
        root.removeHandler(handler)
    # It looks for its tokenizer in its cache only: so its own folder is the cache.
    folder = Path(wordllama.__file__).parent
    return wordllama.WordLlama.load(MODEL, cache_dir=folder, dim=NUMBERS, disable_download=True)
