"""From a role of a run to the answer of a chat model.

A node gives a `Request` and gets a `Reply` from `ask.ask_model`: read that first. Below it, `resolve` finds the model
of a role, `caller` makes one call and counts its cost, `retries` repeats it, and `faults` says what went wrong.
`openai_chat` and `deltas` speak with servers; `abilities` and `ladder` are for models that are weak at calling tools.
`extractive` is the model that quotes.
"""
