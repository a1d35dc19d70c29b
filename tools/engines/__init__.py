"""Search engines, one class per file; the file has the name of the engine in `engines`.

They are loaded by these names. Most extend `ApiEngine` (`_api`), which sends requests, waits, and
turns refusals and network errors into messages.
"""
