"""Extends LangGraph's server with access control, our own routes, and the web page.

Start with `guard`, which checks every request first. `users` manages users and tokens, `auth`
decides what a user may do with threads and runs, `routes` and `offer` implement our API, `page`
serves the web page. `graphs` provides the graphs, saver and store for `langgraph.json`, and `serve`
implements the command.
"""
