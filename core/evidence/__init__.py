"""The evidence behind a report, in pure functions that call no model.

`text` splits and compares texts; `citations` finds, numbers and renders citations and the report's Markdown; `checking`
checks a report's statements against source texts; `memory` holds learnings, gaps and contradictions, and writes the
notes below a report (not found, not read, not verified). `dating`, `standing` and `origin` read a document's date,
draft or superseded status, and publisher; `language` detects languages. Start with `citations/markers.py`.
"""
