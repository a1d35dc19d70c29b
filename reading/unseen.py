"""Takes out of a web page what its readers do not see, so that nothing speaks to a model behind their backs."""

from __future__ import annotations

import re

import lxml.html

_UNSEEN = (
    "script", "style", "noscript", "template", "iframe", "object", "svg", "math", "canvas", "audio", "video", "head",
    "button", "select", "textarea", "input", "dialog", "nav", "footer", "aside",
)  # fmt: skip
_HIDDEN_ATTRIBUTES = (
    "@hidden or @aria-hidden='true' or @type='hidden' or @role='navigation' or @role='contentinfo' or @role='dialog'"
)
_HIDDEN_STYLE = re.compile(
    r"display:none|visibility:(?:hidden|collapse)|opacity:0(?:\.0+)?(?:;|$)|font-size:(?:0(?:\.0\d*)?[a-z%]*|[01](?:\.\d+)?px)(?:;|$)"
    r"|(?:left|top|right|bottom|text-indent|margin-left|margin-top):-\d{3,}|clip:rect\((?:0|1px)"
    r"|clip-path:(?:inset\((?:50|100)%|circle\(0)|transform:(?:scale[xy]?\(0(?:\.0+)?[,)]|translate[xy]?\(-\d{3,})"
    r"|(?<![a-z-])(?:max-)?(?:height|width):0[a-z%]*;(?:.*;)?overflow:hidden"
    r"|overflow:hidden;(?:.*;)?(?:max-)?(?:height|width):0[a-z%]*(?:;|$)"
)
_FONT = re.compile(r"(?:^|;)font:[^;]*?(?<![\d.])0(?:px|pt|em|rem|%)?(?:/|[a-z'\"])")
_COLOUR = re.compile(r"(?:^|;)color:([^;]+)")
_BACKGROUND = re.compile(r"(?:^|;)background(?:-color|-image)?:([^;]+)")
_RGB = re.compile(r"rgba?\((\d+),(\d+),(\d+)(?:,([\d.]+))?\)")
_NAMED = {"white": "#ffffff", "black": "#000000"}
_PAPER = "#ffffff"
_NO_GROUND = {"", "transparent", "none", "inherit", "initial", "unset"}


def drop_unseen(root: lxml.html.HtmlElement) -> None:
    """Remove hidden elements, and those around the content such as navigation, from a page."""
    unseen = [*root.iter(*_UNSEEN), *root.xpath(f"//*[{_HIDDEN_ATTRIBUTES}]")]
    unseen += [element for element in root.xpath("//*[@style]|//font[@color]") if _is_hidden(element)]
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


def _is_hidden(element: lxml.html.HtmlElement) -> bool:
    style = _style(element)
    if _HIDDEN_STYLE.search(style) or _FONT.search(style):
        return True
    found = _COLOUR.search(style)
    colour = _plain_colour(found.group(1) if found else element.get("color", ""))
    # Letters cut out of a coloured background are transparent and can be read.
    is_clear = colour == "transparent" and "background-clip:text" not in style
    return is_clear or (bool(colour) and colour == _ground(element))


def _ground(element: lxml.html.HtmlElement) -> str:
    """The colour behind an element, as far as its and its surroundings' attributes tell; paper if they do not."""
    for one in (element, *element.iterancestors()):
        found = _BACKGROUND.search(_style(one))
        stated = _plain_colour(found.group(1) if found else one.get("bgcolor", ""))
        if stated not in _NO_GROUND:
            return stated
    return _PAPER


def _style(element: lxml.html.HtmlElement) -> str:
    return re.sub(r"\s+|!important", "", element.get("style", "").lower())


def _plain_colour(text: str) -> str:
    colour = re.sub(r"\s+", "", text.lower())
    if re.fullmatch(r"#[0-9a-f]{3}", colour):
        return "#" + "".join(2 * digit for digit in colour[1:])
    parts = _RGB.fullmatch(colour)
    if parts is None:
        return _NAMED.get(colour, colour)
    red, green, blue = (min(int(part), 255) for part in parts.groups()[:3])
    return "transparent" if parts.group(4) and float(parts.group(4)) == 0 else f"#{red:02x}{green:02x}{blue:02x}"
