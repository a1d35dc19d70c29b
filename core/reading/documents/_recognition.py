"""Recognises text in pictures (OCR): scans, photographs and screenshots.

It detects the lines of a page, reads them, and puts them in order.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from functools import cache
from io import BytesIO
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import how_to_install
from ...evidence.text.sentences import PAGE_END
from ._layout import in_order
from ._lines import Line
from ._parse_text import first_line
from .records import Extract, Reason, Unreadable

if TYPE_CHECKING:
    import numpy
    from PIL.Image import Image

PAGES, WEB_PAGES = 100, 10
"""Maximum number of pages to recognise in a user's file, and in a file from the web."""
SIDE = 3508
"""Maximum pixels of the longer side (A4 at 300 dpi); larger pictures are scaled down."""
_SMALLEST_SIDE = 1280
"""Minimum pixels of the longer side; smaller pictures are scaled up, because screenshots have small
letters."""
_DETECTED_SIDE = 1280
"""Pixels of the longer side for line detection; the lines are read at full size."""
_MOST_RATIO = 16
"""Maximum ratio of width to height of a picture of text; in longer lines, which are split, the
model misses text."""
_FEWEST_LETTERS = 0.4
"""Minimum number of letters on a stretch that is as wide as the line is high; with fewer, the model
probably does not know the script."""
_UNSURE, _UNREAD = 0.85, 0.5
"""Mean confidence below which a page is reported as uncertain, and below which it counts as not
read."""
_SMALLEST_PICTURE = 100
"""Minimum pixels of the shorter side for a picture to be searched for text."""
_NOT_INSTALLED = f"recognising text needs RapidOCR: {how_to_install('ocr')}"


class Recogniser:
    """Recognises the pages of a file; the models are loaded for the first page."""

    def __init__(self, most: int = PAGES, on_page: Callable[[], None] = lambda: None) -> None:
        """`most`: maximum number of pages to recognise.

        `on_page` is called before each, to ask for more time.
        """
        self._most = most
        self.on_page = on_page
        self._count = 0
        self._unsure: list[int] = []
        self._missed: dict[str, list[int]] = {}

    @property
    def has_missed_pages(self) -> bool:
        """Whether a page was not read."""
        return bool(self._missed)

    def page(self, number: int, draw: Callable[[], Image]) -> str:
        """Return the text of the picture of a page that `draw` returns.

        Empty if none can be read (see `note`).
        """
        if self._count == self._most:
            return self.add_missed(number, f"only {self._most} scanned pages are recognised")
        self.on_page()
        try:
            models = load_recognizer()
        except ImportError:
            return self.add_missed(number, _NOT_INSTALLED)
        self._count += 1
        text, confidence = _recognised(_as_array(draw()), models)
        if text and confidence < _UNREAD:
            return self.add_missed(
                number, "the text cannot be recognised, perhaps because of its script"
            )
        if text and confidence < _UNSURE:
            self._unsure.append(number)
        return text

    def add_missed(self, number: int, reason: str) -> str:
        """Record that a page could not be read, and return its text: an empty string."""
        self._missed.setdefault(reason, []).append(number)
        return ""

    def error(self) -> Unreadable | None:
        """Return the error to raise if the whole file gave no text; None if no page was missed."""
        if not self._missed:
            return None
        code: Reason = "no text"
        if _NOT_INSTALLED in self._missed:
            code = "not installed"
        return Unreadable(code, f"it is a scan; {'; '.join(self._missed)}")

    def note(self) -> str:
        """Return which pages were not read, and which with little confidence, for the user.

        Empty if there are none.
        """
        notes = [f"{_listed(pages)} not read: {reason}" for reason, pages in self._missed.items()]
        if self._unsure:
            notes.append(f"{_listed(self._unsure)} recognised with little confidence")
        return "; ".join(notes)


