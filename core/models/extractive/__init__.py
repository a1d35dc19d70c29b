"""A chat model that reads instead of writing: it takes a request apart, and answers each part with what documents say.

It is given typed facts beside the messages (`models.facts`), and gives back messages and tool calls as any model does.
Read `roles` first: it says what the model does in each role of a run.
"""

from .chat import ExtractiveChatModel

__all__ = ["ExtractiveChatModel"]
