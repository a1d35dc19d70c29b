"""The eight requests over the web: registers with pages, overlapping lists, other spellings, rows
that do not count, units and currencies, sources that disagree, and a page that is down."""

from __future__ import annotations

import html
import random
from collections.abc import Callable, Sequence
from typing import NamedTuple

from deep_research_evaluation.tables.facts import (
    NOT_APPLICABLE,
    PEOPLE,
    PLACES,
    Entity,
    Fact,
    Page,
    Stated,
    TableRequest,
    day,
    fact,
    filler,
    grouped,
    linked,
    paragraphs,
    sections,
)

_DOWN = 7
"""Number of the grant whose page is down."""
_DISPUTED = (4, 20)
"""Numbers of the grants on whose amount two sources disagree."""
_LINES = ("Northern", "Blue", "Island", "Royal", "Coastal", "Swift")


class _Written(NamedTuple):
    """A value as a page has it, and as the table should have it."""

    value: str
    expected: str


def _money(number: int, figure: int) -> _Written:
    forms = (
        ("{:,} euros", "{} euros"),
        ("€{:,}", "€{}"),
        ("EUR {:,}", "{} EUR"),
        ("${:,}", "${}"),
        ("{:,} Danish kroner", "{} Danish kroner"),
    )
    written, expected = forms[number % len(forms)]
    return _Written(written.format(figure), expected.format(grouped(figure)))


def _own_page(topic: str, number: int, name: str, lines: Sequence[str], status: int = 200) -> Page:
    return Page(f"/{topic}/{number}", name, paragraphs(lines), status=status)


def _grants(random_: random.Random) -> TableRequest:
    entities = list[Entity]()
    pages = list[Page]()
    listed = list[str]()
    others = list[str]()
    for number, town in enumerate(PLACES):
        name = f"{town} Harbour Improvement Fund"
        other = f"{town} Harbor Improvement Fund"
        giver = f"Ministry of {('Fisheries', 'Transport', 'Coasts')[number % 3]}"
        counts = number % 8 != 5
        figure = random_.randrange(52, 900) * 1_000 if counts else random_.randrange(5, 49) * 1_000
        amount = _money(number, figure)
        deadline, iso = day(number, 2027)
        pays = f"The {name} pays {amount.value} to harbour towns."
        facts: dict[str, Fact] = {
            "Giver": fact(f"The {name} is given by the {giver}.", giver),
            "Amount": fact(pays, amount.value, amount.expected),
            "Deadline": fact(f"Apply to the {name} by {deadline}.", deadline, iso),
        }
        lines = [fact_.stated[0].words for fact_ in facts.values()]
        path = f"/grants/{number}"
        if number == _DOWN:
            facts = dict.fromkeys(facts, Fact(frozenset(), ()))
        status = 500 if number == _DOWN else 200
        pages.append(_own_page("grants", number, name, lines, status))
        listed.append(linked(name, path))
        spellings = [(name,)]
        if number % 4 == 0:
            spellings.append((other,))
            said = ""
            if number in _DISPUTED:
                disputed = _money(number, figure + 3_000)
                said = f" pays {disputed.value}"
                stated = Stated(f"{other}{said}", disputed.value)
                first = facts["Amount"]
                facts["Amount"] = Fact(
                    first.expected | {disputed.expected}, (*first.stated, stated)
                )
            others.append(linked(other, path, said))
        entities.append(Entity(tuple(spellings), facts, "" if counts else pays))
    pages += sections("grants", listed, 12, "Register of harbour grants")
    body = f"<ul>{''.join(others)}</ul>"
    pages.append(Page("/grants/ports", "List of grants for ports", body, is_list=True))
    return TableRequest(
        name="grants",
        question="All grants for harbour towns above 50,000 (in any currency), with giver, amount "
        "and deadline.",
        row="one grant programme",
        rules=["above 50,000 in its currency"],
        columns=[
            {"name": "Grant", "is_key": True},
            {"name": "Giver"},
            {"name": "Amount", "kind": "money"},
            {"name": "Deadline", "kind": "date"},
        ],
        ways=["the register of harbour grants", "the list of grants for ports"],
        entities=entities,
        pages=pages,
    )


