"""Drafts with citations in any form, and how they become `[n]`.

Given: Markdown by whatever writer. Given back: its text with markers of sources, and these sources. Begin with
`reading`, which finds what cites; `lists` finds the lists of sources. `clean` knows the sources, `fix` does not.
"""
