"""Calling models: everything between a role of a run (such as the planner) and the answer from its
chat model.

Owns the choice of each role's model, with its window, price and abilities; requests, streaming,
timeouts, retries and costs of a call; the errors of model servers and their messages to the user;
tool results that a provider refuses to process; parsing of thoughts and tool calls; and the model
that works without a server (`extractive`).

Start with `ask.ask_model`, which takes a `Request` and returns a `Reply`. `resolve` finds a role's
model and a run's settings; `caller` makes one call and reports its cost; `retries` repeats it;
`faults` classifies errors; `repetition` finds endless repetition in an answer. `openai_chat`,
`deltas` and `quirks` talk to servers; `abilities` and `ladder` (from native tool calls down to
tagged text) help models that are weak at calling tools.
"""
