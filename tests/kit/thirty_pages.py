"""Thirty small pages as sites of seven kinds write them: what a reader finds there, and what stands around it."""

from __future__ import annotations

import json
from typing import NamedTuple


class Page(NamedTuple):
    """A page, the lines that its text must hold, and words that are no content."""

    name: str
    html: str
    facts: tuple[str, ...]
    noise: tuple[str, ...] = (
        "Subscribe for 1 pound",
        "partners use cookies",
        "Most read",
        "registered office",
    )


FILL = "<p>The board met in the old hall, heard three reports from the coast and thanked the keepers for their work. </p>"
AROUND = (
    "<div id='onetrust-banner'><p>We and our 167 partners use cookies to store information.</p></div>"
    "<nav><ul><li><a href='/'>Home</a></li><li>Subscribe for 1 pound a week</li></ul></nav>{}"
    "<div class='sidebar'><h3>Most read</h3><ul><li><a href='/1'>Bridge of 1911 shut</a></li>"
    "<li><a href='/2'>Nine boats sold</a></li></ul></div><footer><p>Gazette Ltd, registered office 4 Mole Street.</p></footer>"
)


def page(
    name: str,
    body: str,
    *facts: str,
    frame: str = "<main><article><h1>{0}</h1>{1}</article></main>",
) -> Page:
    inner = frame.format(name, body + 4 * FILL)
    html = f"<!doctype html><html><head><title>{name} | Site</title></head><body>{AROUND.format(inner)}</body></html>"
    return Page(name, html, facts)


PLAIN = "<div class='content'><h2>{0}</h2>{1}</div>"
OLD = "<table width='100%'><tr><td><h1>{0}</h1>{1}</td></tr></table>"
_BARE = "<html><head><title>{0}</title>{1}</head><body><div id='root'>Loading</div></body></html>"
_ARTICLE = " ".join(
    f"In {year} the harbour of Keldness took {year - 1700} ships." for year in range(1801, 1812)
)
_STORY = {
    "props": {
        "pageProps": {"story": {"headline": "Harbour opens", "blocks": [{"text": _ARTICLE}]}}
    },
    "buildId": "x9",
}

