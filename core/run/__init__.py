"""What a run is given and what limits it: settings, limits, errors, spending, conversation,
packets, storage.

Owns `Context` and how settings are read, `Limits`, all exceptions, the clock and deadlines, what a
model's message leads to, plans as text and their schedule, message histories (tool calls and
results, shortening to a window), the user's messages, spending, concurrency, tracing, logs,
plugins, packets, and the databases of runs.

Begin with `context` (settings) and `limits` (numbers). `decisions` says what follows from a model's
tool calls; `errors` lists all exceptions as a tree. `branches` defines the states of researchers
and steps, `transcripts` handles tool calls and message histories, `schedule` the steps of a typed
plan. Packets are in `events/`, databases in `store/`.
"""
