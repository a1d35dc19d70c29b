"""Extends LangGraph's server with access control, our own routes, MCP, and the web page.

Public modules: `serve` runs the server; LangGraph loads the others as `langgraph.json` says.
`guard`, the app, checks every request first (start here); `auth` decides what a user may do with
threads and runs; `graphs` has the graphs, the saver and the store. `users` knows users and tokens.
"""
