"""Calling models: everything between a role of a run and the answer from its chat model.

Start with `ask.ask_model`, which takes a `Request` and returns a `Reply`. `resolve` finds a role's model and a run's
settings; `caller` makes one call and counts its cost; `retries` retries it; `faults` classifies errors. `openai_chat`,
`deltas` and `quirks` talk to servers; `abilities` and `ladder` help models that are weak at calling tools;
`extractive` quotes sources by rules, without a language model.
"""
