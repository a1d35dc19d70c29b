"""The ladder by which models that are weak at calling tools take part all the same."""

from deep_research.models.ladder.reply import read_reply
from deep_research.models.ladder.rungs import Prepared, Rung, RungName, rung_named

__all__ = ["Prepared", "Rung", "RungName", "read_reply", "rung_named"]
