"""What a run is told from outside: settings, limits, the environment, and plugins.

Begin with `context` (`Context`, and how settings are read) and `limits` (all numbers). `env_file`
loads `.env`, `user_settings` says what a user of the server may choose, `network` reads proxies and
certificates, `registered` finds plugins.
"""
