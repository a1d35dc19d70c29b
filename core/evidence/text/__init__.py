"""General text functions: splitting, stemming, comparing and repairing.

`words` and `stems` split text into words and index terms, `sentences` into passages, sections and
sentences; `quantities` reads and recalculates numbers, `similarity` compares and deduplicates
texts, `continuation` joins truncated model output with its continuation and finds endless
repetition. Start with `words`.
"""
