"""Writes a finished report as HTML, PDF, Word, BibTeX and CSL-JSON.

Public modules: `formats` has a record for each export format, which everything that offers exports
reads; `finished` has the content that all formats share (start with it). Each format is a private
module of its own; `_page` writes HTML and PDF.
"""
