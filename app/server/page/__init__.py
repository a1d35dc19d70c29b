"""The files of the web page; they use only the server's public routes.

Read `index.html` first, then `main.js`. There are no modules: `app.server` serves the files.
"""
