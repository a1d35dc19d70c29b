"""The user's documents: the folders and files of the setting `docs`, indexed in SQLite, kept up to
date, and searched.

Owns index files and folders (listing, hashing, locking, rebuilding, removing), full-text queries,
the ranking of passages, the search for trails (passages that answer a question together, each
linked to the ones before) and the replacement of misspelt words in queries.

Public modules:

- `library`: searches, reads, outlines and lists the documents, and brings their indexes up to
  date. Start here.
- `attachments`: files attached to messages.
- `earlier`: pages that the user's earlier runs have read.
"""
