#!/usr/bin/env python3
"""A judge that knows the labels: an OpenAI-compatible server for tests of the pipeline over the reports of a labelled set.

  judge_server.py SET [SET ...] [--port 8799] [--noise 0.1 --seed 1] [--strict] [--by-passage] [--yes | --yes-quoting | --reasoning]
                  [--quote-request] [--decimals] [--rounded] [--log FILE]

SET is a folder with units.jsonl and corpora/ (`checks`, `places` or `reasoned`, development or held out). It answers what `prompts/verify_report.md` asks:
`judge_units` (verdicts on units with the sources that are shown), `rewrite_sentences`, and the older `judge_sentences`
(pairs of sentence and passage). All other requests get an error that says so.

--noise P      each verdict is wrong with probability P, by a hash of seed, text and sources: the same question, the same answer
--strict       all that a text says must stand in the sources it cites, not only a part of it
--by-passage   what is not shown is not known: a text is supported only if a passage shown holds half of the words of the deciding evidence;
               what is wrong is called "missing" without it (statements on what is missing: "own"), and is rewritten only with it
--yes          a judge that always says "supported", without deciding words
--reasoning    a judge that always says "reasoning"
--yes-quoting  a judge that always says "supported" and quotes the sentence of the passages shown that shares most words with the text
--quote-request  quote words of the request too, where it is shown elsewhere than in the field `request`
--decimals     write every percentage in calculations as a decimal: 0.06 for 6%
--rounded      calculate in small steps, a sum or a product a line, each result rounded as far as the final result allows

Units may have a `calculation` (its `lines` are handed over as they are, or with 0.06 for 6% where `decimals` is true) and a `premise`, words
of the request (requests.jsonl). A unit with a calculation is supported only if all of its evidence is shown. A judge that is not shown the
request takes the user's figures on trust, right or wrong, and calls what rests on the request alone "reasoning"; once it is shown it
(twelve words from its beginning in a row, anywhere in the messages), it contradicts a misquoted figure. In other sets, ways to calculate are looked for.
Pieces of advice are called "advice" if the tool of the request knows this verdict, otherwise "reasoning".

TO ADAPT IT to another prompt: change `asked()` (what is asked, out of the request), `judged()` and `mended_now()` (the form of the answer);
`Judge.parts_in()` alone finds the units of the set in a text, be it a heading, a lead-in, a list's introduction, a caption, a row, a head of a
table, a clause, a cell or several sentences; it needs no change as long as the words of a unit are shown.
"""

import argparse
import ast
import hashlib
import itertools
import json
import math
import re
import time
from difflib import SequenceMatcher
from pathlib import Path
from typing import NamedTuple

WORDS = {"yes": "supported", "part": "partly", "no": "unsupported"}
"""What the project calls a verdict."""
BAD = ("contradicted", "not_in_source", "wrong_source", "arithmetic_wrong")
CITE = re.compile(r"\s*\[(\d{1,3})\](?:\([^)\s]*\))?")


class Tried(NamedTuple):
    """The answer to a statement of a verifier's trial."""

    verdict: str
    words: tuple[str, ...] = ()
    """Words of the deciding passages, or of the request; the passage that holds them is quoted."""
    calculations: tuple[str, ...] = ()
    right: str = ""
    """What a contradicted statement should say."""


TRIAL = {
    "In 1911 the mill ground 340 tonnes of rye.": Tried("supported", ("340 tonnes",)),
    "Ilse Brandt bought the mill in 1920.": Tried("contradicted", ("sold it to the parish",), right="sold"),
    "Until 1920 the mill belonged to Ilse Brandt.": Tried("supported", ("Ilse Brandt",)),
    "The Torne bridge is 84 metres long.": Tried("supported", ("84 metres",)),
    "The Torne bridge is 48 metres wide, and its repair is paid for.": Tried("contradicted", ("not yet paid for",)),
    "Lorries are not allowed on the bridge.": Tried("supported", ("Lorries",)),
    "For your 14 bridges you may spend 126,000 euros.": Tried("supported", ("14 bridges",), ("14 * 9000 = 126,000",)),
    "From 2019 to 2024 the traffic grew by 28%.": Tried("supported", ("1,250",), ("(1600 - 1250) / 1250 = 28%",)),
    "As the repair is not paid for yet, ask the county for money first.": Tried("advice", ("not yet paid for",)),
    "As lorries still use the bridge, count them for a month first.": Tried("contradicted", ("Lorries",)),
}
"""The statements of the trial of a verifier with the answers to them."""
ADVICE = ("advice", "advice_number")
"""The places of units that recommend something."""
SMALL = {w: n for n, ws in {
    2: "two zwei", 3: "three drei", 4: "four vier", 5: "five fünf", 6: "six sechs", 7: "seven sieben", 8: "eight acht", 9: "nine neun",
    10: "ten zehn", 11: "eleven elf", 12: "twelve zwölf", 19: "nineteen", 20: "twenty zwanzig",
}.items() for w in ws.split()}
PARTS = {"half": 2, "hälfte": 2, "third": 3, "thirds": 3, "drittel": 3, "quarter": 4, "quarters": 4, "viertel": 4}
SCALES = {"k": 1e3, "thousand": 1e3, "tausend": 1e3, "m": 1e6, "million": 1e6, "millionen": 1e6, "mio": 1e6, "bn": 1e9, "billion": 1e9, "mrd": 1e9}
PERCENT = re.compile(r"[\d.,]+(?=\s?(?:%|per ?cent|Prozent))")
FACTORS = (60, 24, 7, 12, 52, 1000, 100, 0.621371, 3.28084, 2.54)


def plain(text):
    """The words of a text without citations, marks and signs of Markdown."""
    return re.findall(r"[^\W_]+|[%€£$°]", CITE.sub(" ", re.sub(r"\*\([^)]*\)\*", " ", text)).lower())


