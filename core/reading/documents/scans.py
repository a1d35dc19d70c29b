"""The picture of a scanned PDF page, put together from the images that the page shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from PIL import Image, ImageOps
from pypdf import PageObject
from pypdf.errors import DependencyError, PyPdfError
from pypdf.generic import ContentStream, StreamObject

from .recognition import SIDE

DEEPEST = 4
"""Forms within forms in which images are looked for."""
SCANNED_SHARE = 0.25
"""Share of a page that its images cover at least if it is a scan."""

# What pypdf and Pillow raise on images that they cannot decode.
_UNDECODABLE = (
    *(PyPdfError, DependencyError, NotImplementedError, Image.DecompressionBombError),
    *(OSError, ValueError, TypeError, LookupError, AttributeError),
)
Matrix = tuple[float, float, float, float, float, float]
_NONE: Matrix = (1, 0, 0, 1, 0, 0)


class Placed(NamedTuple):
    """An image on a page."""

    stream: StreamObject
    matrix: Matrix
    """Where its unit square lies on the page."""

    @property
    def area(self) -> float:
        """The part of the page that it covers, in square points."""
        a, b, c, d, _, _ = self.matrix
        return abs(a * d - b * c)


def images_of(page: PageObject) -> list[Placed]:
    """Return the images that make a page a scan; none if it is none."""
    if not _has_images(page.get("/Resources"), DEEPEST):
        return []
    found = list(_placed(page.get_contents(), page.get("/Resources"), _NONE, DEEPEST))
    size = float(page.cropbox.width) * float(page.cropbox.height)
    return found if sum(one.area for one in found) >= SCANNED_SHARE * size else []


def picture_of(page: PageObject, images: list[Placed]) -> Image.Image | None:
    """Return what images show on a page, upright; none if one of them cannot be decoded."""
    try:
        pictures = [(one, one.stream.decode_as_image()) for one in images]
    except _UNDECODABLE:
        return None
    dots = max((picture.width / max(_side(one), 1) for one, picture in pictures if picture), default=0)
    box = page.cropbox
    width, height = float(box.width), float(box.height)
    dots = min(dots, SIDE / max(width, height))
    canvas = Image.new("RGB", (max(1, round(width * dots)), max(1, round(height * dots))), "white")
    for one, picture in pictures:
        if picture is None:
            return None
        a, b, c, d, e, f = one.matrix
        top = float(box.top)
        # From the unit square to pixels, which are counted from the top.
        place = (a * dots, -b * dots, c * dots, -d * dots, (e - float(box.left)) * dots, (top - f) * dots)
        _paste(canvas, picture, place, is_mask=bool(one.stream.get("/ImageMask")))
    return canvas.rotate(-page.rotation, expand=True)


def _side(image: Placed) -> float:
    a, b, _, _, _, _ = image.matrix
    return float((a * a + b * b) ** 0.5)


def _paste(canvas: Image.Image, picture: Image.Image, place: Matrix, *, is_mask: bool) -> None:
    a, b, c, d, e, f = place
    corners = [(e, f), (e + a, f + b), (e + c, f + d), (e + a + c, f + b + d)]
    left, top = (max(0, int(min(corner[axis] for corner in corners))) for axis in (0, 1))
    right, bottom = (min(canvas.size[axis], int(max(corner[axis] for corner in corners)) + 1) for axis in (0, 1))
    size, area = (right - left, bottom - top), a * d - b * c
    if min(size) < 1 or not area:
        return
    if is_mask:
        alpha = ImageOps.invert(picture.convert("L"))
        picture = Image.new("RGB", picture.size, "black")
    else:
        alpha = (
            picture.convert("RGBA").getchannel("A")
            if picture.has_transparency_data
            else Image.new("L", picture.size, 255)
        )
    wide, high = picture.size
    x, y = left - e, top - f
    back = (
        *(d / area * wide, -c / area * wide, (d * x - c * y) / area * wide),
        *(b / area * high, -a / area * high, high * (1 + (b * x - a * y) / area)),
    )
    tile, mask = (
        one.transform(size, Image.Transform.AFFINE, back, Image.Resampling.BICUBIC)
        for one in (picture.convert("RGB"), alpha)
    )
    canvas.paste(tile, (left, top), mask)


def _has_images(resources: Any, depth: int) -> bool:
    return any(
        one.get("/Subtype") == "/Image" or (depth and _has_images(one.get("/Resources"), depth - 1))
        for one in _objects(resources).values()
    )


def _objects(resources: Any) -> dict[str, StreamObject]:
    resources = resources.get_object() if resources is not None else {}
    objects = resources.get("/XObject", {}).get_object() if "/XObject" in resources else {}
    found = {name: objects[name].get_object() for name in objects}
    return {name: one for name, one in found.items() if isinstance(one, StreamObject)}


def _placed(content: Any, resources: Any, matrix: Matrix, depth: int) -> Iterator[Placed]:
    """Yield the images that a content draws, with their places, those of its forms too."""
    objects, kept = _objects(resources), list[Matrix]()
    for operands, operator in content.operations if content is not None else ():
        if operator == b"q":
            kept.append(matrix)
        elif operator == b"Q" and kept:
            matrix = kept.pop()
        elif operator == b"cm":
            matrix = _after(_matrix(operands), matrix)
        elif operator == b"Do" and operands and operands[0] in objects:
            one = objects[operands[0]]
            if one.get("/Subtype") == "/Image":
                yield Placed(one, matrix)
            elif depth:
                inner = _after(_matrix(one.get("/Matrix", _NONE)), matrix)
                yield from _placed(ContentStream(one, None), one.get("/Resources", resources), inner, depth - 1)


def _matrix(numbers: Any) -> Matrix:
    a, b, c, d, e, f = map(float, numbers)
    return a, b, c, d, e, f


def _after(first: Matrix, then: Matrix) -> Matrix:
    """Return the matrix that does what two do one after the other."""
    a, b, c, d, e, f = first
    p, q, r, s, t, u = then
    return a * p + b * r, a * q + b * s, c * p + d * r, c * q + d * s, e * p + f * r + t, e * q + f * s + u
