"""A finished report in the forms that people read (HTML, PDF, Word) and programs take in (BibTeX, CSL-JSON).

Given: a run with a report. Given back: text or bytes. Begin with `finished`, what every form shows; `body` makes a tree
of the report's Markdown, which `page` and `word` render.
"""
