"""Search engines, one class per file; the file has the name of the engine in `engines`. Most extend
`ApiEngine`, which sends requests, waits, and turns refusals and network errors into messages."""
