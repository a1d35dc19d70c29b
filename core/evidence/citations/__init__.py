"""Citations and the report's Markdown.

Public modules:

- `markers`: finds citation markers, marks of footnotes and code in whole and streamed text.
- `citing`: numbers sources, resolves streamed citations, and edits texts.
- `rendering`: cleans a draft, and writes the final document: text, marks, source list, notes.
- `sanitizing`: removes active markup.
- `foreign`: reads a report written by another program, with all citations as ours, and divides off
  its publisher's own words.
- `labels`: the fixed words of a report in each language (`labels.toml`).

Start with `markers`. Private: `_draft` turns a draft's citations into ours, and `_footnotes`
footnotes that name a source.
"""
