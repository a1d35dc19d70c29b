"""Citations and the report's Markdown.

`markers` finds citation markers in whole and streamed text; `citing` numbers sources and edits
citations. `draft` cleans a draft by our model, `foreign` reads reports written elsewhere.
`rendering` writes the final document (source list, links, notes, marks), `sanitizing` removes
active markup, `labels` has its labels in each language.
"""
