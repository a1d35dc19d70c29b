"""The user's documents: folders and files of `docs`, indexed in SQLite, kept up to date, searched and read.

Also here: files attached to messages (`attachments`), the list of documents for prompts, and the search of pages that
the user's earlier runs have read (`earlier`). Start with `library`; `upkeep` keeps the indexes up to date, `shelf` and
`trails` rank passages.
"""
