"""Engines that search the web, one class each."""
