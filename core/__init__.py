"""Packages between the state and the nodes; each imports only those listed before it.

`records` (data); the public modules `masking` (hides secrets in texts), `errors` (all exceptions)
and `concurrency` (values per event loop, threads, locks); `evidence` (citations, proof),
`settings`, `store` (databases of runs), `accounts` (costs), `events` (packets), `dialogue`
(conversation, plans), `models`, `reading` (web pages, documents), `library` (the user's documents),
`writing` (the report).
"""
