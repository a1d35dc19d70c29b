"""What a report cites and how that is shown: markers in a text, numbers, the list of sources, labels in each language.

Given: Markdown with markers, and sources. Given back: the same text numbered, cleaned, marked or with its list. Begin
with `markers` and `scanner`, which find the markers; `draft` cleans those of our own writer.
"""
