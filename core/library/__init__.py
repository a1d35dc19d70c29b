"""The user's documents: folders and files of `docs`, indexed in SQLite, kept up to date, searched and read.

Owns index files and folders (listing, hashing, locking, rebuilding, removing), full-text queries, the ranking of
passages and trails of documents, near words, the list of documents for prompts, files attached to messages
(`attachments`), and the search of pages that the user's earlier runs have read (`earlier`).

Start with `library`; `upkeep` keeps the indexes up to date, `shelf` and `trails` rank passages.
"""