def _lights(random_: random.Random) -> TableRequest:
    entities = list[Entity]()
    pages = list[Page]()
    by_list: dict[str, list[str]] = {"east": [], "west": [], "lit before 1900": []}
    for number, town in enumerate(PLACES[:44]):
        counts = number % 9 != 4
        path = f"/lights/{number}"
        if not counts:
            name = f"{town} Beacon"
            rejected_by = f"{name}, a beacon without a lantern"
            entities.append(Entity(((name,),), {}, rejected_by))
            by_list["east"].append(f"<li>{rejected_by}</li>")
            continue
        name = f"{town} Light"
        short = f"{town} Lt."
        metres = random_.randrange(120, 620) / 10
        height = _Written(f"{metres:g} metres", f"{metres:g} metres")
        if number % 3 == 0:
            feet = random_.randrange(45, 190)
            height = _Written(f"{feet} feet", f"{feet} feet")
        year = str(random_.randrange(1790, 1960))
        keeper = PEOPLE[random_.randrange(len(PEOPLE))]
        is_automatic = number % 2 == 0
        facts = {
            "Height": fact(f"The {name} stands {height.value} tall.", height.value),
            "Lit": fact(f"The {name} was lit for the first time in {year}.", year),
        }
        if number % 5:
            said = f"{keeper} was the last keeper of the {name}."
            facts["Last keeper"] = fact(said, keeper)
        else:
            facts["Last keeper"] = Fact(frozenset(), ())
        if is_automatic:
            facts["Automatic"] = fact(f"The {name} works automatically.", "yes")
        else:
            facts["Automatic"] = fact(f"The {name} does not work automatically.", "no")
        lines = [stated.words for own in facts.values() for stated in own.stated]
        pages.append(_own_page("lights", number, name, [*filler(name, 3), *lines]))
        side = "east" if number % 2 else "west"
        by_list[side].append(linked(name, path))
        spellings = [(name,)]
        if int(year) < 1900:
            spellings.append((short,))
            by_list["lit before 1900"].append(linked(short, path))
        entities.append(Entity(tuple(spellings), facts))
    ways = list[str]()
    for number, (label, listed) in enumerate(by_list.items()):
        title = f"List of lighthouses, {label}"
        body = f"<ul>{''.join(listed)}</ul>"
        pages.append(Page(f"/lights/list/{number}", title, body, is_list=True))
        ways.append(f"the list of lighthouses, {label}")
    return TableRequest(
        name="lights",
        question="All lighthouses of the coast with a lantern: height, year of the first light, "
        "last keeper, and whether they work automatically.",
        row="one lighthouse",
        rules=["has a lantern"],
        columns=[
            {"name": "Lighthouse", "is_key": True},
            {"name": "Height", "kind": "number"},
            {"name": "Lit", "kind": "date", "meaning": "year of the first light"},
            {"name": "Last keeper"},
            {"name": "Automatic", "kind": "yes/no"},
        ],
        ways=ways,
        entities=entities,
        pages=pages,
    )


def _ferries(random_: random.Random) -> TableRequest:
    """The routes have no pages of their own: all stand in one long table."""
    entities = list[Entity]()
    rows = list[str]()
    for number in range(46):
        start, end = PLACES[number], PLACES[(number * 5 + 3) % len(PLACES)]
        # The name of a town would make a route of the end and the operator.
        operator = f"{_LINES[number % len(_LINES)]} Lines"
        minutes = f"{random_.randrange(15, 240)} min"
        miles = random_.randrange(20, 900) / 10
        unit = "km" if number % 3 else "nautical miles"
        distance = f"{miles:g} {unit}"
        cells = [start, end, operator, minutes, distance]
        words = " ".join(cells)
        facts = {
            "Operator": fact(words, operator),
            "Duration": fact(words, minutes),
            "Distance": fact(words, distance),
        }
        rejected_by = ""
        status = "runs"
        if number % 10 == 9:
            status = "given up"
            rejected_by = f"{words} {status}"
        entities.append(Entity(((start, end),), facts, rejected_by))
        rows.append("".join(f"<td>{html.escape(cell)}</td>" for cell in (*cells, status)))
    headings = "".join(
        f"<th>{name}</th>" for name in ("From", "To", "Operator", "Duration", "Distance", "Status")
    )
    table = f"<table><tr>{headings}</tr>{''.join(f'<tr>{row}</tr>' for row in rows)}</table>"
    intro = paragraphs(filler("the ferries", 4))
    page = Page("/ferries/table", "List of all ferry routes", intro + table, is_list=True)
    return TableRequest(
        name="ferries",
        question="All ferry routes that run, with operator, duration and distance.",
        row="one ferry route",
        rules=["it runs"],
        columns=[
            {"name": "From", "is_key": True},
            {"name": "To", "is_key": True},
            {"name": "Operator"},
            {"name": "Duration", "kind": "number"},
            {"name": "Distance", "kind": "number"},
        ],
        ways=["the list of all ferry routes"],
        entities=entities,
        pages=[page],
    )


