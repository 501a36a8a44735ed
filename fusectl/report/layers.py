"""Tell about every layer what was decided about one: see ``graph.repeat``.

Records about a shortened graph hold marks where names stand. They are made into templates, and
filled in once for each layer. That the layers which stayed were decided alike is checked here, text
by text; so is that nothing is told of a layer that bears on one far off.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, Generic, TypeVar

import msgspec

from fusectl.decide.engine import identity
from fusectl.graph.repeat import CORE, FEW, FIXED, INPUT, MARK, Repeat, mark
from fusectl.graph.view import GraphView

T = TypeVar("T", bound=msgspec.Struct)
Names = dict[int, str]
Order = tuple[tuple[int, ...], tuple[int | str, ...]]

_ID = re.compile(r"\b[0-9a-f]{16}\b")
STRUCTURE = -1
"""The mark of a decision's ``structure``, which is known last."""


class UnequalError(Exception):
    """The layers that stayed were not decided alike: the whole graph has to be decided."""


@dataclass(frozen=True, slots=True)
class Item(Generic[T]):
    """A record, the node where it is at home, and what it is sorted by: nodes, then ``rest``."""

    home: int
    nodes: tuple[int, ...]
    rest: tuple[int | str, ...]
    record: T


@dataclass(frozen=True, slots=True)
class Spread(Generic[T]):
    """What one item becomes at one place: its order, and the record once it is asked for."""

    order: Order
    item: Item[T]
    fill: Callable[[str], T]


class Layers:
    """Spreads what is told about a shortened graph over the whole one."""

    def __init__(self, view: GraphView, repeat: Repeat) -> None:
        self._repeat = repeat
        self._keys: list[tuple[str, str, str]] = []
        self._marks: dict[str, str] = {}
        self._named: dict[int, Names] = {}
        read = view.constants.looked_at()
        for number, place in enumerate(repeat.places):
            if place.kind == INPUT and place.node >= repeat.start:
                array = read.get(mark(number))
                if array is not None and array.size > FEW:
                    raise UnequalError  # what other layers have stored there was not compared

    def learn(self, known: str, key: tuple[str, str, str]) -> None:
        """Take note of a decision's id and of what it is made of."""
        self._marks[known] = mark(len(self._repeat.places) + len(self._keys))
        self._keys.append(key)

    def identity(self, known: str) -> str:
        """Return the mark that stands for the id of a decision."""
        found = self._marks.get(known)
        if found is None:
            raise UnequalError
        return found

    def spread(self, items: Iterable[Item[T]]) -> list[Spread[T]]:
        """Return every item once for each layer, in the order of the whole graph."""
        repeat = self._repeat
        gap = repeat.removed * repeat.period
        core: list[list[tuple[Item[T], _Template]]] = [[] for _ in range(CORE)]
        found: list[Spread[T]] = []
        for item in items:
            template = _Template(item.record, self._marks)
            self._check_reach(item, template)
            shift = gap if item.home >= repeat.cut else 0
            found.append(self._at(item, template, shift))
            if repeat.start <= item.home < repeat.end:
                layer = repeat.layer(item.home) - repeat.margin
                if 0 <= layer < CORE:
                    core[layer].append((item, template))
        self._check_core(core)
        for number in range(1, repeat.removed + 1):
            shift = number * repeat.period
            found += [self._at(item, template, shift) for item, template in core[1]]
        found.sort(key=lambda s: s.order)
        return found

    def _at(self, item: Item[T], template: _Template, shift: int) -> Spread[T]:
        start = self._repeat.start
        nodes = tuple([n + shift if n >= start else n for n in item.nodes])
        fill: Callable[[str], T] = partial(template.filled, self._names(shift))
        return Spread((nodes, item.rest), item, fill)

    def _names(self, shift: int) -> Names:
        """Return the names of what marks stand for, ``shift`` nodes further on."""
        known = self._named.get(shift)
        if known is None:
            known = self._named[shift] = _Shifted(self._repeat, self._keys, shift)
        return known

    def _check_reach(self, item: Item[T], template: _Template) -> None:
        """Refuse what tells of layers on both sides of the cut, or far from its own."""
        repeat = self._repeat
        told = [n for n in self._nodes(template) if n >= repeat.start]
        if item.home < repeat.start:
            fine = all(n < repeat.cut for n in told)
        elif item.home >= repeat.end:
            fine = all(n >= repeat.cut for n in told)
        else:
            mine = repeat.layer(item.home)
            fine = all(abs(repeat.layer(n) - mine) <= repeat.margin for n in told)
        if not fine:
            raise UnequalError

    def _nodes(self, template: _Template) -> Iterator[int]:
        for number in template.marks:
            if 0 <= number < len(self._repeat.places):
                place = self._repeat.places[number]
                if place.kind != FIXED:
                    yield place.node

    def _check_core(self, core: list[list[tuple[Item[T], _Template]]]) -> None:
        """Refuse where the layers in the middle were not decided alike."""
        repeat = self._repeat
        if any(item.nodes[0] < repeat.start for layer in core for item, _ in layer):
            raise UnequalError  # one node that feeds all layers: each is one of its many readers
        told = []
        for number, layer in enumerate(core):
            base = repeat.start + (repeat.margin + number) * repeat.period
            names = _Relative(repeat, self._keys, base)
            told.append([(i.rest, t.filled(names, "")) for i, t in layer])
        if any(layer != told[0] for layer in told):
            raise UnequalError


