"""The ladder by which models that are weak at calling tools take part all the same."""

from .reply import read_reply
from .rungs import Prepared, RungName, prepare

__all__ = ["Prepared", "RungName", "prepare", "read_reply"]