def numbers(text):
    """[(value, value of its last digit)] of the numbers in a text, in figures and in words."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    found = [(float(SMALL[word]), 1.0) for word, following in zip(words, [*words[1:], ""]) if word in SMALL and following not in PARTS]
    for match in re.finditer(r"([€£$]?) ?(?<![\w.])(\d+(?:[.,]\d+)*) ?(k|m|bn|thousand|tausend|million|millionen|mio|billion|mrd)?\b", text, re.I):
        figure = re.sub(r"[.,](?=\d{3}(?!\d))", "", match[2]) if not match[2].startswith("0") else match[2]
        figure = figure.replace(",", ".")
        scale = SCALES.get((match[3] or "").lower(), 1) if len(match[3] or "") > 1 or match[1] else 1
        whole, _, rest = figure.partition(".")
        step = 10.0 ** -len(rest) if rest else 10.0 ** (len(whole) - len(whole.rstrip("0") or "0"))
        if figure.count(".") < 2:
            found.append((float(figure) * scale, step * scale))
    return found


def fractions(text):
    """[(percentage, how far it reaches)] of the fractions in words in a text."""
    words = re.findall(r"[^\W\d_]+", text.lower())
    return [(p, 0.2 * p) for before, word in zip(["", *words], words) if word in PARTS for p in [100 * SMALL.get(before, 1) / PARTS[word]]]


def held(short, long):
    if not short:
        return 0.0
    return sum(b.size for b in SequenceMatcher(None, short, long, autojunk=False).get_matching_blocks()) / len(short)


# --- what is asked: the one place that knows today's request -----------------------------------------------------------


def questions(body):
    """(form, items) of a request: form "judge" or "rewrite", items as the project shows them; None if it is neither."""
    names = [tool["function"]["name"] for tool in body.get("tools") or []]
    form = "judge" if "judge_sentences" in names else "rewrite" if "rewrite_sentences" in names else None
    if form is None:
        return None
    for message in reversed(body.get("messages", [])):
        content = message.get("content") or ""
        if not isinstance(content, str):
            content = "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
        for start in re.finditer(r'\{"(?:knowledge|pairs|sentences)"', content):
            try:
                shown, _ = json.JSONDecoder().raw_decode(content[start.start():])
            except ValueError:
                continue
            shown = shown.get("knowledge", shown)
            items = shown.get("pairs" if form == "judge" else "sentences")
            if items is not None:
                return form, items
    return None


def answer(form, results):
    """(name of the tool, its arguments) that the project wants; `results` by number."""
    if form == "judge":
        return "judge_sentences", {"verdicts": [{"pair": n, "verdict": WORDS[v]} for n, v in results]}
    return "rewrite_sentences", {"sentences": [{"number": n, "text": t} for n, t in results if t]}


def with_surroundings(units):
    """The units with what is shown around them, which stands with the first of several only."""
    around = ""
    for unit in units:
        around = unit.get("in", around)
        yield {**unit, "in": around} if around and unit["says"] in CITE.sub("", around) else unit


def asked(body):
    """(form, what is shown) of a request as the product sends it: form "units" or "rewrite"; None if it is neither."""
    names = [tool["function"]["name"] for tool in body.get("tools") or []]
    form = "units" if "judge_units" in names else "rewrite" if "rewrite_sentences" in names else None
    for message in reversed(body.get("messages", [])) if form else ():
        content = message.get("content") or ""
        if not isinstance(content, str):
            content = "\n".join(part.get("text", "") for part in content if isinstance(part, dict))
        for start in re.finditer(r'\{"knowledge"', content):
            try:
                shown, _ = json.JSONDecoder().raw_decode(content[start.start():])
            except ValueError:
                continue
            return form, shown["knowledge"]
    return None


def verdicts_offered(schema):
    """The verdicts that a tool's schema allows."""
    if isinstance(schema, list):
        return {verdict for part in schema for verdict in verdicts_offered(part)}
    if not isinstance(schema, dict):
        return set()
    if "supported" in schema.get("enum", ()):
        return set(schema["enum"])
    return verdicts_offered(list(schema.values()))


def text_of(body):
    """The words of all messages of a request."""
    return " ".join(plain(" ".join(str(message.get("content") or "") for message in body.get("messages", []))))


# --- how it is calculated ----------------------------------------------------------------------------------------------


def as_decimals(line):
    """A line of calculation with each percentage as a decimal."""
    return re.sub(r"(\d+(?:\.\d+)?)%", lambda match: f"{float(match[1]) / 100:.10g}", line)


class Amount(NamedTuple):
    """A number in a calculation."""

    text: str
    value: float
    is_share: bool = False
    """Whether it is written as a percentage."""


def shortened(value, digits, is_share=False):
    """A number rounded to so many significant digits, a whole one at most; a percentage stays."""
    if is_share:
        return Amount(f"{100 * value:.10g}%", value, True)
    magnitude = math.floor(math.log10(abs(value))) if value else 0
    decimals = max(0, digits - 1 - magnitude)
    text = f"{value:.{decimals}f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return Amount(text, float(text))


