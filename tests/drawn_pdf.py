"""PDF files as programs draw them: each piece of text at its position, with rules, form fields and page labels."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple


class Put(NamedTuple):
    """A piece of text on a page, from the left and from the bottom, in points."""

    x: float
    y: float
    text: str
    size: float = 11
    rise: float = 0


class Rule(NamedTuple):
    """A line between two points."""

    x: float
    y: float
    to_x: float
    to_y: float


class Field(NamedTuple):
    """A field of a form with its value; `kind`: `Tx` for text, `Btn` for a box that is ticked."""

    x: float
    y: float
    value: str
    kind: str = "Tx"


Piece = Put | Rule | Field


def width_of(text: str, size: float = 11) -> float:
    """The width of figures in Helvetica."""
    return size * sum(0.556 if sign.isalnum() else 0.3 for sign in text)


def column(x: float, top: float, lines: Sequence[str], leading: float = 14, size: float = 11) -> list[Put]:
    """Lines below each other."""
    return [Put(x, top - leading * place, line, size) for place, line in enumerate(lines)]


def drawn(*pages: Sequence[Piece], labels: str = "", turned: int = 0) -> bytes:
    """A PDF with these pieces in their order; `labels`: the `Nums` of its page labels."""
    objects = [b"", b"", b"<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>"]
    kids, fields = list[int](), list[int]()
    for pieces in pages:
        content = b"\n".join(map(_shown, (piece for piece in pieces if not isinstance(piece, Field))))
        objects.append(b"<< /Length %d >>\nstream\n%s\nendstream" % (len(content), content))
        stream, annotations = len(objects), list[int]()
        for field in (piece for piece in pieces if isinstance(piece, Field)):
            objects.append(_field(field, len(objects)))
            annotations.append(len(objects))
        fields += annotations
        objects.append(
            b"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 595 842] /Rotate %d /Contents %d 0 R /Annots [%s]"
            b" /Resources << /Font << /F1 3 0 R >> >> >>" % (turned, stream, _references(annotations))
        )
        kids.append(len(objects))
    form = b" /AcroForm << /Fields [%s] /DR << /Font << /Helv 3 0 R >> >> >>" % _references(fields) if fields else b""
    numbers = b" /PageLabels << /Nums [%s] >>" % labels.encode() if labels else b""
    objects[0] = b"<< /Type /Catalog /Pages 2 0 R%s%s >>" % (form, numbers)
    objects[1] = b"<< /Type /Pages /Kids [%s] /Count %d >>" % (_references(kids), len(kids))
    body, offsets = b"%PDF-1.7\n", list[int]()
    for number, written in enumerate(objects, 1):
        offsets.append(len(body))
        body += b"%d 0 obj\n%s\nendobj\n" % (number, written)
    entries = b"".join(b"%010d 00000 n \n" % offset for offset in offsets)
    count = len(objects) + 1
    return b"%sxref\n0 %d\n0000000000 65535 f \n%strailer\n<< /Size %d /Root 1 0 R >>\nstartxref\n%d\n%%%%EOF\n" % (
        *(body, count, entries, count, len(body)),
    )


def _references(numbers: Sequence[int]) -> bytes:
    return b" ".join(b"%d 0 R" % number for number in numbers)


def _string(text: str) -> bytes:
    return b"(%s)" % text.encode("cp1252").replace(b"\\", rb"\\").replace(b"(", rb"\(").replace(b")", rb"\)")


def _shown(piece: Put | Rule) -> bytes:
    if isinstance(piece, Rule):
        return b"%f %f m %f %f l S" % piece
    return b"BT /F1 %f Tf %f Ts %f %f Td %s Tj ET" % (piece.size, piece.rise, piece.x, piece.y, _string(piece.text))


def _field(field: Field, number: int) -> bytes:
    value = b"/V %s" % _string(field.value) if field.kind == "Tx" else b"/V /Yes /AS /Yes"
    return b"<< /Type /Annot /Subtype /Widget /FT /%s /T (f%d) %s /F 4 /Rect [%f %f %f %f] /DA (/Helv 11 Tf 0 g) >>" % (
        *(field.kind.encode(), number, value, field.x, field.y - 3, field.x + 180, field.y + 11),
    )
