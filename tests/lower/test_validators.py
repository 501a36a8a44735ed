"""Every validator alone against a program that is wrong in one thing."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from fusectl.lower import lower_work
from fusectl.lower.jobs import Work
from fusectl.lower.validate import VALIDATORS, validate
from fusectl.program import Descriptor, Encoding, Post, Program
from fusectl.simulate import Trap, simulate
from fusectl.tables.targets import Target
from fusectl.verify.machine import verify_machine
from tests.lower.build import both, catalog, decided, feeds, machine

PAIR = """g (float16[4,8] x, float16[8,6] w) => (float16[4,6] y)
    { [mm] u = MatMul(x, w)  [act] y = Sigmoid(u) }"""
PLAIN = """g (float16[4,8] x, float16[8,6] w) => (float16[4,6] u) { [mm] u = MatMul(x, w) }"""
TABLES = """g (float16[4,8] x, float16[8,6] w, float16[1,1,4,4] p, float16[1,1,1,1] k)
    => (float16[4,6] y, float16[1,1,4,4] t)
    { u = MatMul(x, w)  y = Sigmoid(u)  v = Conv(p, k)  t = Tanh(v) }"""
SPLIT = """g (float16[8,1024] x, float16[1024,8] w) => (float16[8,8] y) { y = MatMul(x, w) }"""


def changed(program: Program, call: str, **facts: Any) -> Program:
    """The program with one descriptor changed."""
    made = tuple(replace(d, **facts) if d.id == call else d for d in program.descriptors)
    return replace(program, descriptors=made)


def posted(program: Program, **facts: Any) -> Program:
    """The program with the post-processing of its first call changed."""
    first = program.descriptors[0]
    assert first.post is not None
    return changed(program, first.id, post=replace(first.post, **facts))


def without(program: Program, does: str, place: int = 0) -> Program:
    """The program without one of the instructions that do something."""
    found = [i for i, n in enumerate(program.instructions) if n.does == does][place]
    left = program.instructions[:found] + program.instructions[found + 1 :]
    return replace(program, instructions=left)


def moved(program: Program, name: str, address: int) -> Program:
    """The program with something at another address."""
    made = tuple(replace(a, address=address) if a.name == name else a for a in program.addresses)
    return replace(program, addresses=made)


def last_load(program: Program, does: str, place: int) -> Program:
    """The program with one load moved to its end."""
    found = [i for i, n in enumerate(program.instructions) if n.does == does][place]
    rest = list(program.instructions)
    rest.append(rest.pop(found))
    return replace(program, instructions=tuple(rest))


def lingering() -> Program:
    """Post-processing switched off, its attributes still there."""
    first = both(PLAIN)[0]
    post = Post(False, "", None, None, Encoding("float16"), Encoding("float16"), {})
    return changed(first, "d0", post=post)


def applied_twice() -> Program:
    """The function in the fused call, and its own instruction as well."""
    fused, apart = both(PAIR)
    calls = (apart.descriptors[0], *apart.descriptors[1:])
    first = replace(calls[0], nodes=("mm", "act"), post=calls[1].post, encoding=None)
    table, header, *work = (
        *[i for i in apart.instructions if i.does.startswith("load-")],
        *[i for i in apart.instructions if not i.does.startswith("load-")],
    )
    setup = (replace(table, descriptor="d0"), replace(header, descriptor="d0"))
    assert fused.descriptors[0].nodes == first.nodes
    return replace(apart, descriptors=(first, calls[1]), instructions=(*setup, *work))


def split_k() -> Program:
    """A function behind a sum that comes in parts."""
    program = both(PAIR)[0]
    first = program.descriptors[0]
    assert first.sizes is not None
    return changed(program, "d0", sizes=replace(first.sizes, splits=("k",)))


def extra_load() -> Program:
    """A plain product that loads a table it does not use."""
    fused, plain = both(PAIR)[0], both(PLAIN)[0]
    loads = [i for i in fused.instructions if i.does == "load-table"]
    names = {r.buffer for i in loads for r in (*i.reads, *i.writes)}
    records = [a for a in fused.addresses if a.name in names]
    return replace(
        plain,
        addresses=(*plain.addresses, *(replace(a, address=a.address + 4096) if a.space == "dram"
                                       else a for a in records)),
        parameters=fused.parameters,
        instructions=(*loads, *plain.instructions),
    )  # fmt: skip


def shared_slot() -> Program:
    """Two tables in one slot, both loaded before the first is used."""
    program = both(TABLES)[0]
    tables = [a for a in program.addresses if a.space == "table"]
    one = moved(program, tables[1].name, tables[0].address)
    loads = [i for i in one.instructions if i.does == "load-table"]
    banks = [i for i in one.instructions if i not in loads]
    return replace(one, instructions=(*loads, *banks))


def unmasked() -> Program:
    """A tile at the tail that does not say how much of it counts."""
    program = both(SMALL_TILES, machine("tests/coverage/data/small-tiles.yaml"))[0]
    made = tuple(replace(i, mask={}) for i in program.instructions)
    return replace(program, instructions=made)


SMALL_TILES = """g (float16[29,40] x, float16[40,30] w) => (float16[29,30] y)
    { u = MatMul(x, w)  y = Sigmoid(u) }"""

WRONG: dict[str, Callable[[], Program]] = {
    "table-has-metadata": lambda: posted(both(PAIR)[0], output=None),
    "no-lingering-attributes": lingering,
    "supported-storage": lambda: posted(both(PAIR)[0], intermediate=Encoding("bfloat16")),
    "no-additional-loads": extra_load,
    "function-is-gone": applied_twice,
    "table-allocated-before-use": lambda: last_load(both(PAIR)[0], "load-table", 0),
    "registers-not-overwritten": shared_slot,
    "within-capacity": lambda: replace(both(PAIR)[0], capacity={"sram": 64}),
    "grouping-has-code": split_k,
    "written-before-read": lambda: without(both(PAIR)[0], "load"),
    "overlap-only-elementwise": lambda: moved(both(PAIR)[0], "y", 0),
    "regions-inside": unmasked,
}


def test_every_validator_has_a_wrong_program() -> None:
    assert set(VALIDATORS) == set(WRONG)
    assert len(WRONG) == 12


@pytest.mark.parametrize("name", WRONG)
def test_each_validator_alone_stops_a_wrong_program(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken away, it is missed: nothing else finds what is wrong."""
    program = WRONG[name]()
    found = validate(program)
    assert {v.validator for v in found} == {name}, [str(v) for v in found]
    monkeypatch.delitem(VALIDATORS, name)
    assert validate(program) == []