class Steps:
    """A calculation in lines of one sum or one product each, the results of which are rounded."""

    OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}

    def __init__(self, digits):
        self.digits, self.lines, self.known, self.is_right, self.source = digits, [], {}, True, ""

    def add(self, line, is_final):
        """Take in a line of the set; a final result stays as it is written."""
        formula, _, result = line.rpartition(" = ")
        self.source = re.sub(r"([\d.]+)%", r"share(\1)", formula.replace(",", ""))
        text, value, _ = self.formula(ast.parse(self.source, mode="eval").body)
        plain_result = result.replace(",", "").strip()
        is_share = plain_result.endswith("%")
        figure = plain_result.rstrip("%")
        if is_final:
            step = 10.0 ** -len(figure.partition(".")[2]) if "." in figure else 10.0 ** (len(figure) - len(figure.rstrip("0") or "0"))
            self.is_right &= abs(value * (100 if is_share else 1) - float(figure)) <= step / 2 * 1.000001
            amount = Amount(plain_result, float(figure) / (100 if is_share else 1), is_share)
        else:
            amount = shortened(value, self.digits, is_share)
        self.known[plain_result] = amount
        self.lines.append(f"{text} = {result if is_final else amount.text}")

    def formula(self, tree):
        """(text, value, whether it is a percentage) of a part of a formula; what is of another kind in it gets a line of its own."""
        if not isinstance(tree, ast.BinOp):
            return self.number(tree)
        is_sum = isinstance(tree.op, ast.Add | ast.Sub)
        left = self.operand(tree.left, is_sum)
        right = self.operand(tree.right, is_sum, is_second=True)
        sign = self.OPERATORS[type(tree.op)]
        value = {"+": left[1] + right[1], "-": left[1] - right[1], "*": left[1] * right[1], "/": left[1] / (right[1] or 1)}[sign]
        return f"{left[0]} {sign} {right[0]}", value, is_sum and left[2] and right[2]

    def operand(self, tree, is_sum, is_second=False):
        """Like `formula`, of an operand of a sum or a product."""
        part = self.formula(tree)
        if not isinstance(tree, ast.BinOp) or (not is_second and isinstance(tree.op, ast.Add | ast.Sub) == is_sum):
            return part
        amount = shortened(part[1], self.digits, part[2])
        line = f"{part[0]} = {amount.text}"
        if line not in self.lines:
            self.lines.append(line)
        return amount

    def number(self, tree):
        """A number as it is written; the result of an earlier line as that line has it now."""
        if isinstance(tree, ast.Call):
            text = ast.get_source_segment(self.source, tree.args[0])
            return self.known.get(f"{text}%", Amount(f"{text}%", float(text) / 100, True))
        if isinstance(tree, ast.UnaryOp):
            number = self.number(tree.operand)
            return Amount(f"-{number.text}", -number.value, number.is_share)
        text = ast.get_source_segment(self.source, tree)
        return self.known.get(text, Amount(text, float(text)))


def rounded(lines, says):
    """Lines of calculation in small steps, with as few digits as lead to the same results; those that the text says or that end it stay."""
    formulas = [line.rpartition(" = ") for line in lines if re.fullmatch(r"[\d\s.,+*/()%=-]+", line)]
    if len(formulas) < len(lines):
        return lines
    said = {figure.replace(",", "") for figure in re.findall(r"\d+(?:[.,]\d+)*", says)}
    later = [" ".join(formula.replace(",", "") for formula, _, _ in formulas[index + 1 :]) for index in range(len(formulas))]
    final = []
    for (_, _, result), rest in zip(formulas, later):
        figure = result.replace(",", "").strip().rstrip("%").lstrip("-")
        final.append(figure in said or figure not in re.findall(r"\d+(?:\.\d+)?", rest))
    for digits in range(3, 13):
        steps = Steps(digits)
        for line, is_final in zip(lines, final):
            steps.add(line, is_final)
        if steps.is_right:
            return steps.lines
    return lines


# --- what is right ---------------------------------------------------------------------------------------------------


