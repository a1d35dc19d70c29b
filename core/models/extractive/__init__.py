"""A chat model without a language model: it splits a request into parts and answers each with
quotes of the documents.

It reads the `Facts` of a `Request` (`models.request`) instead of the messages, and returns messages
and tool calls like any model. Start with `_roles`, which defines what it does in each role of a
run. `_parts` splits requests into questions and topics, `_units` splits texts into sentences and
the like, `_choosing` selects which of these to quote, and `_editions` finds outdated documents for
it.

Public modules:

- `chat`: the chat model
"""
