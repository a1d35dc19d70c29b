"""Does a passage support a sentence? Numbers, dates, names, negations and words are compared, without a model."""

from .checking import Check, Verdict, check_claim, score_support, stands_in
from .reading import Evidence, read_evidence

__all__ = ["Check", "Evidence", "Verdict", "check_claim", "read_evidence", "score_support", "stands_in"]
