"""Drafts with citations in any form, and how they become clean."""