@pytest.mark.parametrize("source", [PAIR, PLAIN, TABLES, SPLIT])
def test_right_programs_pass(source: str) -> None:
    assert [validate(p) for p in both(source)] == [[], []]


def _six(program: Program) -> dict[str, Program]:
    return {
        "table address": posted(program, table=None),
        "header parameters": posted(program, header=None),
        "intermediate encoding": posted(program, intermediate=None),
        "final output encoding": posted(program, output=None),
        "function selection": posted(program, function=""),
        "post-processing enable": posted(program, enable=False),
    }


@pytest.mark.parametrize("part", list(_six(both(PAIR)[0])))
def test_each_of_the_six_parameters_is_missed(part: str) -> None:
    """By a validator, and by the machine: it stops, or computes something else."""
    program = both(PAIR)[0]
    broken = _six(program)[part]
    assert validate(broken)
    run = decided(PAIR, machine())
    given = feeds(run)
    right = simulate(program, given)["y"]
    try:
        made = simulate(broken, given)["y"]
    except Trap:
        return
    assert (made != right).any()


@pytest.mark.parametrize("part", list(_six(both(PAIR)[0])))
def test_without_one_of_the_six_no_decision_is_verified(
    part: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Taken away where programs are made: the same model held before."""

    def broken(work: Work, target: Target, model: str, fused: bool) -> Program:
        program = lower_work(work, target, model, fused)
        return _six(program)[part] if fused else program

    run = decided(PAIR, machine())
    (right,) = verify_machine(run, machine(), catalog().operators)
    assert "bitwise" in right.held
    monkeypatch.setattr("fusectl.verify.machine.lower_work", broken)
    (result,) = verify_machine(run, machine(), catalog().operators)
    assert not result.held
    assert result.trapped or result.wrong("bitwise")


def test_a_grouped_convolution_with_a_function_is_refused() -> None:
    program = both(TABLES)[0]
    call: Descriptor = program.descriptors[1]
    assert call.sizes is not None
    wrong = changed(program, call.id, sizes=replace(call.sizes, groups=2))
    assert "grouping-has-code" in {v.validator for v in validate(wrong)}


def test_a_function_on_partial_sums_is_wrong_in_the_machine_too() -> None:
    """Why there is no such code: the program that the refusal prevents computes another thing."""
    target = machine("tests/coverage/data/small-tiles.yaml")
    plain = both(SPLIT, target)[0]
    assert plain.descriptors[0].sizes is not None
    assert "k" in plain.descriptors[0].sizes.splits  # type: ignore[union-attr]
    post = Post(True, "Relu", None, None, Encoding("float16"), Encoding("float16"), {})
    fused = changed(plain, "d0", post=post, encoding=None)
    given = feeds(decided(SPLIT, target))
    relu = simulate(plain, given)["y"].clip(0)
    assert (simulate(fused, given)["y"] != relu).any()
    assert {v.validator for v in validate(fused)} == {"grouping-has-code"}
