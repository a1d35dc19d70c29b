"""Words, sentences, dates and likeness of texts, whatever is written in them. Begin with `words` and `sentences`."""