class Judge:
    def __init__(self, folders, noise=0.0, seed=0, strict=False, by_passage=False, yes="", quote_request=False, decimals=False, rounded=False):
        self.noise, self.seed, self.strict, self.by_passage, self.yes = noise, seed, strict, by_passage, yes
        self.quote_request, self.decimals, self.rounded = quote_request, decimals, rounded
        self.sentences, self.docs, self.titles, self.unknown = {}, {}, {}, []
        self.beginnings = set()
        """The first words of each request of the set."""
        self.request, self.is_request_shown, self.offered = [], False, set()
        """Of what is asked now: the user's messages, whether they are shown, and the verdicts to choose from."""
        for folder in map(Path, folders):
            for line in (folder / "requests.jsonl").read_text("utf-8").splitlines() if (folder / "requests.jsonl").exists() else ():
                self.beginnings.add(" ".join(plain(json.loads(line)["request"])[:12]))
            for line in (folder / "units.jsonl").read_text("utf-8").splitlines():
                unit = json.loads(line)
                self.sentences.setdefault(unit["sentence_id"], []).append(unit)
            for path in sorted((folder / "corpora").glob("*/*")):
                text = path.read_text("utf-8")
                self.docs[path.parent.name, path.name] = " ".join(plain(text))
                title = text.split("\n")[0].lstrip("# ").strip()
                self.titles.setdefault(title, []).append((path.parent.name, path.name))
        self.words = {key: plain(units[0]["sentence"]) for key, units in self.sentences.items()}
        self.alone = {}
        for unit in (unit for units in self.sentences.values() for unit in units):
            claim = unit.get("claim") or unit["text"]
            for text in {claim, claim.replace(unit["text"], unit.get("true_text") or unit["text"])}:
                if len(plain(text)) > 2:
                    self.alone.setdefault(" ".join(plain(text)), []).append(unit)
        self.right = {key: plain(self.mended(units)) for key, units in self.sentences.items()}
        self.by_corpus, self.rows = {}, {}
        for key, units in self.sentences.items():
            for unit in units:
                self.by_corpus.setdefault(unit["corpus"], []).append(unit)
        self.unit = {unit["id"]: unit for units in self.sentences.values() for unit in units}
        self.calculated = {unit["corpus"] for unit in self.unit.values() if "calculation" in unit}
        """The corpora whose units say how they are calculated."""

    def documents(self, passage):
        """All (corpus, document) that a passage stands in."""
        words = plain(passage)
        text = f" {' '.join(words)} "
        found = [key for key, doc in self.docs.items() if words and text in f" {doc} "]
        if found or not words:
            return found
        shares = {key: sum(w in doc.split() for w in words) / len(words) for key, doc in self.docs.items()}
        best = max(shares, key=lambda key: shares[key])
        return [best] if shares[best] > 0.9 else []

    def location_of(self, sentence, passage):
        """The document of a passage; if the same words stand in several, that which the sentence has to do with."""
        locations = self.documents(passage)
        if len(locations) < 2:
            return locations[0] if locations else None
        units = [unit for unit, *_ in self.units_in(sentence)]

        def fit(location):
            mine = [u for u in units if u["corpus"] == location[0]]
            return (bool(mine), any(location[1] in u["cited"] for u in mine), any(location[1] == e["doc"] for u in mine for e in u["evidence"]))

        return max(locations, key=fit)

    def units_in(self, text, corpus=None):
        """The units that a text holds, each with the share of its own words and of its right words; `corpus` if it is known."""
        words = plain(text)
        known = [key for key, units in self.sentences.items() if corpus is None or units[0]["corpus"] == corpus]
        if not words or not known:
            return []
        alone = self.alone.get(" ".join(words), [])
        if alone := [unit for unit in alone if corpus is None or unit["corpus"] == corpus]:
            return [(alone[0], *self.shares(alone[0], words))]

        def near(key):
            return max(SequenceMatcher(None, words, form, autojunk=False).ratio() for form in (self.words[key], self.right[key]))

        likely = sorted(known, key=lambda key: -len(set(words) & (set(self.words[key]) | set(self.right[key]))))[:12]
        best = max(likely, key=near)
        # Where sentences were not parted, a text holds several.
        location = self.sentences[best][0]["corpus"]
        keys = [
            key for key in known
            if key == best or (self.sentences[key][0]["corpus"] == location and len(self.words[key]) > 4 and held(self.words[key], words) > 0.99)
        ]
        found = [(unit, *self.shares(unit, words)) for key in keys for unit in self.sentences[key]]
        found = [candidate for candidate in found if max(candidate[1:]) >= 0.75]
        if near(best) < 0.6:
            # A clause or a cell by itself: the sentence as a whole is far from it.
            found = [candidate for candidate in found if max(candidate[1:]) > 0.95]
        return found

    @staticmethod
    def shares(unit, words):
        return held(plain(unit["text"]), words), held(plain(unit.get("true_text", "")), words) if unit.get("true_text") else 0.0

    @staticmethod
    def is_wrong(unit, wrong, right):
        """Whether the text says what is false, not what was mended."""
        if unit["label"] not in BAD:
            return False
        if unit["edit"] == "wrong_source":
            return True
        if not plain(unit["true_text"]):
            return wrong > 0.75
        return wrong > right or (wrong == right and len(plain(unit["text"])) >= len(plain(unit["true_text"])))

    def verdict(self, sentence, passage):
        """"yes", "part" or "no" for a pair."""
        location = self.location_of(sentence, passage)
        if self.yes:
            return "yes"
        right = self._verdict_in_places(sentence, passage, location) if location and any("place" in u for u in self.by_corpus.get(location[0], ())) else self._verdict(sentence, passage, location)
        if self.noise:
            seed = f"{self.seed}|{' '.join(plain(sentence))}|{location}".encode()
            if int(hashlib.sha256(seed).hexdigest()[:8], 16) / 2**32 < self.noise:
                return "no" if right == "yes" else "yes"
        return right

    def _verdict_in_places(self, sentence, passage, location):
        parts = self.parts_in(sentence, sentence, location[0])
        if any(is_wrong for _, is_wrong in parts):
            return "no"
        facts = [unit for unit, _ in parts if unit["label"] not in ("conclusion", "gap_statement", "no_claim")]
        good = [u for u in facts if location[1] in {evidence["doc"] for evidence in u["evidence"]} and (not self.by_passage or self.is_shown(u, [passage]))]
        if len(good) == len(facts):
            return "yes"
        return "no" if not good else "part" if self.strict else "yes"

    def _verdict(self, sentence, passage, location):
        found = self.units_in(sentence, location[0] if location else None)
        if not location or not found:
            return "no"
        name, good, bad, elsewhere = location[1], 0, [], 0
        for unit, wrong, right in found:
            deciding = {evidence["doc"] for evidence in unit["evidence"]}
            if name not in deciding | set(unit["cited"]):
                elsewhere += bool(unit["cited"])
            elif self.is_wrong(unit, wrong, right):
                if unit["edit"] == "wrong_source" and name in unit["true_cited"]:
                    good += 1
                else:
                    bad.append(unit["label"])
            elif unit["label"] not in ("conclusion", "gap_statement", "no_claim"):
                shown = [evidence["passage"] for evidence in unit["evidence"] if evidence["doc"] == name]
                if self.by_passage and shown and max(held(plain(text), plain(passage)) for text in shown) < 0.5:
                    bad.append("not shown")
                else:
                    good += 1
        if any(label in ("contradicted", "arithmetic_wrong") for label in bad):
            return "no"
        if bad:
            return "part" if good else "no"
        if not good:
            return "no"
        return "part" if self.strict and elsewhere else "yes"

    @staticmethod
    def mended(units):
        """A sentence with all its units as they should be, with the numbers of the set."""
        text = units[0]["sentence"]
        for unit in units:
            if unit["label"] not in BAD:
                continue
            if unit["kind"] == "table_cell":
                # A cell by its position among the units of its row: the first that still reads wrong.
                text = text.replace(f"| {unit['text']} |", f"| {unit['true_text']} |", 1)
            elif plain(unit["true_text"]):
                text = text.replace(unit["text"], unit["true_text"], 1)
            else:
                text = re.sub(r"[,;:]?\s*" + re.escape(unit["text"].rstrip(".")), "", text, count=1)
        return re.sub(r" +([,.;])", r"\1", text)

    def rewrite(self, item):
        """The sentence as it should stand, with the numbers that were shown; empty if it cannot be cited."""
        shown = [*item.get("cited", ()), *item.get("others", ())]
        locations = {quoted["source"]: self.location_of(item["sentence"], quoted["says"]) for quoted in shown}
        corpus = next((location[0] for location in locations.values() if location), None)
        found = self.units_in(item["sentence"], corpus)
        if not found:
            return ""
        keys = list(dict.fromkeys(unit["sentence_id"] for unit, *_ in found))
        units = [unit for key in keys for unit in self.sentences[key]]
        numbers = {}
        for unit in units:
            for n, name in zip(map(int, CITE.findall(unit.get("true_text", unit["text"]))), unit.get("true_cited", unit["cited"])):
                numbers[n] = name
        by_name = {location[1]: source for source, location in locations.items() if location}

        def cite(match):
            source = by_name.get(numbers.get(int(match[1])))
            return f" [{source}]" if source else ""

        text = CITE.sub(cite, " ".join(self.mended(self.sentences[key]) for key in keys))
        lead = re.match(r"\s*(?:[-*+]|\d+\.)\s+", item["sentence"])
        return (lead[0] if lead else "") + text if CITE.search(text) else ""

    # --- the units of a text, exactly: whatever the project shows as one

    def corpus_of(self, sources, *texts):
        """The corpus that a request is about: by the titles and passages of its sources, else by its words."""
        votes = [location for source in sources for location in self.titles.get(source.get("title", ""), ())]
        votes = votes or [location for source in sources for text in source.get("passages", ())[:1] for location in self.documents(text)]
        if votes:
            names = [location[0] for location in votes]
            return max(set(names), key=names.count)
        words = set(plain(" ".join(texts)))
        return max(self.by_corpus, key=lambda name: sum(len(words & set(plain(u["sentence"]))) / (1 + len(set(plain(u["sentence"])))) for u in self.by_corpus[name]))

    @staticmethod
    def forms(unit):
        """[(words, whether they are wrong)] of a unit as it stands in the report, and as it should stand; a cell with its row and column."""
        bad = unit["label"] in BAD or unit["label"] == "dependent"
        if unit["kind"] == "table_cell":
            claim = unit["claim"]
            rights = [claim.replace(unit["text"], unit["true_text"])] if unit.get("true_text") else []
            rights += [unit["true_claim"]] if unit.get("true_claim") else []
        else:
            claim, rights = unit["text"], [unit["true_text"]] if "edit" in unit else []
        return [(plain(claim), bad), *((plain(right), False) for right in rights if plain(right) != plain(claim))]

    def parts_in(self, says, within, corpus):
        """[(unit, whether it stands there wrong)] of all units that a text holds, or that hold the text."""
        words, units = plain(says), self.by_corpus.get(corpus, ())
        text, around = f" {' '.join(words)} ", f" {' '.join(plain(within))} "
        if not words:
            return []
        same = [(unit, is_wrong) for unit in units for form, is_wrong in self.forms(unit) if form == words]
        if same:
            # Of several that say the same those whose sentence or row is shown.
            own = [(unit, is_wrong) for unit, is_wrong in same if f" {' '.join(plain(unit['sentence']))} " in around]
            return own or same
        found = {}
        for unit in units:
            if unit["kind"] in ("table_cell", "row_label"):
                rows = [(plain(unit["sentence"]), unit["label"] in BAD or unit["label"] == "dependent"), (plain(self.mended_row(unit["sentence_id"])), False)]
                hits = [(len(form), is_wrong) for form, is_wrong in rows if len(form) > 1 and f" {' '.join(form)} " in text]
            else:
                forms = self.forms(unit)
                hits = [(len(form), is_wrong) for form, is_wrong in forms if form and f" {' '.join(form)} " in text]
                inside = [is_wrong for form, is_wrong in forms if text in f" {' '.join(form)} "] if not hits and len(words) > 1 else []
                # A piece of a unit is wrong only if it does not stand in the right words, too.
                hits = hits or [(0, all(inside))] if hits or inside else []
            if hits:
                found[unit["id"]] = (unit, max(hits, key=lambda hit: hit[0])[1])
        # Cells under a wrong head are right where the right head is shown with them.
        right_heads = {key for key, (unit, is_wrong) in found.items() if unit["kind"] == "table_header" and not is_wrong}
        found = {key: (unit, is_wrong and unit.get("of") not in right_heads) for key, (unit, is_wrong) in found.items()}
        kept = [claim for claim in found.values() if not self._is_part_of_another(claim[0], found.values())]
        if kept:
            return kept
        near = [(unit, self.is_wrong(unit, wrong, right)) for unit, wrong, right in self.units_in(says, corpus) if unit["label"] != "dependent"]
        return [(unit, is_wrong) for unit, is_wrong in near if unit["kind"] not in ("table_cell", "row_label", "table_header")]

    @staticmethod
    def _is_part_of_another(unit, found):
        """Whether the few words of a unit stand there only as a part of a longer unit of another sentence."""
        if unit["kind"] in ("table_cell", "row_label"):
            return False
        own = [f" {' '.join(plain(text))} " for text in (unit["text"], unit.get("true_text", "")) if plain(text)]
        longer = (f" {' '.join(plain(text))} " for other, _ in found if other["sentence_id"] != unit["sentence_id"] for text in (other["text"], other.get("true_text", "")))
        return any(len(claim) > max(map(len, own)) and any(mine in claim for mine in own) for claim in longer)

    @staticmethod
    def row_of(units, values):
        """A row with other values in its cells."""
        cells = [cell.strip() for cell in units[0]["sentence"].strip().strip("|").split("|")]
        own = [u for u in units if u["kind"] == "table_cell"]
        if units[0]["kind"] == "row_label":
            for index, unit in enumerate(own, len(cells) - len(own)):
                cells[index] = values.get(unit["id"], cells[index])
            return "| " + " | ".join(cells) + " |"
        # A set that has no labels of rows as units: a cell by its words.
        text = units[0]["sentence"]
        for unit in own:
            if unit["id"] in values:
                text = text.replace(f"| {unit['text']} |", f"| {values[unit['id']]} |", 1)
        return text

    def mended_row(self, sentence_id):
        """A row with its label and cells as they should be under the head of the report; cells under a wrong label stay."""
        units = self.sentences[sentence_id]
        label = next((u for u in units if u["kind"] == "row_label"), None)
        cells = [cell.strip() for cell in units[0]["sentence"].strip().strip("|").split("|")]
        if label is not None and "edit" in label:
            cells[0] = label["true_text"]
        else:
            own = [u for u in units if u["kind"] == "table_cell"]
            for index, unit in enumerate(own, len(cells) - len(own)):
                if unit.get("true_text"):
                    cells[index] = unit["true_text"]
        return "| " + " | ".join(cells) + " |"

    # --- the answers to the product's requests

    def name_of(self, source, corpus):
        """The document that a source stands for."""
        own = [location for location in self.titles.get(source.get("title", ""), ()) if location[0] == corpus]
        own = own or [location for text in source.get("passages", ()) for location in self.documents(text) if location[0] == corpus]
        return own[0][1] if own else None

    @staticmethod
    def is_shown(unit, passages, whole=False):
        """Whether these passages hold half of the words of a deciding one, or more; `whole`: of each deciding one."""
        shown = [any(held(plain(evidence["passage"]), plain(text)) >= 0.5 for text in passages) for evidence in unit["evidence"]]
        return all(shown) if whole else any(shown)

    def judged(self, item, sources):
        """What is said of a unit."""
        says, within = item["says"], item.get("in") or item["says"]
        corpus = self.corpus_of(sources, says, within)
        cited = [source for source in sources if source["source"] in item.get("cites", ())]
        passages = [text for source in sources for text in source.get("passages", ())]
        if self.yes == "reasoning":
            return {"unit": item["unit"], "verdict": "reasoning"}
        if self.yes:
            quoted = {"words": self.nearest_words(says, [t for source in cited or sources for t in source.get("passages", ())])}
            return {"unit": item["unit"], "verdict": "supported", **(quoted if self.yes == "quoting" else {})}
        if says in TRIAL:
            return {"unit": item["unit"], **self.tried(TRIAL[says], [*passages, *self.request])}
        right = self._judged(says, within, corpus, cited, sources, passages)
        if self.noise:
            seed = f"{self.seed}|{' '.join(plain(says))}|{sorted(item.get('cites', ()))}".encode()
            if int(hashlib.sha256(seed).hexdigest()[:8], 16) / 2**32 < self.noise:
                turned = "contradicted" if right["verdict"] in ("supported", "reasoning") else "supported"
                right = {"verdict": turned, "words": self.nearest_words(says, passages)}
        return {"unit": item["unit"], **right}

    @staticmethod
    def misquotes_request(unit):
        """Whether a unit states a figure of the user's wrongly."""
        return unit.get("edit") == "premise" and "premise" in unit

    def verdict_on_advice(self):
        """What a piece of advice is called."""
        return "advice" if "advice" in self.offered else "reasoning"

    def tried(self, answer, texts):
        """What is said of a statement of the trial; `texts` are the passages and the user's messages."""
        verdict = self.verdict_on_advice() if answer.verdict == "advice" else answer.verdict
        quoted = [next((text for text in texts if words in text), "") for words in answer.words]
        found = {"verdict": verdict, "words": "\n".join(dict.fromkeys(filter(None, quoted)))}
        if answer.calculations:
            found["calculations"] = list(answer.calculations)
        return {**found, "right": answer.right} if answer.right else found

    def _judged(self, says, within, corpus, cited, sources, passages):
        parts = self.parts_in(says, within, corpus)
        if not parts:
            self.unknown.append(says)
            return {"verdict": "reasoning"}
        names = {self.name_of(source, corpus) for source in cited}
        wrong = [unit for unit, is_wrong in parts if is_wrong and not (unit["label"] == "wrong_source" and names & set(unit["true_cited"]))]
        # A judge who does not see the request has to take the user's figures from the report.
        trusted = [unit for unit in wrong if self.misquotes_request(unit) and not self.is_request_shown]
        wrong = [unit for unit in wrong if unit not in trusted]
        if wrong:
            known = [unit for unit in wrong if not self.by_passage or self.misquotes_request(unit) or self.is_shown(unit, passages)]
            if not known:
                if all(unit.get("place") == "negative" for unit in wrong):
                    return {"verdict": "reasoning", "is_absence": True}
                return {"verdict": "not_found"}
            unit = known[0]
            if unit["label"] == "not_in_source":
                return {"verdict": "not_found", "right": self.right_words(known)}
            if unit["label"] == "wrong_source":
                return {"verdict": "supported", **self.evidence_of([unit], says, passages)}
            return {"verdict": "contradicted", **self.evidence_of(known, says, passages), "right": self.right_words(known)}
        facts = [unit for unit, _ in parts if unit["label"] not in ("conclusion", "gap_statement", "no_claim")]
        if not facts:
            is_absence = any(unit["label"] == "gap_statement" for unit, _ in parts)
            premises = self.evidence_of([unit for unit, _ in parts], says, passages)
            is_advice = any(unit.get("place") in ADVICE for unit, _ in parts)
            verdict = self.verdict_on_advice() if is_advice else "reasoning"
            return {"verdict": verdict, **({"is_absence": True} if is_absence else premises)}
        borne = [unit for unit in facts if not unit["evidence"] or not self.by_passage or self.is_shown(unit, passages, whole="calculation" in unit)]
        if len(borne) < (len(facts) if self.strict else 1):
            return {"verdict": "not_found"}
        found = self.evidence_of(borne, says, passages, trusted)
        needs_no_source = any("premise" in unit or unit.get("place") == "self" for unit in borne)
        return {"verdict": "reasoning" if needs_no_source and not found["words"] else "supported", **found}

    def lines_of(self, unit):
        """The lines of a unit's calculation, as this judge writes them."""
        calculation = unit["calculation"]
        lines = calculation["lines"]
        if self.rounded:
            lines = rounded(lines, unit.get("true_text") or unit["text"])
        if self.decimals or calculation["decimals"]:
            lines = [as_decimals(line) for line in lines]
        return lines

    def premises_of(self, unit, passages):
        """The words of the request that a unit rests on and that can be quoted."""
        if not self.is_request_shown:
            return []
        is_quotable = self.quote_request or bool(self.request)
        return [premise for premise in unit.get("premise", ()) if is_quotable or any(premise in text for text in passages)]

    def evidence_of(self, units, says, passages, trusted=()):
        """The words that decide, and the calculation that leads from them to a number which is not in them."""
        words = []
        for unit in units:
            words += [premise for premise in self.premises_of(unit, passages) if premise not in words]
        for unit in units:
            for evidence in unit["evidence"]:
                shown = " ".join(evidence["passage"].split())
                if any(shown in " ".join(text.split()) for text in passages) and not any(shown in other for other in words):
                    words.append(shown)
        for text in passages if not words else ():
            # Where the deciding words go over several lines, those of them that are shown.
            for unit in units:
                for evidence in unit["evidence"]:
                    words += [line.strip() for line in evidence["passage"].split("\n") if line.strip() and line.strip() in text]
        heads = [evidence["table_header"] for unit in units for evidence in unit["evidence"] if evidence.get("table_header")]
        found = {"words": "\n".join(words)}
        calculated = [unit for unit in units if "calculation" in unit]
        # Nothing leads to a figure that is only taken on trust.
        lines = [line for unit in calculated if unit not in trusted for line in self.lines_of(unit)]
        if lines:
            found["calculations"] = list(dict.fromkeys(lines))
        inputs = [given for unit in calculated for given in unit["calculation"]["inputs"]]
        supposed = [given["value"] for given in inputs if given["from"] == "supposition of the statement"]
        if supposed:
            found["supposed"] = supposed
        if calculated or any(unit["corpus"] in self.calculated for unit in units):
            return found
        # A set without calculations: a way is looked for.
        return {**found, **self.calculation(says, " ".join([*words, *heads]))}

    @staticmethod
    def calculation(says, words):
        """How the numbers in the text that are not in the words follow from those that are, a line each."""
        values = list(dict.fromkeys(value for value, _ in numbers(words)))
        shares = {value for value, _ in fractions(says)} | {value for value, _ in numbers(" ".join(PERCENT.findall(says)))}
        asked = [figure for figure in [*numbers(says), *fractions(says)] if figure[0] not in values and not 1900 <= figure[0] <= 2100]
        named = [word for word in dict.fromkeys([*words.split(), *says.split()]) if word.isalpha()]
        lines = [next(Judge.ways(number, values[:12], named, number[0] in shares), None) for number in asked]
        return {"calculations": [line for line in lines if line]} if any(lines) else {}

    @staticmethod
    def ways(number, values, named, is_share):
        """Lines of arithmetic by which a number follows from these, the plainest first; a count is of words that are there."""
        value, step = number

        def fits(result):
            return abs(abs(result) - value) <= step / 2 * 1.000001

        def of_two(x, y):
            if is_share:
                yield f"({y:.15g} - {x:.15g}) / {x:.15g}", 100 * (y - x) / x if x else 0
                yield f"{x:.15g} / {y:.15g}", 100 * x / y if y else 0
            yield f"{x:.15g} - {y:.15g}", x - y
            yield f"{x:.15g} * {y:.15g}", x * y
            yield f"{x:.15g} * {y:.15g} / 100", x * y / 100
            yield f"{x:.15g} / {y:.15g}", x / y if y else 0

        yield from (f"{x:.15g}" for x in values if fits(x))
        for size in (2, 3, 4):
            yield from (" + ".join(f"{x:.15g}" for x in some) for some in itertools.combinations(values, size) if fits(sum(some)))
        for x in values:
            yield from (f"{x:.15g} * {factor:g}" for factor in FACTORS if fits(x * factor))
            yield from (f"{x:.15g} / {factor:g}" for factor in FACTORS if fits(x / factor))
            yield from ([f"100 / {x:.15g}"] if x and fits(100 / x) else [])
        for x, y in itertools.permutations(values, 2):
            yield from (line for line, result in of_two(x, y) if result and fits(result))
        if value <= 12 and value == int(value) and len(named) >= value:
            yield ", ".join(named[: int(value)])

    @staticmethod
    def right_words(units):
        """What should stand there: the differing words, or the whole where they are many."""
        unit = units[0]
        if unit["label"] == "dependent":
            return unit.get("true_text", "")
        return "; ".join(right for right in unit["right"] if right) if len(unit["right"]) == 1 else unit["true_text"]

    @staticmethod
    def quoted(unit, passages):
        """The deciding words, if a passage shows them."""
        for evidence in unit["evidence"]:
            if any(" ".join(evidence["passage"].split()) in " ".join(text.split()) for text in passages):
                return evidence["passage"]
        return ""

    @staticmethod
    def nearest_words(says, passages):
        """The sentence of some passages that shares most words with a text."""
        pieces = [piece.strip() for text in passages for piece in re.split(r"(?<=[.!?])\s+|\n+", text) if len(plain(piece)) > 2]
        mine = set(plain(says))
        return max(pieces, key=lambda piece: (len(mine & set(plain(piece))), -len(piece)), default="")

    @staticmethod
    def stands_in(unit, raw):
        """Whether a sentence or row of the report has a unit as it is written there."""
        return unit["sentence"] == raw.strip() if "|" in raw else unit["text"] in raw

    def mended_now(self, item):
        """A sentence or row of the report as it should stand; empty if it cannot be mended from what is shown."""
        raw = item["sentence"]
        sources = item.get("passages", ())
        passages = [text for source in sources for text in source["passages"]]
        passages += [wrong["source_says"] for wrong in item.get("wrong", ()) if wrong.get("source_says")]
        corpus = self.corpus_of([*sources, *({"passages": [text]} for text in passages)], raw, item.get("in", ""))
        has_correction = any(wrong.get("right") for wrong in item.get("wrong", ()))
        # The sentence itself says whose it is: quotations from several documents stand in none as a whole.
        own = [unit for unit in self.unit.values() if "edit" in unit and self.stands_in(unit, raw)]
        if own:
            corpus = max(own, key=lambda unit: len(unit["text"]))["corpus"]
        if "|" in raw:
            keys = [key for key, units in self.sentences.items() if units[0]["corpus"] == corpus and units[0]["sentence"] == raw.strip()]
            for key in keys:
                units = self.sentences[key]
                bad = [u for u in units if u["label"] in BAD or u["label"] == "dependent"]
                if not bad or self.by_passage and not has_correction and not any(self.is_shown(u, passages) for u in bad):
                    return ""
                if bad[0]["kind"] == "table_header":
                    return raw.replace(bad[0]["text"], bad[0]["true_text"], 1)
                below = [u for u in bad if u["label"] == "dependent"]
                if bad[0]["kind"] == "row_label":
                    # The label is mended if it is named, or if nothing is known that would fit it; else the values are.
                    is_named = any(plain(wrong.get("words", raw))[: len(plain(bad[0]["text"]))] == plain(bad[0]["text"]) for wrong in item.get("wrong", ()))
                    if is_named or any(not u["true_text"] for u in below):
                        return raw.replace(bad[0]["text"], bad[0]["true_text"], 1)
                    return self.row_of(units, {u["id"]: u["true_text"] for u in below})
                if any(not u.get("true_text") for u in bad):
                    return ""
                return self.row_of(units, {u["id"]: u["true_text"] for u in bad})
            return ""
        text = raw
        for unit in self.by_corpus.get(corpus, ()):
            if "edit" not in unit or unit["kind"] in ("table_cell", "row_label", "table_header") or unit["text"] not in text:
                continue
            if self.by_passage and not has_correction and not self.is_shown(unit, passages):
                continue
            if plain(unit["true_text"]):
                text = text.replace(unit["text"], unit["true_text"], 1)
            else:
                text = re.sub(r"[,;:]?\s*" + re.escape(unit["text"].rstrip(".")), "", text, count=1)
        return "" if text == raw else text

    def reply_units(self, body):
        """(tool, arguments) for a request of the product, or None."""
        request = asked(body)
        if not request:
            return None
        form, shown = request
        self.request = shown.get("request") or []
        said = [text_of(body), *(" ".join(plain(message)) for message in self.request)]
        self.is_request_shown = any(beginning in text for text in said for beginning in self.beginnings)
        self.offered = verdicts_offered(body.get("tools"))
        if form == "units":
            return "judge_units", {"verdicts": [self.judged(unit, shown.get("sources", [])) for unit in with_surroundings(shown["units"])]}
        found = [(entry["number"], "" if self.yes else self.mended_now(entry)) for entry in shown["sentences"]]
        return "rewrite_sentences", {"sentences": [{"number": n, "text": t} for n, t in found if t]}

    def reply(self, body):
        """(tool, arguments) for a request, or None."""
        if found := self.reply_units(body):
            return found
        asked = questions(body)
        if not asked:
            return None
        form, items = asked
        if form == "judge":
            return answer(form, [(entry["pair"], self.verdict(entry["sentence"], entry["passage"])) for entry in items])
        return answer(form, [(entry["number"], self.rewrite(entry)) for entry in items])