# fmt: off
PAGES = [
    page("News with a note", "<p>The light was lit in 1844<sup>3</sup>.</p><p><sup>3</sup> By the log.</p>", "lit in 1844."),
    page("News with millions", "<p>It cost 25<sup><a href='#n1'>1</a></sup> million.</p>", "It cost 25 million."),
    page("News in details", "<details><summary>When?</summary><p>Until 23 May 2026.</p></details>", "Until 23 May 2026."),
    page("News with a list", "<p>Fees:</p><ul><li>Adults 12 euro</li><li>Children 6 euro</li></ul>",
         "- Adults 12 euro\n- Children 6 euro"),
    page("News with a figure", "<figure><img src='x'><figcaption>The mole, 480 m long</figcaption></figure>",
         "The mole, 480 m long"),
    Page("News as data",
         _BARE.format("News", f"<script type='application/ld+json'>{json.dumps({'@type': 'NewsArticle', 'articleBody': _ARTICLE})}</script>"),
         ("took 111 ships",)),
    Page("News of an app",
         _BARE.format("News", f"<script id='__NEXT_DATA__' type='application/json'>{json.dumps(_STORY)}</script>"),
         ("took 111 ships", "Harbour opens")),
    page("Shop price", "<p class='price'>€12<sup>99</sup> each</p>", "€12.99 each", frame=PLAIN),
    page("Shop data", "<table><tr><th>Weight</th><td>4.2 kg</td></tr><tr><th>Height</th><td>38 cm</td></tr></table>",
         "Weight: 4.2 kg\nHeight: 38 cm", frame=PLAIN),
    page("Shop sizes", "<table><tr><th>Size<th>S<th>M</tr><tr><th>Chest<td>92<td>98</tr></table>",
         "| Chest | 92 | 98 |", frame=PLAIN),
    page("Shop terms",
         "<h3><button aria-expanded='false' aria-controls='r'>Returns?</button></h3><div id='r' hidden><p>Within 30 days.</p></div>",
         "Returns?", "Within 30 days.", frame=PLAIN),
    page("Shop tabs",
         "<div role='tab' aria-controls='t2'>Care</div><div id='t2' style='display:none'>Wash at 40 degrees.</div>",
         "Wash at 40 degrees.", frame=PLAIN),
    page("Wiki with notes", "<p>Area 12 km<sup>2</sup>.<sup class='reference'><a href='#cite-1'>[1]</a></sup></p>",
         "Area 12 km^2."),
    page("Wiki infobox",
         "<table class='infobox'><tr><th colspan='2'>Skerry Light</th></tr><tr><th>Lit</th><td>1844</td></tr></table>",
         "Lit: 1844"),
    page("Wiki list", "<ol><li>Ada Moran (1901)</li><li>Bo Lind (1932)</li></ol>",
         "1. Ada Moran (1901)\n2. Bo Lind (1932)"),
    page("Wiki chemistry", "<p>CO<sub>2</sub> and SO<sub>4</sub><sup>2−</sup> at 10<sup>-3</sup> mol.</p>",
         "CO2 and SO4^2- at 10^-3 mol."),
    page("Wiki table",
         "<table><caption>Keepers</caption><tr><th>Year</th><th>Name</th></tr><tr><td rowspan='2'>1901</td><td>Ada</td></tr><tr><td>Bo</td></tr></table>",
         "Keepers", "| 1901 | Bo |"),
    page("Forum thread",
         "<div class='post'><p>ann: The lamp has 10<sup>6</sup> candela.</p></div><div class='post'><p>bob: It burns 3.5 l of oil.</p></div>",
         "10^6 candela", "3.5 l of oil", frame=PLAIN),
    page("Forum quotation", "<blockquote><p>It was lit in 1844.</p></blockquote><p>No: in 1850.</p>",
         "lit in 1844.", "No: in 1850.", frame=PLAIN),
    page("Forum code", "<pre>year  keepers\n1901  3\n1932  2</pre>", "1901 3\n1932 2", frame=PLAIN),
    page("Statistics with groups",
         "<table><thead><tr><th rowspan='2'>Age</th><th colspan='2'>2024</th></tr><tr><th>Men</th><th>Women</th></tr></thead><tbody><tr><th>0-4</th><td>12,345</td><td>11,987</td></tr></tbody></table>",
         "| Age | 2024 / Men | 2024 / Women |", "| 0-4 | 12,345 | 11,987 |"),
    page("Statistics with marks", "<table><tr><th>Year<th>Index</tr><tr><td>2023<td>104.2<sup>p</sup></tr></table>",
         "| 2023 | 104.2 |"),
    page("Statistics with sections",
         "<table><tr><th>Port</th><th>Ships</th><th>Share</th></tr><tr><th colspan='3'>North</th></tr><tr><td>Keldness</td><td>812</td><td>41%</td></tr></table>",
         "North", "| Keldness | 812 | 41% |"),
    page("Statistics without a head",
         "<table><tr><td>Ships</td><td>812</td><td>790</td></tr><tr><td>Crew</td><td>9,100</td><td>8,800</td></tr></table>",
         "| Crew | 9,100 | 8,800 |"),
    page("Statistics in a layout",
         "<p>Unemployment was 5.4 %.</p><table><tr><th>Year</th><th>Rate</th></tr><tr><td>2024</td><td>5.4</td></tr></table>",
         "5.4 %", "| 2024 | 5.4 |", frame=OLD),
    page("Law with paragraphs", "<h2>§ 3</h2><ol type='a'><li>within 14 days,</li><li>within 30 days.</li></ol>",
         "a. within 14 days,\nb. within 30 days."),
    page("Law with raised sentences", "<p><sup>1</sup>The fee is 40 euros. <sup>2</sup>It is due in 14 days.</p>",
         "The fee is 40 euros.", "due in 14 days"),
    page("Law with notes", "<p>The limit is 50<a href='#fn2'>2</a> mg.</p><p id='fn2'>2 Amended in 2019.</p>",
         "The limit is 50 mg.", "Amended in 2019."),
    page("Law with terms", "<dl><dt>Vessel</dt><dd>A ship above 20 t.</dd></dl>", "A ship above 20 t."),
    page("Law with a formula", "<p>V = a<sup>3</sup>, at 2<sup>10</sup> = 1024.</p>", "V = a^3, at 2^10 = 1024."),
]
# fmt: on