def _listed(pages: Sequence[int]) -> str:
    """List page numbers, with ranges for consecutive ones."""
    ranges = list[list[int]]()
    for page in pages:
        if ranges and page == ranges[-1][-1] + 1:
            ranges[-1].append(page)
        else:
            ranges.append([page])
    named = list[str]()
    for first, *others in ranges:
        named.append(f"{first}–{others[-1]}" if others else str(first))
    noun = "page" if len(pages) == 1 else "pages"
    return f"{noun} {', '.join(named)}"


@cache
def load_recognizer() -> Any:
    """Load the models once per process. Raises `ImportError`."""
    # Single-threaded, because several files are read at once and idle threads spin.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    import cv2
    import onnxruntime  # noqa: F401
    import rapidocr

    # The models need more memory than parsers.
    with suppress(ImportError, ValueError, OSError):
        import resource

        _, most = resource.getrlimit(resource.RLIMIT_AS)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    cv2.setNumThreads(1)
    models = Path(rapidocr.__file__).with_name("models")
    # Name the package's model files, because RapidOCR would download any that are not named.
    files = dict[str, str]()
    for part in ("Det", "Rec", "Cls"):
        files[f"{part}.model_path"] = str(min(models.glob(f"*_{part.lower()}_*.onnx")))
    params = {
        "Global.log_level": "critical",
        **files,
        "EngineConfig.onnxruntime.intra_op_num_threads": 1,
        "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        "Det.limit_type": "max",
        "Det.limit_side_len": _DETECTED_SIDE,
    }
    return rapidocr.RapidOCR(params=params)


def parse_image(data: bytes, recogniser: Recogniser) -> Extract:
    """Return the text of a picture, page by page; a TIFF file may contain several pages."""
    from PIL import Image, ImageSequence

    # Errors that Pillow raises on broken files; `UnidentifiedImageError` is an `OSError`.
    broken = (Image.DecompressionBombError, OSError, ValueError, SyntaxError, EOFError)
    pages = list[str]()
    try:
        picture = Image.open(BytesIO(data))
        if min(picture.size) < _SMALLEST_PICTURE:
            raise Unreadable("picture", "it is too small a picture for text")
        frames: Iterable[Image.Image] = [picture]
        if picture.format == "TIFF":
            frames = ImageSequence.Iterator(picture)
        for number, frame in enumerate(frames, 1):
            pages.append(recogniser.page(number, frame.copy))
    except broken as error:
        if not pages:
            raise Unreadable("broken", "it is a broken picture") from error
        recogniser.add_missed(len(pages) + 1, "the file is broken there")
    text = f"\n\n{PAGE_END}".join(pages)
    if not any(map(str.isalnum, chain.from_iterable(pages))):
        raise recogniser.error() or Unreadable("picture", "no text was recognised in it")
    is_cut = recogniser.has_missed_pages
    return Extract(first_line(text), text, is_cut=is_cut, note=recogniser.note())


def _as_array(picture: Image) -> numpy.ndarray:
    """Return the pixels of a picture in BGR, upright, on a white background."""
    import numpy
    from PIL import Image, ImageOps

    if picture.mode.startswith("I"):
        picture = picture.point(lambda value: value / 256).convert("L")
    picture = ImageOps.exif_transpose(picture)
    if picture.has_transparency_data:
        picture = picture.convert("RGBA")
        picture = Image.alpha_composite(Image.new("RGBA", picture.size, "white"), picture)
    longer = max(picture.size)
    scale = min(SIDE / longer, 1)
    if longer < _SMALLEST_SIDE:
        scale = 2
    if scale != 1:
        width = max(1, round(picture.width * scale))
        height = max(1, round(picture.height * scale))
        picture = picture.resize((width, height), Image.Resampling.LANCZOS)
    return numpy.ascontiguousarray(numpy.asarray(picture.convert("RGB"))[:, :, ::-1])


