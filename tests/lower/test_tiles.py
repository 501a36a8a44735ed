"""Tiles, tables that stay, and machines that are other YAML files."""

from pathlib import Path

import pytest

from fusectl.lower import Unlowerable
from fusectl.lower.residency import Slots
from fusectl.lower.validate import validate
from fusectl.program import Product
from fusectl.simulate import simulate
from fusectl.tables import Target
from tests.lower.build import both, catalog, decided, feeds, functions, lowered, machine

SMALL = "tests/coverage/data/small-tiles.yaml"


def pair(m: int, k: int, n: int) -> str:
    return f"""g (float16[{m},{k}] x, float16[{k},{n}] w) => (float16[{m},{n}] y)
        {{ u = MatMul(x, w)  y = Sigmoid(u) }}"""


@pytest.mark.parametrize(
    "sizes", [(29, 40, 30), (7, 5, 200), (8, 1024, 8), (65, 3, 33), (1, 1900, 1)]
)
def test_tiles_change_nothing_but_the_bytes(sizes: tuple[int, int, int]) -> None:
    """The same bits from one tile and from many; the tiler's bytes are the program's."""
    source = pair(*sizes)
    cut, whole = both(source, machine(SMALL)), both(source)
    given = feeds(decided(source, machine()))
    right = simulate(whole[0], given)["y"]
    for program in (*cut, whole[1]):
        assert validate(program) == []
        assert simulate(program, given)["y"].tobytes() == right.tobytes()
    plain = cut[1].descriptors[0]
    assert isinstance(plain.sizes, Product)
    assert plain.sizes.splits
    for call, program in ((cut[0].descriptors[0], cut[0]), (plain, cut[1])):
        _bytes_as_the_tiler_says(program, call.id, sizes)


def _bytes_as_the_tiler_says(program: object, call: str, sizes: tuple[int, int, int]) -> None:
    from fusectl.program import Program
    from fusectl.tiling import tiled, work_of
    from fusectl.tiling.geometry import Product as Sizes

    assert isinstance(program, Program)
    descriptor = next(d for d in program.descriptors if d.id == call)
    assert isinstance(descriptor.sizes, Product)
    m, k, n = sizes
    tiling = tiled(work_of(Sizes(m, n, k), (2, 2, 2)), *descriptor.sizes.tile)
    moved = (i.bytes for i in program.instructions if i.descriptor == call)
    kinds = (i.does in ("load", "store") for i in program.instructions if i.descriptor == call)
    assert sum(b for b, k in zip(moved, kinds, strict=True) if k) == tiling.moved


def test_the_tail_is_masked() -> None:
    program = both(pair(29, 40, 30), machine(SMALL))[0]
    masks = [i.mask for i in program.instructions if i.does == "finish"]
    assert {} in masks
    assert any(masks)


def test_a_schedule_states_the_tiles(tmp_path: Path) -> None:
    from fusectl.tables.schedule import read_schedule

    path = tmp_path / "s.yaml"
    path.write_text("u: {splits: [m, n], tile: {m: 5, n: 7}}\n")
    target = machine().scheduled(read_schedule(path))
    program = both(pair(12, 8, 10), target)[0]
    sizes = program.descriptors[0].sizes
    assert isinstance(sizes, Product)
    assert sizes.tile == (5, 7, 8)
    given = feeds(decided(pair(12, 8, 10), target))
    whole = simulate(both(pair(12, 8, 10))[0], given)["y"]
    assert simulate(program, given)["y"].tobytes() == whole.tobytes()


CALLS = """g (float16[4,8] x, float16[8,8] w, float16[1,1,4,4] p, float16[1,1,1,1] k)
    => (float16[4,8] z, float16[1,1,4,4] t, float16[1,1,4,4] h, float16[4,8] f)
    { u = MatMul(x, w)  y = Sigmoid(u)  v = MatMul(y, w)  z = Sigmoid(v)
      a = Conv(p, k)  t = Tanh(a)  b = Conv(t, k)  h = HardSwish(b)
      c = MatMul(z, w)  f = Sigmoid(c) }"""


def test_a_table_that_is_still_there_is_not_loaded_again() -> None:
    """Two slots: Sigmoid, Sigmoid, Tanh, HardSwish (in the place of Tanh), Sigmoid."""
    program = both(CALLS)[0]
    loads = [i.reads[0].buffer for i in program.instructions if i.does == "load-table"]
    assert [name.removeprefix("%lut.") for name in loads] == ["Sigmoid0", "Tanh1", "HardSwish2"]
    headers = [i.reads[0].buffer for i in program.instructions if i.does == "load-header"]
    assert len(headers) == 4  # one register: Sigmoid's header has to come back
    assert validate(program) == []


def test_one_slot_has_to_be_loaded_again() -> None:
    program = both(CALLS, machine(SMALL))[0]
    loads = [i for i in program.instructions if i.does == "load-table"]
    assert len(loads) == 4
    assert validate(program) == []


def test_what_is_wanted_last_makes_room() -> None:
    wanted = ["a", "b", "c", "a", "b"]
    slots = Slots(2, wanted)
    placed = [slots.place(key, call) for call, key in enumerate(wanted)]
    assert [p.fresh for p in placed] == [True, True, True, False, True]


def other_machine(folder: Path) -> Target:
    """Another machine: convolutions alone, other opcodes, a smaller table, no host."""
    path = folder / "wren.yaml"
    path.write_text(
        """target: wren
summary: A convolution engine.
memory: {on_chip: 2KiB, table_slots: 1, table_entries: 64, interpolate: true}
passes:
  - fuse: [conv-activation]
  - group: auto
paths:
  conv-activation:
    functions: {Tanh: {table: true}}
    grouping: {groups: [one], splits: [none, m, n]}
    source: made for this test
lowering:
  source: made for this test
  templates:
    convolution:
      operators: [Conv]
      setup: [cfg load-header, tab load-table]
      tile: [wgt load b, bia load c, pic load a, clr start, mac multiply, spl partial, out finish,
        put store y]
    function:
      operators: [Tanh]
      setup: [cfg load-header, tab load-table]
      tile: [pic load a, fun apply, put store y]
"""
    )
    return catalog().target(str(path))


def test_another_machine_is_another_file(tmp_path: Path) -> None:
    target = other_machine(tmp_path)
    source = """g (float16[1,4,12,12] x, float16[6,4,3,3] w, float16[6] b) => (float16[1,6,10,10] y)
        { u = Conv(x, w, b)  y = Tanh(u) }"""
    fused, apart = decided(source, target), decided(source, target, functions(target))
    one, two = lowered(fused, target), lowered(apart, target, fused=False)
    assert set(one.opcodes) == {"cfg", "tab", "wgt", "bia", "pic", "clr", "mac", "out", "put"}
    assert len(one.parameters[1].entries or one.parameters[0].entries) == 64
    assert validate(one) == validate(two) == []
    given = feeds(fused)
    assert simulate(one, given)["y"].tobytes() == simulate(two, given)["y"].tobytes()
    with pytest.raises(Unlowerable, match="MatMul"):
        lowered(decided(pair(2, 2, 2), target), target)
