"""A chat model that only quotes: it splits a request into parts and answers each with passages of documents.

It reads the facts of a `Request` (`models.request`) instead of the messages, and returns messages and tool calls like
any model. Start with `roles`, which defines its behaviour in each role of a run. `parts` splits requests, `units`
splits texts, `choosing` selects the quotes.
"""
