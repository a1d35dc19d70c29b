"""Does a passage support a sentence? Numbers, dates, names, negations and words are compared, without a model."""

from deep_research.evidence.support.checking import Check, Verdict, check_claim, score_support
from deep_research.evidence.support.reading import Evidence, read_evidence

__all__ = ["Check", "Evidence", "Verdict", "check_claim", "read_evidence", "score_support"]
