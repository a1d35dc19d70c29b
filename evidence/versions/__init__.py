"""Which documents are versions of one document, which of them is in force, and which one a question means."""
