"""Writes the footnotes of pages and Word documents as in Markdown: `[^1]` with `[^1]: ...`."""

from __future__ import annotations

import re
from collections.abc import Iterable

from lxml import etree

from ._tagged import put_before

_WORDS = re.compile(r"\s*[\[(]*(?P<label>\d{1,3}|[a-z]|[ivxlc]{1,6}|[*†‡§¶#]{1,3})[\])]*\s*", re.I)
_BACK = re.compile(r"\s*(?:[\[(]*(?:\d{1,3}|[a-z])[\])]*|[↩↑⏎↵^\ufe0e\s]{1,4})\s*", re.I)
_BLOCKS = ("li", "p", "dd", "div", "aside")
"""Elements that may contain a footnote and nothing else."""
_HEADINGS = ("h1", "h2", "h3", "h4", "h5", "h6")
_APART = ("footer", "aside", "nav")
"""Elements around the content of a page, in which footnotes may stand."""
_NOT_IN_LABEL = re.compile(r"[^\w-]+")


def note_reference(label: str) -> str:
    """Return the mark in the text that refers to a footnote."""
    return f"[^{label}]"


def write_note(paragraphs: Iterable[etree._Element], label: str) -> None:
    """Put the label before a footnote, and join its paragraphs, the elements that contain its
    words."""
    first, *others = paragraphs
    put_before(first, f"[^{label}]:")
    for other in others:
        other.tag = "span"
        other.text = f" {other.text or ''}"
        first.append(other)


def write_notes(root: etree._Element) -> list[etree._Element]:
    """Replace the links of a page to its footnotes, and the labels of these; return the elements
    with the footnotes.

    Such a link has a number, letter or sign as its words, and leads to a list item or paragraph
    further below.
    """
    positions = {element: index for index, element in enumerate(root.iter(etree.Element))}
    targets = dict[str, etree._Element]()
    for element in positions:
        for name in (element.get("id"), element.get("name")):
            if name:
                targets.setdefault(name, element)
    references = list[tuple[etree._Element, str, etree._Element]]()
    for link in root.iter("a"):
        address = link.get("href", "")
        words = _WORDS.fullmatch("".join(map(str, link.itertext())))
        target = targets.get(address[1:]) if address.startswith("#") else None
        note = None if target is None else _note_at(target)
        if words and note is not None and positions[note] > positions[link]:
            references.append((link, words["label"], note))
    labels = dict[etree._Element, str]()
    for link, label, note in references:
        if note not in labels and label in labels.values():
            label = _NOT_IN_LABEL.sub("-", link.get("href", "")[1:])[:40]
        labels.setdefault(note, label)
    for link, _, note in references:
        _write_reference(link, labels[note])
    for note, label in labels.items():
        _drop_way_back(note, label)
        inner = list(note.iterchildren("p"))
        has_own_words = bool((note.text or "").strip())
        if inner and not has_own_words:
            write_note(inner, label)
        else:
            write_note([note, *inner], label)
        for outer in [note, *note.iterancestors(*_APART)]:
            if outer.tag in _APART:
                outer.tag = "div"
    return list(labels)


def _note_at(target: etree._Element) -> etree._Element | None:
    """Return the footnote at the element to which a link leads; None if there is none."""
    note = target
    while note.tag not in _BLOCKS:
        above = note.getparent()
        if note.tag in _HEADINGS or above is None:
            return None
        note = above
    # A chapter is no footnote.
    if next(note.iter(*_HEADINGS), None) is not None:
        return None
    return note if "".join(map(str, note.itertext())).strip() else None


def _write_reference(link: etree._Element, label: str) -> None:
    """Replace a link to a footnote with its mark, which is not raised."""
    del link[:]
    link.tag = "span"
    link.text = note_reference(label)
    above = link.getparent()
    if above is not None and above.tag == "sup":
        above.tag = "span"


def _drop_way_back(note: etree._Element, label: str) -> None:
    """Remove the links of a footnote to its mark, and its own label."""
    for link in list(note.iter("a")):
        words = "".join(map(str, link.itertext()))
        if link.get("href", "").startswith("#") and _BACK.fullmatch(words):
            link.clear(keep_tail=True)
            link.tag = "span"
    written = (note.text or "").lstrip()
    if written.startswith(f"{label} "):
        note.text = written.removeprefix(label)
    raised = next(note.iter("sup"), None)
    if raised is not None and "".join(map(str, raised.itertext())).strip("[]() ") in ("", label):
        raised.clear(keep_tail=True)
