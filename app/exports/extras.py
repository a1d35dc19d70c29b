"""What is said where a package for a format is missing."""

from __future__ import annotations

from deep_research.run.errors import UserMistake


class ExtraMissing(UserMistake):
    """A package for this format is not installed, or a library of the system that it needs."""
