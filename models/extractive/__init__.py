"""A chat model that reads instead of writing."""

from .chat import ExtractiveChatModel

__all__ = ["ExtractiveChatModel"]
