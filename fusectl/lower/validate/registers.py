"""Table slots and header registers: loaded before use, and not overwritten before it."""

from __future__ import annotations

from fusectl.lower.validate.registry import Found, validator
from fusectl.program import Address, Program

_LOADS = ("load-table", "load-header")
_USES = ("finish", "apply", "partial")


@validator("table-allocated-before-use")
def table_allocated_before_use(program: Program) -> Found:
    """Table addresses are allocated before use."""
    records = {a.name: a for a in program.addresses}
    posts = {d.id: d.post for d in program.descriptors}
    loaded: set[str] = set()
    for place, instruction in enumerate(program.instructions):
        if instruction.does in _LOADS:
            loaded.add(instruction.writes[0].buffer)
        post = posts.get(instruction.descriptor)
        if instruction.does not in _USES or post is None:
            continue
        for what, name in (("table", post.table), ("header", post.header)):
            if name is None:
                continue
            if name not in records:
                yield f"{place} {instruction.op}", f"the {what} {name} has no address"
            elif name not in loaded:
                yield f"{place} {instruction.op}", f"the {what} {name} is not loaded yet"


@validator("registers-not-overwritten")
def registers_not_overwritten(program: Program) -> Found:
    """Registers and table slots are not overwritten before their use."""
    records = {a.name: a for a in program.addresses}
    posts = {d.id: d.post for d in program.descriptors}
    holds: dict[str, set[str]] = {"table": set(), "register": set()}
    for place, instruction in enumerate(program.instructions):
        if instruction.does in _LOADS:
            made = records.get(instruction.writes[0].buffer)
            if made is not None:
                held = holds.setdefault(made.space, set())
                held -= {n for n in held if _overlap(records[n], made)}
                held.add(made.name)
        post = posts.get(instruction.descriptor)
        if instruction.does not in _USES or post is None:
            continue
        for name in (post.table, post.header):
            record = records.get(name or "")
            if record is not None and _was_lost(record, holds, program, place):
                yield f"{place} {instruction.op}", f"{name} was overwritten before its use"


def _was_lost(record: Address, holds: dict[str, set[str]], program: Program, place: int) -> bool:
    """Tell whether something was loaded once, and is no longer there."""
    if record.name in holds.get(record.space, set()):
        return False
    earlier = program.instructions[:place]
    return any(i.does in _LOADS and i.writes[0].buffer == record.name for i in earlier)


def _overlap(a: Address, b: Address) -> bool:
    return a.address < b.address + b.bytes and b.address < a.address + a.bytes


@validator("within-capacity")
def within_capacity(program: Program) -> Found:
    """Every memory is as large as what lies in it."""
    for space, limit in program.capacity.items():
        used = program.peak.get(space, 0)
        if used > limit:
            yield space, f"{used} bytes are in use, the target has {limit}"
