"""Post-processing: complete where it is on, gone where it is off."""

from __future__ import annotations

from fusectl.lower.validate.registry import Found, validator
from fusectl.program import Descriptor, Post, Program

_STANDALONE = "function"
_LOADS = ("load-table", "load-header")


def _missing(post: Post) -> list[str]:
    """Return which of the six parameters a table's post-processing lacks."""
    parts = {
        "table address": post.table,
        "header parameters": post.header,
        "intermediate encoding": post.intermediate,
        "final output encoding": post.output,
        "function selection": post.function or None,
        "post-processing enable": post.enable or None,
    }
    return [name for name, part in parts.items() if part is None]


@validator("table-has-metadata")
def table_has_metadata(program: Program) -> Found:
    """A table requires its metadata."""
    headers = {p.name: p.header for p in program.parameters}
    entries = {p.name: p.entries for p in program.parameters}
    sources = _sources(program)
    for call in program.descriptors:
        post = call.post
        if post is None:
            continue
        if post.table is None:
            yield from _of_direct(call, post)
            continue
        for part in _missing(post):
            yield call.id, f"{part} is missing"
        header = headers.get(sources.get(post.header or "", ""))
        table = entries.get(sources.get(post.table or "", ""), ())
        if header is None or not table:
            yield call.id, f"there is no parameter record behind {post.table} and {post.header}"
        elif len(table) != header.entries or header.function != post.function:
            yield (
                call.id,
                f"the header is for {header.entries} entries of {header.function}, there are "
                f"{len(table)}, and {post.function or 'no function'} is selected",
            )


def _of_direct(call: Descriptor, post: Post) -> Found:
    """A function without a table needs the other four; what is left behind is another matter."""
    if not post.enable or post.header is not None:
        return
    for part in _missing(post)[2:]:
        yield call.id, f"{part} is missing"


def _sources(program: Program) -> dict[str, str]:
    """Return for each slot or register which record was loaded into it."""
    return {i.writes[0].buffer: i.reads[0].buffer for i in program.instructions if i.does in _LOADS}


@validator("no-lingering-attributes")
def no_lingering_attributes(program: Program) -> Found:
    """Without a table or function there are no fusion attributes."""
    for call in program.descriptors:
        post = call.post
        if post is None:
            continue
        if not post.enable or not post.function:
            state = "off" if not post.enable else "on without a function"
            yield call.id, f"post-processing is {state}, and its attributes are still there"
        if post.table is None and post.header is not None:
            yield call.id, f"there is no table, and the header {post.header} is still there"


@validator("supported-storage")
def supported_storage(program: Program) -> Found:
    """Intermediate values use supported storage types."""
    for call in program.descriptors:
        between = call.post.intermediate if call.post is not None else None
        for held in filter(None, (call.between, between)):
            if held.dtype not in program.storage:
                yield call.id, f"the intermediate value is held as {held.dtype}"
            if held.dtype.startswith(("int", "uint")) and not held.scale:
                yield call.id, f"the intermediate value is held as {held.dtype} without a scale"


@validator("no-additional-loads")
def no_additional_loads(program: Program) -> Found:
    """An ordinary product has no additional parameter loads."""
    posts = {d.id: d.post for d in program.descriptors}
    for place, instruction in enumerate(program.instructions):
        if instruction.does not in _LOADS:
            continue
        post = posts.get(instruction.descriptor)
        wanted = (post.table, post.header) if post is not None else ()
        name = instruction.writes[0].buffer
        if name not in wanted:
            yield f"{place} {instruction.op}", f"{instruction.descriptor} does not use {name}"


@validator("function-is-gone")
def function_is_gone(program: Program) -> Found:
    """The independent activation instruction is gone in the fused form."""
    done = {node for d in program.descriptors if _fused(d) for node in d.nodes}
    calls = {d.id: d for d in program.descriptors}
    for place, instruction in enumerate(program.instructions):
        call = calls.get(instruction.descriptor)
        if instruction.does != "apply" or call is None:
            continue
        again = [n for n in call.nodes if n in done]
        if again and call.kind == _STANDALONE:
            yield f"{place} {instruction.op}", f"{again[0]} is applied by a fused call already"


def _fused(call: Descriptor) -> bool:
    return call.post is not None and call.kind != _STANDALONE
