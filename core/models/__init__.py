"""Calling models: everything between a role of a run and the answer from its chat model.

Owns which model a role has, its window, prices and abilities; requests, streaming, timeouts, retries and costs of a
call; the faults of model servers and their messages; results that a provider refuses to process; parsing of
thoughts and tool calls; and the model that works without a server (`extractive`).

Start with `ask.ask_model`, which takes a `Request` and returns a `Reply`. `resolve` finds a role's model and a
run's settings; `caller` makes one call and counts its cost; `retries` retries it; `faults` classifies errors.
`openai_chat`, `deltas` and `quirks` talk to servers; `abilities` and `ladder` help models that are weak at calling
tools.
"""
