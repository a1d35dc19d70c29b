"""What a run is told from outside: settings, limits, the environment, and plugins.

Public modules:

- `context`: `Context`, the settings of a run, and how they are read. Start here.
- `limits`: all numeric limits.
- `env_file`: loads `.env`.
- `server_settings`: what the operator of the server sets, and what its users may choose.
- `network`: proxies, certificates, why a connection failed, and how much of an answer is read.
- `installed`: the version of this package, and plugins of other packages.
"""
