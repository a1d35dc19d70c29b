"""Writes a finished report as HTML, PDF, Word, BibTeX and CSL-JSON.

`formats` has a record for each export format, which everything that offers exports reads. Start
with `finished`, the content that all formats share. `body` turns the report's Markdown into an
element tree with verdicts and citations (`chart` adds line charts), `page` renders it as HTML and
PDF, `word` writes that page as a Word document, and `bibliography` writes the sources.
"""