class _Names(Names):
    """Names by mark, each made when it is first asked for."""

    def __init__(self, repeat: Repeat, keys: list[tuple[str, str, str]], base: int) -> None:
        super().__init__()
        self.repeat = repeat
        self.decided = keys
        self.base = base

    def __missing__(self, number: int) -> str:
        places = self.repeat.places
        made = self.one(number) if number < len(places) else self._id(number - len(places))
        self[number] = made
        return made

    def one(self, number: int) -> str:
        """Return what the mark of a place stands for."""
        raise NotImplementedError

    def _id(self, number: int) -> str:
        rule, value, consumer = self.decided[number]
        return identity(rule, "", self.filled(value), self.filled(consumer))

    def filled(self, text: str) -> str:
        """Return a text with names in it."""
        return MARK.sub(lambda m: self[int(m[1])], text)


class _Shifted(_Names):
    """The true names, ``base`` nodes further on."""

    def one(self, number: int) -> str:
        place = self.repeat.places[number]
        return self.repeat.text(number, self.base if place.node >= self.repeat.start else 0)


class _Relative(_Names):
    """Names that say only where something is, seen from the node ``base``."""

    def one(self, number: int) -> str:
        place = self.repeat.places[number]
        if place.kind == FIXED or place.node < self.repeat.start:
            return mark(number)
        return f"<{place.kind} {place.node - self.base} {place.slot}>"


Fill = Callable[[Names], Any]


class _Template:
    """A record with marks, made ready to be filled in often."""

    def __init__(self, record: msgspec.Struct, ids: dict[str, str]) -> None:
        self.marks: set[int] = set()
        self._ids = ids
        self._record = record
        self._fill = self._compiled(record)

    def filled(self, names: Names, structure: str) -> Any:
        """Return the record with names in it."""
        if self._fill is None:
            return self._record
        names[STRUCTURE] = structure
        return self._fill(names)

    def _compiled(self, value: Any) -> Fill | None:
        """Return what fills in a value; None where it has no marks."""
        if isinstance(value, str):
            return self._text(value) if "\ue000" in value else None
        if isinstance(value, tuple):
            return self._parts(tuple, value)
        if isinstance(value, msgspec.Struct):
            kind = type(value)
            fields = tuple(getattr(value, f) for f in kind.__struct_fields__)
            return self._parts(lambda parts: kind(*parts), fields)
        return None

    def _parts(self, make: Callable[[list[Any]], Any], parts: tuple[Any, ...]) -> Fill | None:
        compiled = ((i, self._compiled(p)) for i, p in enumerate(parts))
        open_ = [(i, fill) for i, fill in compiled if fill is not None]
        if not open_:
            return None

        def fill(names: Names) -> Any:
            filled = list(parts)
            for place, part in open_:
                filled[place] = part(names)
            return make(filled)

        return fill

    def _text(self, text: str) -> Fill:
        # A finding may call another decision by its id, which other layers have others for.
        text = _ID.sub(lambda m: self._ids.get(m[0], m[0]), text)
        pieces = MARK.split(text)
        numbers = [int(n) for n in pieces[1::2]]
        self.marks.update(numbers)
        if pieces[::2] == ["", ""]:
            (number,) = numbers
            return lambda names: names[number]
        form = "%s".join(p.replace("%", "%%") for p in pieces[::2])
        return lambda names: form % tuple([names[n] for n in numbers])
