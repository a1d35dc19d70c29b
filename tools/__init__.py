"""The tools of researchers and steps; the search engines under them are in `engines/`.

Owns searching, opening and reading documents whole as a model or node asks for it, engines and
their failures, what an app passes in, which addresses a thread may open, and which words may leave
the machine. The built-in tools have a private module each, and those that an app passes in have one
together.

Public modules; read `tool` first, then `use`:

- `tool`: arguments, context, allowance and outcome of a tool call
- `offer`: which tools a role may call, what a question may search, and what the user's words allow
- `use`: runs tools within their limits, one by one or as a round of searches, stores what they
  find, and reads pages outside of runs
- `results`: formats results for models, and reads them back
- `engine`: interface, results and failures of search engines
- `run_engines`: chooses a run's engines, paces requests to them, and reuses their answers
"""
