"""Splits texts and compares them, whatever they are about.

Given: a text. Given back: its words, stems, sentences, passages, dates and prose; which texts say the same; several
lists or two halves of a text in one. Read `words` first, then `sentences`.
"""