def _recognised(pixels: numpy.ndarray, models: Any) -> tuple[str, float]:
    """Return the text of a page and its mean confidence, from 0 to 1."""
    import numpy

    boxes, crops = _detected(pixels, models)
    standing = 0
    for box in boxes:
        width, height = box.max(axis=0) - box.min(axis=0)
        if height > 1.5 * width:
            standing += 1
    if standing * 2 > len(boxes):
        # The page is rotated by 90 degrees.
        boxes, crops = _detected(numpy.ascontiguousarray(numpy.rot90(pixels)), models)
    if not crops:
        return "", 1.0
    segments = list(map(_segments, crops))
    images = list(chain.from_iterable(segments))
    labels = [label for label, _ in models.cls_and_rotate(images)[1].cls_res]
    is_upside_down = labels.count("180") * 2 > len(labels)
    if is_upside_down:
        images = [numpy.ascontiguousarray(numpy.rot90(image, 2)) for image in images]
    read = models.recognize_txt(images)
    confidence = _confidence(images, read)
    texts = iter(read.txts)
    lines = list[Line]()
    for position, line_segments in zip(_upright(numpy.array(boxes)), segments, strict=True):
        words = [text.strip() for text in islice(texts, len(line_segments))]
        if is_upside_down:
            words.reverse()
            position = Line(-position.right, -position.bottom, -position.left, -position.top)
        text = " ".join(filter(None, words))
        if text:
            lines.append(position._replace(text=text))
    return in_order(lines), confidence


def _confidence(images: Sequence[numpy.ndarray], read: Any) -> float:
    """Return the mean confidence in the texts read from these images, weighted by their lengths.

    Texts with too few letters count as not recognised.
    """
    lengths = [image.shape[1] / image.shape[0] for image in images]
    sure = list[float]()
    for text, score, length in zip(read.txts, read.scores, lengths, strict=True):
        letters = sum(map(len, text.split()))
        if letters >= _FEWEST_LETTERS * length:
            sure.append(length * float(score))
    mean: float = sum(sure) / sum(lengths)
    return mean


def _detected(
    pixels: numpy.ndarray, models: Any
) -> tuple[Sequence[numpy.ndarray], Sequence[numpy.ndarray]]:
    """Return the corners and the pictures of the lines of a page."""
    from rapidocr.main import RapidOCRError

    try:
        crops, detected = models.detect_and_crop(
            pixels, {"preprocess": {"ratio_h": 1.0, "ratio_w": 1.0}}
        )
    except RapidOCRError:
        # There is no text.
        return [], []
    return detected.boxes, crops


def _segments(crop: numpy.ndarray) -> Sequence[numpy.ndarray]:
    """Split the picture of a line at spaces into segments of limited length."""
    import numpy

    height, width = crop.shape[:2]
    count = math.ceil(width / (_MOST_RATIO * height))
    if count == 1:
        return [crop]
    grey = crop.min(axis=2).astype(int)
    # Letters may be light on a dark background.
    ink = numpy.percentile(abs(grey - numpy.median(grey)), 90, axis=0)
    filled = numpy.convolve(ink, numpy.ones(max(3, height // 4)), "same")
    cuts = list[int]()
    for number in range(1, count):
        begin = width * number // count - 2 * height
        cuts.append(begin + int(numpy.argmin(filled[begin : begin + 4 * height])))
    return [crop[:, left:right] for left, right in pairwise([0, *cuts, width])]


def _upright(boxes: numpy.ndarray) -> list[Line]:
    """Return the positions of lines, given their corners, after straightening a skewed page."""
    import numpy

    along = boxes[:, 1] - boxes[:, 0]
    # Use the longer half of the lines, since the angles of short ones are unreliable.
    longest = numpy.argsort(numpy.hypot(along[:, 0], along[:, 1]))[len(along) // 2 :]
    angles = numpy.arctan2(along[:, 1], along[:, 0])[longest]
    skew = float(numpy.median(angles))
    sine = numpy.sin(skew)
    cosine = numpy.cos(skew)
    straightened = boxes @ numpy.array([[cosine, -sine], [sine, cosine]])
    lows = straightened.min(axis=1).tolist()
    highs = straightened.max(axis=1).tolist()
    return [Line(*low, *high) for low, high in zip(lows, highs, strict=True)]
