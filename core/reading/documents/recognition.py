"""Recognises the text of pictures: finds the lines of a page, reads them, and puts them in order."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from itertools import groupby, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..records import Unreadable
from .layout import Line, in_order

if TYPE_CHECKING:
    import numpy
    from PIL.Image import Image

PAGES, WEB_PAGES = 100, 10
"""Pages of a file, and of a file of the web, that are recognised; the others are not read."""
SIDE = 3508
"""Pixels of the longer side of a page, as of A4 at 300 dots per inch; what is larger is made smaller."""
SMALLEST_SIDE = 1280
"""Pixels of the longer side up to which a picture is enlarged: the letters of a screenshot are small."""
DETECTED_SIDE = 1280
"""Pixels of the longer side in which lines are found; they are read in full size."""
MOST_RATIO = 16
"""How many times as wide as high a piece of a line may be: the recogniser loses longer ones."""
FEWEST_LETTERS = 0.4
"""Letters for each square as high as its line; fewer mean that the recogniser does not know the script."""
UNSURE, UNREAD = 0.85, 0.5
"""Mean confidence of a page below which it is named as unsure, or counts as not read."""
UPSIDE_DOWN = "180"
NOT_INSTALLED = 'recognising text needs RapidOCR: pip install ".[ocr]" in the checkout of deep_research'


class Recogniser:
    """Recognises the pages of one file; the models are loaded for the first page of the first file."""

    def __init__(self, most: int = PAGES, on_page: Callable[[], None] = lambda: None) -> None:
        """Read at most so many pages; `on_page` is called before each."""
        self._most = most
        self.on_page = on_page
        """Says that a long file is still being read."""
        self._count = 0
        self._unsure: list[int] = []
        self._missed: dict[str, list[int]] = {}

    @property
    def misses(self) -> bool:
        """Whether a page was not read."""
        return bool(self._missed)

    def page(self, number: int, draw: Callable[[], Image]) -> str:
        """Return the lines of a page; empty without any text, and if it cannot be read: `note` tells."""
        if self._count == self._most:
            return self.miss(number, f"only {self._most} scanned pages are recognised")
        self.on_page()
        try:
            models = load_models()
        except ImportError:
            return self.miss(number, NOT_INSTALLED)
        self._count += 1
        text, confidence = _recognised(_as_array(draw()), models)
        if text and confidence < UNREAD:
            return self.miss(number, "the text cannot be recognised, maybe for its script")
        if text and confidence < UNSURE:
            self._unsure.append(number)
        return text

    def miss(self, number: int, reason: str) -> str:
        """Note that a page is not read."""
        self._missed.setdefault(reason, []).append(number)
        return ""

    def unread(self) -> Unreadable | None:
        """Return why nothing was read; none if no page was missed."""
        if not self._missed:
            return None
        reason = "; ".join(self._missed)
        return Unreadable("not installed" if NOT_INSTALLED in self._missed else "no text", f"it is a scan; {reason}")

    def note(self) -> str:
        """Return in a line which pages were not read, and which are unsure; empty if all is well."""
        missed = [f"{_listed(pages)} not read: {reason}" for reason, pages in self._missed.items()]
        unsure = [f"{_listed(self._unsure)} recognised with little confidence"] if self._unsure else []
        return "; ".join([*missed, *unsure])


def _listed(pages: Sequence[int]) -> str:
    """Return the numbers of pages in words, those in a row as a range."""
    rows = [list(row) for _, row in groupby(enumerate(pages), lambda pair: pair[1] - pair[0])]
    named = [str(row[0][1]) if len(row) == 1 else f"{row[0][1]}–{row[-1][1]}" for row in rows]
    return f"{'page' if len(pages) == 1 else 'pages'} {', '.join(named)}"


@cache
def load_models() -> Any:
    """Return the models of this process, which are loaded once. Raises `ImportError`."""
    # One thread each: several files are read at once, and threads that wait for work would take the other's processor.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    import cv2
    import onnxruntime  # noqa: F401
    import rapidocr

    # The models need more memory than reading does.
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    cv2.setNumThreads(1)
    models = Path(rapidocr.__file__).with_name("models")
    # Named by their files, which lie in the package: what it does not find it would download.
    files = {f"{part}.model_path": str(min(models.glob(f"*_{part.lower()}_*.onnx"))) for part in ("Det", "Rec", "Cls")}
    threads = {f"EngineConfig.onnxruntime.{kind}_op_num_threads": 1 for kind in ("intra", "inter")}
    size = {"Det.limit_type": "max", "Det.limit_side_len": DETECTED_SIDE}
    return rapidocr.RapidOCR(params={"Global.log_level": "critical", **files, **threads, **size})


def _as_array(picture: Image) -> numpy.ndarray:
    """Return the pixels of a picture, upright, on white, blue first."""
    import numpy
    from PIL import Image, ImageOps

    if picture.mode.startswith("I"):
        picture = picture.point(lambda value: value / 256).convert("L")
    picture = ImageOps.exif_transpose(picture)
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    longer = max(picture.size)
    scale = SIDE / longer if longer > SIDE else 2 if longer < SMALLEST_SIDE else 1
    if scale != 1:
        width, height = (max(1, round(side * scale)) for side in picture.size)
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    return numpy.ascontiguousarray(numpy.asarray(picture.convert("RGB"))[:, :, ::-1])


def _recognised(pixels: numpy.ndarray, models: Any) -> tuple[str, float]:
    """Return the lines of a page and how sure they are, from 0 to 1."""
    import numpy

    boxes, crops = _detected(pixels, models)
    sides = [box.max(axis=0) - box.min(axis=0) for box in boxes]
    if sum(bool(height > 1.5 * width) for width, height in sides) * 2 > len(boxes):
        # The page lies on its side.
        boxes, crops = _detected(numpy.ascontiguousarray(numpy.rot90(pixels)), models)
    if not crops:
        return "", 1.0
    pieces = [_pieces(crop) for crop in crops]
    images = [image for line in pieces for image in line]
    labels = [label for label, _ in models.cls_and_rotate(images)[1].cls_res]
    is_upside_down = labels.count(UPSIDE_DOWN) * 2 > len(labels)
    if is_upside_down:
        images = [numpy.ascontiguousarray(numpy.rot90(image, 2)) for image in images]
    read = models.recognize_txt(images)
    squares = [image.shape[1] / image.shape[0] for image in images]
    sure = sum(
        size * float(score)
        for text, score, size in zip(read.txts, read.scores, squares, strict=True)
        if sum(map(len, text.split())) >= FEWEST_LETTERS * size
    )
    texts = iter(read.txts)
    lines = []
    for place, line in zip(_upright(numpy.array(boxes)), pieces, strict=True):
        words = [next(texts).strip() for _ in line]
        lines.append(place._replace(text=" ".join(filter(None, reversed(words) if is_upside_down else words))))
    if is_upside_down:
        lines = [Line(-one.right, -one.bottom, -one.left, -one.top, one.text) for one in lines]
    return in_order([line for line in lines if line.text]), sure / sum(squares)


def _detected(pixels: numpy.ndarray, models: Any) -> tuple[Sequence[numpy.ndarray], Sequence[numpy.ndarray]]:
    """Return the corners of the lines of a page, and their pictures."""
    from rapidocr.main import RapidOCRError

    try:
        crops, found = models.detect_and_crop(pixels, {"preprocess": {"ratio_h": 1.0, "ratio_w": 1.0}})
    except RapidOCRError:
        # There is no text.
        return [], []
    return found.boxes, crops


def _pieces(crop: numpy.ndarray) -> Sequence[numpy.ndarray]:
    """Return the picture of a line in pieces, cut where it is emptiest: between words."""
    import numpy

    height, width = crop.shape[:2]
    count = -(-width // (MOST_RATIO * height))
    if count == 1:
        return [crop]
    grey = crop.min(axis=2).astype(int)
    # Letters may be light on dark.
    ink = numpy.percentile(abs(grey - numpy.median(grey)), 90, axis=0)
    filled = numpy.convolve(ink, numpy.ones(max(3, height // 4)), "same")
    begins = (width * number // count - 2 * height for number in range(1, count))
    cuts = [begin + int(numpy.argmin(filled[begin : begin + 4 * height])) for begin in begins]
    return [crop[:, left:right] for left, right in pairwise([0, *cuts, width])]


def _upright(boxes: numpy.ndarray) -> list[Line]:
    """Return where lines stand, by their corners, on a page that is no longer askew."""
    import numpy

    along = boxes[:, 1] - boxes[:, 0]
    angles = numpy.arctan2(along[:, 1], along[:, 0])[_longest(along)]
    turned = float(numpy.median(angles))
    back = numpy.array([[numpy.cos(turned), -numpy.sin(turned)], [numpy.sin(turned), numpy.cos(turned)]])
    lows, highs = (boxes @ back).min(axis=1), (boxes @ back).max(axis=1)
    return [Line(*low, *high) for low, high in zip(lows.tolist(), highs.tolist(), strict=True)]


def _longest(along: numpy.ndarray) -> numpy.ndarray:
    """Return the numbers of the longer half of some vectors: those of short lines tell little."""
    import numpy

    return numpy.argsort(numpy.hypot(along[:, 0], along[:, 1]))[len(along) // 2 :]
