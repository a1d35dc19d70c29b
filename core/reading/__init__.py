"""Fetches web pages safely, and turns them and the user's files into text.

Owns web addresses (parsing, comparing, joining, DOIs), the rules for which of them may be read,
robots.txt, connections, redirects and limits of downloads, the browser, and, in `documents`, every
parser of bytes.

Public modules: `web_page` reads a page, and renders it if it needs scripts (start here);
`addresses` parses addresses and defines the refusal of one; `policy` says which may be read.
"""