def _museums(random_: random.Random) -> TableRequest:
    entities = list[Entity]()
    pages = list[Page]()
    by_kind: dict[str, list[str]] = {"art": [], "maritime": [], "science": []}
    everywhere = list[str]()
    for number, town in enumerate(PLACES[:42]):
        name = f"{town} Museum"
        path = f"/museums/{number}"
        kind = list(by_kind)[number % 3]
        fee = random_.randrange(4, 25)
        price = (
            _Written(f"{fee} euros", f"{fee} euros"),
            _Written(f"£{fee}.50", f"£{fee}.50"),
            _Written(f"{fee} Swiss francs", f"{fee} Swiss francs"),
        )[number % 3]
        written, iso = day(random_.randrange(400), random_.randrange(1950, 2024))
        website = f"https://{town.lower()}-museum.example"
        facts = {
            "Kind": fact(f"The {name} is a museum of {kind} history.", kind),
            "Admission": fact(f"A day in the {name} costs {price.value}.", *price),
            "Opened": fact(f"The {name} opened on {written}.", written, iso),
            "Website": fact(f"More on the {name}: {website}", website),
        }
        lines = [own.stated[0].words for own in facts.values()]
        rejected_by = ""
        if number % 10 == 3:
            rejected_by = f"The {name} is closed for good."
            lines.append(rejected_by)
        pages.append(_own_page("museums", number, name, lines))
        by_kind[kind].append(linked(name, path))
        spellings = [(name,)]
        if number % 6 == 0:
            spellings.append((f"Museum of {town}",))
            everywhere.append(linked(f"Museum of {town}", path))
        elif number % 2 == 0:
            everywhere.append(linked(name, path))
        entities.append(Entity(tuple(spellings), facts, rejected_by))
    ways = ["the list of museums of the tourist office"]
    body = f"<ul>{''.join(everywhere)}</ul>"
    title = "List of museums of the tourist office"
    pages.append(Page("/museums/tourists", title, body, is_list=True))
    for kind, listed in by_kind.items():
        title = f"List of museums of {kind} history"
        body = f"<ul>{''.join(listed)}</ul>"
        pages.append(Page(f"/museums/list/{kind}", title, body, is_list=True))
        ways.append(f"the list of museums of {kind} history")
    return TableRequest(
        name="museums",
        question="All museums of the coast that are open, with kind, admission, opening day and "
        "website.",
        row="one museum",
        rules=["it is not closed for good"],
        columns=[
            {"name": "Museum", "is_key": True},
            {"name": "Kind", "kind": "choice", "choices": ["art", "maritime", "science"]},
            {"name": "Admission", "kind": "money"},
            {"name": "Opened", "kind": "date"},
            {"name": "Website", "kind": "link"},
        ],
        ways=ways,
        entities=entities,
        pages=pages,
    )


_GERMAN_MONTHS = (
    *("Januar", "Februar", "März", "April", "Mai", "Juni", "Juli", "August", "September"),
    *("Oktober", "November", "Dezember"),
)


