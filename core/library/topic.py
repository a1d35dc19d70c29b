"""Ranks documents by how near they are to the topic of a long text, by latent semantic analysis (Deerwester 1990)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from itertools import chain
from math import log

from ..evidence.text.similarity import rarity
from ..evidence.text.words import STOP_WORDS, stem, tokens

DIMENSIONS = 50
"""Topics that are told apart, a tenth of the documents that are compared."""
_TINY = 1e-9


def near_topic(text: str, documents: Mapping[str, str]) -> list[str]:
    """Return the keys of documents, those whose texts are nearest to the topic first.

    Documents that share few words with the text are near if they have the words of others that share many.
    """
    # Importing it takes a tenth of a second.
    import numpy

    counts = [_counts(one) for one in documents.values()]
    holders = Counter(chain.from_iterable(counts))
    columns = {word: place for place, word in enumerate(holders)}
    weights = {word: rarity(len(counts), held) for word, held in holders.items()}
    matrix = numpy.zeros((len(counts) + 1, len(columns)))
    for row, words in zip(matrix, [*counts, _counts(text)], strict=True):
        for word in words.keys() & columns.keys():
            row[columns[word]] = (1 + log(words[word])) * weights[word]
    matrix /= numpy.linalg.norm(matrix, axis=1, keepdims=True) + _TINY
    own, asked = matrix[:-1], matrix[-1]
    # The eigenvectors of the documents' similarities are the left singular vectors of the matrix.
    squares, axes = (one[..., -DIMENSIONS:] for one in numpy.linalg.eigh(own @ own.T))
    lengths = numpy.sqrt(squares.clip(_TINY))
    topics = axes * lengths
    nearness = topics @ (asked @ own.T @ axes / lengths) / (numpy.linalg.norm(topics, axis=1) + _TINY)
    return [key for _, key in sorted(zip(-nearness, documents, strict=True))]


def _counts(text: str) -> Counter[str]:
    return Counter(stem(word) for word in tokens(text) if word not in STOP_WORDS)