# --- the server --------------------------------------------------------------------------------------------------------


def serve(judge, port, log):
    from aiohttp import web

    async def models(_):
        return web.json_response({"object": "list", "data": [{"id": "judge", "object": "model", "created": 0, "owned_by": "set"}]})

    async def chat(request):
        body = await request.json()
        reply = judge.reply(body)
        if log:
            with open(log, "a", encoding="utf-8") as file:
                file.write(json.dumps({"asked": asked(body) or questions(body), "reply": reply, "unknown": judge.unknown}, ensure_ascii=False) + "\n")
            judge.unknown = []
        if reply is None:
            return web.json_response({"error": {"message": "this server only judges and rewrites sentences", "type": "invalid_request_error"}}, status=400)
        name, arguments = reply
        call = {"id": f"call_{time.time_ns()}", "type": "function", "function": {"name": name, "arguments": json.dumps(arguments, ensure_ascii=False)}}
        base = {"id": f"chatcmpl-{time.time_ns()}", "created": int(time.time()), "model": body.get("model", "judge")}
        usage = {"prompt_tokens": len(json.dumps(body)) // 4, "completion_tokens": len(call["function"]["arguments"]) // 4}
        usage["total_tokens"] = sum(usage.values())
        if not body.get("stream"):
            message = {"role": "assistant", "content": None, "tool_calls": [call]}
            return web.json_response({**base, "object": "chat.completion", "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}], "usage": usage})
        response = web.StreamResponse(headers={"Content-Type": "text/event-stream"})
        await response.prepare(request)

        async def send(choices, **more):
            chunk = {**base, "object": "chat.completion.chunk", "choices": choices, **more}
            await response.write(b"data: " + json.dumps(chunk, ensure_ascii=False).encode() + b"\n\n")

        await send([{"index": 0, "delta": {"role": "assistant", "tool_calls": [{**call, "index": 0}]}, "finish_reason": None}])
        await send([{"index": 0, "delta": {}, "finish_reason": "tool_calls"}])
        if (body.get("stream_options") or {}).get("include_usage"):
            await send([], usage=usage)
        await response.write(b"data: [DONE]\n\n")
        await response.write_eof()
        return response

    app = web.Application(client_max_size=64 * 2**20)
    app.router.add_get("/v1/models", models)
    app.router.add_post("/v1/chat/completions", chat)
    web.run_app(app, host="127.0.0.1", port=port, print=None)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folders", nargs="+", help="folders of the set, such as dev")
    parser.add_argument("--port", type=int, default=8799)
    parser.add_argument("--noise", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("--by-passage", action="store_true")
    parser.add_argument("--yes", action="store_true")
    parser.add_argument("--yes-quoting", action="store_true")
    parser.add_argument("--reasoning", action="store_true")
    parser.add_argument("--quote-request", action="store_true")
    parser.add_argument("--decimals", action="store_true")
    parser.add_argument("--rounded", action="store_true")
    parser.add_argument("--log")
    args = parser.parse_args()
    yes = "quoting" if args.yes_quoting else "yes" if args.yes else "reasoning" if args.reasoning else ""
    judge = Judge(
        args.folders, args.noise, args.seed, args.strict, args.by_passage, yes,
        quote_request=args.quote_request, decimals=args.decimals, rounded=args.rounded,
    )
    serve(judge, args.port, args.log)


if __name__ == "__main__":
    main()
