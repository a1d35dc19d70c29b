"""The four requests over folders, in which each document is a row: contracts, invoices, minutes and
product sheets."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

from deep_research_evaluation.tables.facts import (
    PEOPLE,
    PLACES,
    Document,
    Entity,
    Fact,
    TableRequest,
    day,
    fact,
    filler,
    grouped,
)


def _contracts(random_: random.Random) -> TableRequest:
    entities = list[Entity]()
    documents = list[Document]()
    for number in range(40):
        town = PLACES[number]
        name = f"Berth contract {town} {number + 1}"
        tenant = f"{town} {('Cranes Ltd', 'Ferries', 'Fish & Sons')[number % 3]}"
        figure = random_.randrange(400, 24_000)
        rent = (f"{figure:,} euros", f"{grouped(figure)} euros")
        if number % 4 == 3:
            rent = (f"£{figure:,}.50", f"£{grouped(figure + 0.5)}0")
        written, iso = day(random_.randrange(400), random_.randrange(2015, 2026))
        months = f"{random_.randrange(1, 13)} months"
        is_renewed = number % 2 == 0
        facts = {
            "Tenant": fact(f"The tenant of this berth is {tenant}.", tenant),
            "Monthly rent": fact(f"The monthly rent for {tenant} is {rent[0]}.", *rent),
            "Begins": fact(f"This contract begins on {written}.", written, iso),
        }
        if number % 5 == 2:
            facts["Notice"] = Fact(frozenset(), ())
        else:
            facts["Notice"] = fact(f"Either side may end it with {months} of notice.", months)
        if is_renewed:
            facts["Renewed"] = fact("It is renewed each year without a new signature.", "yes")
        else:
            facts["Renewed"] = fact("It is not renewed without a new signature.", "no")
        lines = [own.words for stated in facts.values() for own in stated.stated]
        file = f"contract-{number + 1:02}.{'docx' if number % 2 else 'pdf'}"
        documents.append(Document(file, [name, *filler(name, 3), *lines, *filler(name, 2)]))
        entities.append(Entity(((name,), (file,)), facts, file=file))
    for number in range(2):
        file = f"letter-{number + 1}.docx"
        name = f"Letter {number + 1} to the harbour board"
        words = f"{name} is no contract and was never answered."
        documents.append(Document(file, [name, words]))
        entities.append(Entity(((name,), (file,)), {}, words, file))
    return TableRequest(
        name="contracts",
        question="A table of my contracts: tenant, monthly rent, beginning, notice, and whether "
        "they are renewed.",
        row="one contract",
        rules=["it is a contract"],
        columns=[
            {"name": "Contract", "is_key": True},
            {"name": "Tenant"},
            {"name": "Monthly rent", "kind": "money"},
            {"name": "Begins", "kind": "date"},
            {"name": "Notice", "kind": "number"},
            {"name": "Renewed", "kind": "yes/no"},
        ],
        ways=(),
        entities=entities,
        documents=documents,
    )


def _invoices(random_: random.Random) -> TableRequest:
    """Their totals stand in rows of tables."""
    entities = list[Entity]()
    documents = list[Document]()
    for number in range(60):
        name = f"Invoice {2_400 + number}"
        supplier = f"{PLACES[number % 11]} {('Rope Works', 'Paint Company')[number % 2]}"
        net = random_.randrange(100, 9_000)
        total = net + net // 5
        written, iso = day(random_.randrange(300), 2026)
        due, due_iso = day(random_.randrange(300), 2027)
        facts = {
            "Supplier": fact(f"Supplier: {supplier}", supplier),
            "Total": fact(f"Total to pay {total:,} EUR", f"{total:,} EUR", f"{grouped(total)} EUR"),
            "Date": fact(f"Date of the invoice: {written}", written, iso),
            "Due": fact(f"Payable by: {due}", due, due_iso),
        }
        file = f"invoice-{2_400 + number}.{('docx', 'pdf', 'md')[number % 3]}"
        lines = [
            name,
            facts["Supplier"].stated[0].words,
            facts["Date"].stated[0].words,
            facts["Due"].stated[0].words,
            "Item | Amount",
            f"Goods | {net:,} EUR",
            f"Tax | {net // 5:,} EUR",
            f"Total to pay | {total:,} EUR",
        ]
        documents.append(Document(file, lines))
        entities.append(Entity(((name,), (file,)), facts, file=file))
    return TableRequest(
        name="invoices",
        question="A table of my invoices: supplier, total, date, and day by which they are due.",
        row="one invoice",
        rules=[],
        columns=[
            {"name": "Invoice", "is_key": True},
            {"name": "Supplier"},
            {"name": "Total", "kind": "money"},
            {"name": "Date", "kind": "date"},
            {"name": "Due", "kind": "date"},
        ],
        ways=(),
        entities=entities,
        documents=documents,
    )


def _minutes(random_: random.Random) -> TableRequest:
    """Long documents, with their facts between other sentences."""
    entities = list[Entity]()
    documents = list[Document]()
    for number in range(30):
        town = PLACES[number]
        name = f"Minutes of the {town} committee"
        written, iso = day(random_.randrange(300), 2025)
        later, later_iso = day(random_.randrange(300), 2026)
        chair = PEOPLE[random_.randrange(len(PEOPLE))]
        members = str(random_.randrange(5, 40))
        facts = {
            "Date": fact(f"The {town} committee met on {written}.", written, iso),
            "Chair": fact(f"The {town} meeting was chaired by {chair}.", chair),
            "Members": fact(f"At the {town} meeting {members} members were present.", members),
            "Next meeting": fact(f"The {town} committee meets again on {later}.", later, later_iso),
        }
        lines = [name]
        for own in facts.values():
            lines += [own.stated[0].words, *filler(name, 8)]
        file = f"minutes-{number + 1:02}.{'docx' if number % 2 else 'md'}"
        documents.append(Document(file, lines))
        entities.append(Entity(((name,), (file,)), facts, file=file))
    return TableRequest(
        name="minutes",
        question="A table of our minutes: day, chair, members present, next meeting.",
        row="the minutes of one meeting",
        rules=[],
        columns=[
            {"name": "Minutes", "is_key": True},
            {"name": "Date", "kind": "date"},
            {"name": "Chair"},
            {"name": "Members", "kind": "number"},
            {"name": "Next meeting", "kind": "date"},
        ],
        ways=(),
        entities=entities,
        documents=documents,
    )


def _products(random_: random.Random) -> TableRequest:
    entities = list[Entity]()
    documents = list[Document]()
    for number in range(48):
        town = PLACES[number]
        name = f"{town} Winch {random_.randrange(10, 90) * 10}"
        weight = f"{random_.randrange(50, 900) / 10:g} {('kg', 'lb')[number % 2]}"
        figure = random_.randrange(90, 12_000)
        price = (
            (f"{figure:,} EUR", f"{grouped(figure)} EUR"),
            (f"${figure:,}", f"${grouped(figure)}"),
        )
        volts = f"{(12, 24, 230, 400)[number % 4]} V"
        years = f"{random_.randrange(1, 11)} years"
        facts = {
            "Weight": fact(f"Weight: {weight}", weight),
            "Price": fact(f"List price: {price[number % 2][0]}", *price[number % 2]),
            "Voltage": fact(f"Voltage: {volts}", volts),
            "Warranty": fact(f"Warranty: {years}", years),
        }
        if number % 6 == 5:
            facts["Warranty"] = Fact(frozenset(), ())
        lines = [own.words for stated in facts.values() for own in stated.stated]
        file = f"product-{number + 1:02}.{('html', 'md', 'docx', 'pdf')[number % 4]}"
        documents.append(Document(file, [name, *lines, *filler(name, 1)]))
        entities.append(Entity(((name,), (file,)), facts, file=file))
    for number in range(2):
        file = f"price-list-{number + 1}.md"
        name = f"Price list {number + 1}"
        words = f"{name} is a list of several products and describes none of them."
        documents.append(Document(file, [name, words]))
        entities.append(Entity(((name,), (file,)), {}, words, file))
    return TableRequest(
        name="products",
        question="A table of the products in my folder: weight, price, voltage, warranty.",
        row="one product",
        rules=["the document describes one product"],
        columns=[
            {"name": "Product", "is_key": True},
            {"name": "Weight", "kind": "number"},
            {"name": "Price", "kind": "money"},
            {"name": "Voltage", "kind": "number"},
            {"name": "Warranty", "kind": "number"},
        ],
        ways=(),
        entities=entities,
        documents=documents,
    )


_REQUESTS: Sequence[Callable[[random.Random], TableRequest]] = (
    *(_contracts, _invoices, _minutes, _products),
)


def folder_requests(seed: int) -> list[TableRequest]:
    """Return the requests over folders; the same seed gives the same facts."""
    requests = list[TableRequest]()
    for number, make in enumerate(_REQUESTS):
        name = f"{seed} folder {number}"
        requests.append(make(random.Random(name)))  # noqa: S311 - only made-up facts
    return requests
