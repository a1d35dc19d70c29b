"""The user's documents: the folders and files of the setting `docs`, indexed in SQLite, kept up to
date, and searched.

Owns index files and folders (listing, hashing, locking, rebuilding, removing), full-text queries,
the ranking of passages, the search for trails (passages that answer a question together, each
linked to the ones before), the replacement of misspelt words in queries, the list of documents for
prompts, files attached to messages (`attachments`), and the search of pages that the user's earlier
runs have read (`earlier`).

Start with `library`; `upkeep` keeps the indexes up to date, `shelf` and `trails` rank passages.
"""