def _dams(random_: random.Random) -> TableRequest:
    """Its pages are in German, with decimal commas; a page of its register has forty links."""
    entities = list[Entity]()
    pages = list[Page]()
    listed = list[str]()
    for number, town in enumerate(PLACES[:44]):
        name = f"Talsperre {town}"
        tenths = random_.randrange(105, 990)
        height = f"{tenths // 10},{tenths % 10} Meter"
        volume = random_.randrange(11, 95)
        whole, tenth = divmod(volume, 10)
        million = _Written(
            f"{whole},{tenth} Millionen Kubikmeter", f"{grouped(volume * 100_000)} Kubikmeter"
        )
        year = random_.randrange(1900, 1990)
        month = number % 12
        written = f"{number % 27 + 1}. {_GERMAN_MONTHS[month]} {year}"
        iso = f"{year}-{month + 1:02}-{number % 27 + 1:02}"
        operator = f"Wasserverband {PLACES[number % 7]}"
        facts = {
            "Höhe": fact(
                f"Die Mauer der {name} ist {height} hoch.",
                height,
                f"{tenths / 10:g} Meter",
            ),
            "Stauraum": fact(f"Die {name} fasst {million.value} Wasser.", *million),
            "Fertiggestellt": fact(
                f"Die {name} wurde am {written} fertiggestellt und dem Betrieb übergeben.",
                written,
                iso,
            ),
            "Betreiber": fact(f"Die {name} gehört dem {operator}.", operator),
        }
        lines = [own.stated[0].words for own in facts.values()]
        pages.append(_own_page("dams", number, name, lines))
        listed.append(linked(name, f"/dams/{number}"))
        entities.append(Entity(((name,),), facts))
    pages += sections("dams", listed, 40, "Verzeichnis der Talsperren")
    return TableRequest(
        name="dams",
        question="Alle Talsperren des Landes mit Höhe, Stauraum, Tag der Fertigstellung und "
        "Betreiber.",
        row="eine Talsperre",
        rules=[],
        columns=[
            {"name": "Talsperre", "is_key": True},
            {"name": "Höhe", "kind": "number"},
            {"name": "Stauraum", "kind": "number"},
            {"name": "Fertiggestellt", "kind": "date"},
            {"name": "Betreiber"},
        ],
        ways=["Verzeichnis der Talsperren"],
        entities=entities,
        pages=pages,
    )


def _vessels(random_: random.Random) -> TableRequest:
    """Its register has more pages than a scout has rounds."""
    entities = list[Entity]()
    pages = list[Page]()
    listed = list[str]()
    others = list[str]()
    for number, town in enumerate(PLACES):
        name = f"RV {town}"
        spellings = [(name,)]
        length = f"{random_.randrange(180, 1_200) / 10:g} m"
        year = str(random_.randrange(1965, 2024))
        owner = f"University of {PLACES[(number * 3 + 1) % len(PLACES)]}"
        crew = str(random_.randrange(6, 60))
        facts = {
            "Length": fact(f"The {name} is {length} long.", length),
            "Built": fact(f"The {name} was built in {year}.", year),
            "Owner": fact(f"The {name} belongs to the {owner}.", owner),
            "Crew": fact(f"The {name} has a crew of {crew}.", crew),
        }
        lines = [own.stated[0].words for own in facts.values()]
        pages.append(_own_page("vessels", number, name, lines))
        listed.append(linked(name, f"/vessels/{number}"))
        if number % 5 == 0:
            other = f"R/V {town}"
            spellings.append((other,))
            others.append(linked(other, f"/vessels/{number}"))
        entities.append(Entity(tuple(spellings), facts))
    pages += sections("vessels", listed, 4, "Register of research vessels")
    body = f"<ul>{''.join(others)}</ul>"
    pages.append(Page("/vessels/visits", "List of ships that called", body, is_list=True))
    return TableRequest(
        name="vessels",
        question="All research vessels with length, year built, owner and crew.",
        row="one research vessel",
        rules=[],
        columns=[
            {"name": "Vessel", "is_key": True},
            {"name": "Length", "kind": "number", "unit": "m"},
            {"name": "Built", "kind": "date", "meaning": "year"},
            {"name": "Owner"},
            {"name": "Crew", "kind": "number"},
        ],
        ways=["the register of research vessels", "the list of ships that called"],
        entities=entities,
        pages=pages,
    )


