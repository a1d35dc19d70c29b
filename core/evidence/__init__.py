"""The evidence behind a report, in pure functions that call no model.

Owns texts and their comparison (words, sentences, languages, near-duplicates), citations and the
Markdown of reports, the proof of verdicts, and the research memory.

Public module:

- `exclusion`: finds the sources that the user excludes, and takes what rests on them alone out of
  what models are shown.

The rooms below: `citations` finds, numbers and renders citations; `checking` checks a report's
statements against source texts; `memory` holds learnings, gaps and contradictions; `text` splits
and compares texts. Start with `citations/markers.py`.
"""
