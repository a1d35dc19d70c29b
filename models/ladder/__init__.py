"""The ladder by which models that are weak at calling tools take part all the same."""

from deep_research.models.ladder.reply import read_reply
from deep_research.models.ladder.rungs import Prepared, RungName, prepare

__all__ = ["Prepared", "RungName", "prepare", "read_reply"]
