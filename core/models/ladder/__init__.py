"""The ladder by which models that are weak at calling tools take part all the same."""

from .reply import read_reply
from .rungs import Ability, Prepared, RungName, prepare

__all__ = ["Ability", "Prepared", "RungName", "prepare", "read_reply"]
