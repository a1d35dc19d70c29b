"""A chat model that reads instead of writing."""

from deep_research.models.extractive.chat import ExtractiveChatModel

__all__ = ["ExtractiveChatModel"]
