"""Takes out of a web page what its readers do not see, so that nothing speaks to a model behind their backs."""

from __future__ import annotations

from collections.abc import Iterable

import lxml.html

from .colours import Colour, colour_of
from .sheets import Sheets
from .styles import hides

_UNSEEN = (
    "script", "style", "noscript", "template", "iframe", "object", "svg", "math", "canvas", "audio", "video", "head",
    "button", "select", "textarea", "input", "dialog", "nav", "footer", "aside", "noframes", "noembed", "datalist",
    "rp", "meter",
)  # fmt: skip
_HIDING_ATTRIBUTES = ("hidden", "popover", "inert")
_HIDING_VALUES = {
    "aria-hidden": ("true",),
    "type": ("hidden",),
    "role": ("navigation", "contentinfo", "dialog"),
}
_PAPER = Colour(255, 255, 255)
_NO_GROUND = {"", "none", "inherit", "initial", "unset"}


def drop_unseen(root: lxml.html.HtmlElement) -> None:
    """Remove hidden elements, and those around the content such as navigation, from a page."""
    # The sheets stand in the head, which goes too.
    sheets = Sheets(root)
    styled: Iterable[lxml.html.HtmlElement] = [
        *root.xpath("//*[@*]"),
        *(root.iter(*sheets.tags) if sheets.tags else ()),
    ]
    unseen = [*root.iter(*_UNSEEN), *(one for one in styled if _has_hiding_attribute(one) or _is_hidden(one, sheets))]
    for element in unseen:
        if element.getparent() is not None and element.tag != "body":
            element.drop_tree()
    _close_details(root)


def _close_details(root: lxml.html.HtmlElement) -> None:
    """Leave nothing but the summary of what a reader would have to open."""
    for details in root.xpath("//details[not(@open)]"):
        details.text = None
        for child in list(details):
            child.tail = None
            if child.tag != "summary":
                details.remove(child)


def _has_hiding_attribute(element: lxml.html.HtmlElement) -> bool:
    if any(element.get(name) is not None for name in _HIDING_ATTRIBUTES):
        return True
    return any(element.get(name, "").strip().lower() in values for name, values in _HIDING_VALUES.items())


def _is_hidden(element: lxml.html.HtmlElement, sheets: Sheets) -> bool:
    style = sheets.style(element)
    if hides(style):
        return True
    attribute = element.get("color", "").strip().lower() if element.tag == "font" else ""
    colour = colour_of(style.get("text-fill-color") or style.get("color", attribute))
    if colour is None:
        return False
    if colour.is_clear:
        # Letters cut out of a coloured background are transparent and can be read.
        return style.get("background-clip") != "text"
    ground = _ground(element, sheets)
    return ground is not None and colour.is_like(ground)


def _ground(element: lxml.html.HtmlElement, sheets: Sheets) -> Colour | None:
    """The colour behind an element, as far as the page tells: paper if it does not, none if it is a picture."""
    for one in (element, *element.iterancestors()):
        style = sheets.style(one)
        stated = [style.get(f"background{part}", "") for part in ("", "-color", "-image")]
        stated.append(one.get("bgcolor", "").strip().lower())
        for value in stated:
            colour = _ground_colour(value)
            if value not in _NO_GROUND and (colour is None or not colour.is_clear):
                return colour
    return _PAPER


def _ground_colour(background: str) -> Colour | None:
    if "url(" in background or "gradient(" in background:
        return None
    colours = (colour_of(word) for word in background.split(" "))
    return colour_of(background) or next((colour for colour in colours if colour), None)
