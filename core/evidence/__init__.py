"""The evidence behind a report, in pure functions that call no model.

Owns texts and their comparison (words, stems, sentences, numbers, languages, near-duplicates),
citations and the Markdown of reports, the proof of verdicts, the research memory with the notes
below a report (not found, not opened, not verified), and what a text says about its own date,
standing and publisher.

`text` splits and compares texts; `citations` finds, numbers and renders citations; `checking`
checks a report's statements against source texts; `memory` holds learnings, gaps and
contradictions. `dating`, `standing` and `origin` read a document's date, draft or superseded
status, and publisher; `language` detects languages. Start with `citations/markers.py`.
"""