def _festivals(random_: random.Random) -> TableRequest:
    """Its facts stand deep in long pages."""
    entities = list[Entity]()
    pages = list[Page]()
    by_half: dict[str, list[str]] = {"spring and summer": [], "autumn and winter": []}
    for number, town in enumerate(PLACES[:40]):
        name = f"{town} Sea Festival"
        written, iso = day(number, 2027)
        figure = random_.randrange(1, 80) * 500
        visitors = _Written(f"{figure:,}", grouped(figure))
        if number % 4 == 1:
            visitors = _Written(f"about {figure:,}", f"about {figure:,}")
        is_free = number % 3 == 0
        fee = random_.randrange(5, 60)
        facts = {
            "Begins": fact(f"The {name} begins on {written}.", written, iso),
            "Visitors": fact(f"The {name} had {visitors.value} visitors last year.", *visitors),
        }
        if is_free:
            said = f"Admission to the {name} is free, so there is no ticket."
            facts["Ticket"] = Fact(frozenset({NOT_APPLICABLE}), (Stated(said, ""),))
        else:
            ticket = f"{fee} euros"
            facts["Ticket"] = fact(f"A ticket for the {name} costs {ticket}.", ticket)
        lines = [own.stated[0].words for own in facts.values()]
        text = list[str]()
        for line in lines:
            text += [*filler(name, 9), line]
        pages.append(_own_page("festivals", number, name, [*text, *filler(name, 6)]))
        half = list(by_half)[0 if 2 <= number % 12 < 8 else 1]
        by_half[half].append(linked(name, f"/festivals/{number}"))
        entities.append(Entity(((name,),), facts))
    ways = list[str]()
    for number, (half, listed) in enumerate(by_half.items()):
        title = f"List of festivals in {half}"
        body = f"<ul>{''.join(listed)}</ul>"
        pages.append(Page(f"/festivals/list/{number}", title, body, is_list=True))
        ways.append(f"the list of festivals in {half}")
    return TableRequest(
        name="festivals",
        question="All sea festivals with first day, visitors and price of a ticket.",
        row="one festival",
        rules=[],
        columns=[
            {"name": "Festival", "is_key": True},
            {"name": "Begins", "kind": "date"},
            {"name": "Visitors", "kind": "number"},
            {"name": "Ticket", "kind": "money"},
        ],
        ways=ways,
        entities=entities,
        pages=pages,
    )


def _gauges(random_: random.Random) -> TableRequest:
    """Part of its facts stand on a second page of each row, which only a search finds."""
    entities = list[Entity]()
    pages = list[Page]()
    listed = list[str]()
    for number, town in enumerate(PLACES[:40]):
        name = f"{town} Tide Gauge"
        level = random_.randrange(-95, 95) / 10
        mean = f"{level:g} metres"
        if level < 0:
            mean = f"−{-level:g} metres"
        written, iso = day(random_.randrange(300), random_.randrange(1900, 2015))
        owner = f"{PLACES[number % 9]} Harbour Board"
        facts = {
            "Mean level": fact(
                f"The mean level at the {name} is {mean}.", mean, f"{level:g} metres"
            ),
            "Measures since": fact(f"The {name} has measured since {written}.", written, iso),
            "Owner": fact(f"The {name} belongs to the {owner}.", owner),
        }
        own = [facts[column].stated[0].words for column in ("Mean level", "Measures since")]
        pages.append(_own_page("gauges", number, name, own))
        pages.append(
            Page(
                f"/gauges/owner/{number}",
                f"Owner of the {name}",
                paragraphs([facts["Owner"].stated[0].words]),
            )
        )
        listed.append(linked(name, f"/gauges/{number}"))
        entities.append(Entity(((name,),), facts))
    pages += sections("gauges", listed, 15, "Register of tide gauges")
    return TableRequest(
        name="gauges",
        question="All tide gauges with mean level, first day of measurement and owner.",
        row="one tide gauge",
        rules=[],
        columns=[
            {"name": "Gauge", "is_key": True},
            {"name": "Mean level", "kind": "number"},
            {"name": "Measures since", "kind": "date"},
            {"name": "Owner"},
        ],
        ways=["the register of tide gauges"],
        entities=entities,
        pages=pages,
    )


_REQUESTS: Sequence[Callable[[random.Random], TableRequest]] = (
    *(_grants, _lights, _ferries, _museums),
    *(_dams, _vessels, _festivals, _gauges),
)


def web_requests(seed: int) -> list[TableRequest]:
    """Return the requests over the web; the same seed gives the same facts."""
    requests = list[TableRequest]()
    for number, make in enumerate(_REQUESTS):
        requests.append(make(random.Random(f"{seed} {number}")))  # noqa: S311 - only made-up facts
    return requests
