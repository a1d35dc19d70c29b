"""Fetches web pages safely, and turns them and the user's files into text.

Owns web addresses (parsing, comparing, joining, DOIs), the rules for which of them may be read,
robots.txt, connections, redirects and limits of downloads, the browser, and every parser of bytes:
charsets, control characters, PDF, office files, HTML, OCR.

`web_page` reads a page, and renders it if it needs scripts: `policy` says which addresses may be
read, `fetch` downloads. `documents` contains the parsers and their child processes, `records` the
results and refusals. Start with `web_page`.
"""
