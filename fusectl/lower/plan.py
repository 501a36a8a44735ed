"""From the overlay to jobs: which template computes what, and how it is cut."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from fusectl.checks.form import attribute_beside
from fusectl.checks.state import taken_as_loaded
from fusectl.decide.judge import Ruling
from fusectl.graph.overlay import Group, Overlay
from fusectl.graph.types import BYTES
from fusectl.graph.view import Attribute, Node
from fusectl.lower.chain import Chain, chain
from fusectl.lower.jobs import Activation, Job, Unlowerable, Work
from fusectl.lower.regions import bias_view
from fusectl.lower.values import Values
from fusectl.lut import DIRECT, FUNCTIONS
from fusectl.program import Encoding
from fusectl.tables.operators import Operators
from fusectl.tables.target_schema import Lowering, Template
from fusectl.tables.targets import Target
from fusectl.tiling import Tiling, read_geometry, work_of
from fusectl.tiling.choose import choose
from fusectl.tiling.geometry import Geometry, Product

MATRIX_TYPE = "float16"
"""What the units of the machine compute with."""
_UNLIMITED = 1 << 62


class Planner:
    """Makes jobs for the groups of one scope. ``fused`` says by rulings what was put together."""

    def __init__(
        self, overlay: Overlay, rulings: Iterable[Ruling], target: Target, operators: Operators
    ) -> None:
        """Take a scope as a target's passes left it. Raises Unlowerable without templates."""
        if target.lowering is None:
            raise Unlowerable(f"target {target.id} does not say how it runs a program (lowering)")
        self.overlay = overlay
        self.target = target
        self.lowering: Lowering = target.lowering
        self.operators = operators
        self.values = Values(overlay, target.lowering)
        self.rulings = {id(r.group): r for r in rulings if r.group is not None}
        self._kinds = {
            text.value: kind
            for kind, template in target.lowering.templates.items()
            for text in template.operators
        }

    def whole(self) -> Work:
        """Return the jobs of everything that the scope computes."""
        alive = [g for g in self.overlay.groups if g.alive]
        return self.work(chain(g, self.rulings) for g in sorted(alive, key=lambda g: g.order))

    def parts(self, groups: Iterable[Group]) -> Work:
        """Return the jobs of some groups, with inputs and outputs of their own."""
        ordered = sorted(groups, key=lambda g: g.order)
        return self.alone(chain(g, self.rulings) for g in ordered)

    def alone(self, chains: Iterable[Chain]) -> Work:
        """Return the jobs of some chains, with inputs and outputs of their own."""
        found = self.work(chains)
        reads = {found.buffer(v) for j in found.jobs for v in j.reads if v}
        writes = {v for j in found.jobs for v in j.writes}
        values = {}
        for name, value in found.values.items():
            role = value.role
            if name in reads - writes and role != "constant":
                role = "input"
            elif name in writes and name not in reads:
                role = "output"
            values[name] = replace(value, role=role)
        return replace(found, values=values)

    def work(self, chains: Iterable[Chain]) -> Work:
        """Return the jobs of some chains, in their order."""
        listed = list(chains)
        taken: set[str] = set()
        jobs: list[Job] = []
        views: dict[str, str] = {}
        for place, link in enumerate(listed):
            if link.outputs and link.outputs[0] in taken:
                continue  # a quantiser that the post-processing in front of it does
            job = self._job(link)
            if job.kind == "move" and self.values.value(job.writes[0]).role == "value":
                views[job.writes[0]] = job.reads[0]
                continue
            after = self._quantizer(link, job, listed[place + 1 :])
            if after is not None:
                made, encoding = after
                taken.add(made.outputs[0])
                nodes = (*job.nodes, made.node.label)
                job = _coded(job, nodes, made.outputs[0], encoding)
            jobs.append(job)
        named = {v for j in jobs for v in (*j.reads, *j.writes) if v}
        named |= {*views, *views.values()}
        values = {v: self.values.value(v) for v in sorted(named)}
        return Work(tuple(jobs), values, views)

    def _job(self, link: Chain) -> Job:
        op = self.operators.acts_as(link.op)
        kind = self._kinds.get(op, self._kinds.get(link.op, ""))
        kind = kind if kind and self._alike(link) else "host"
        made = _MAKERS[kind](self, link, op) if kind in _MAKERS else None
        if made is not None:
            return made
        if link.post is not None or link.bias:
            raise Unlowerable(f"{link.node.label} ({op}) has no template in front of a function")
        if "host" not in self.lowering.templates:
            raise Unlowerable(f"{link.node.label} ({op}) has no template, and there is no host")
        reads = tuple(self.values.real(v) for v in link.inputs if v)
        captured = tuple(self._captured(link.node))
        writes = tuple(o for o in link.outputs if o)
        reads = tuple(dict.fromkeys((*reads, *captured)))
        return Job("host", link.op, self._labels(link), reads, writes)

    def _alike(self, link: Chain) -> bool:
        """Tell whether a node computes no more than the operator that it counts as."""
        if not self.operators.stands_in(link.op):
            return True
        facts = self.operators.facts[link.op]
        if facts.alike is None or attribute_beside(facts, self.overlay.view, link.node):
            return False
        more = self.operators.more_slots(link.op).values()
        return not any(taken_as_loaded(fact, link.inputs, link.node) for fact in more)

    def _captured(self, node: Node) -> Iterable[str]:
        """Yield values that the bodies of a node read."""
        for value, readers in self.overlay.captured.items():
            if any(r is node for r in readers):
                yield self.values.real(value)

    @staticmethod
    def _labels(link: Chain) -> tuple[str, ...]:
        return tuple(dict.fromkeys(n.label for n in link.nodes))

    def _numbers(self, *names: str) -> bool:
        return all(self.values.held(n) == MATRIX_TYPE for n in names if n)

    def _attr(self, node: Node, name: str) -> Attribute:
        return self.overlay.view.attr(node, name)

    def _attribute(self, node: Node, name: str, default: float) -> float:
        found = self._attr(node, name)
        return float(found) if isinstance(found, int | float) else default

    # ---- products

    def product(self, link: Chain, op: str) -> Job | None:
        """Return the job of a matrix product or convolution, None: not on this unit."""
        inputs = [self.values.real(v) for v in link.inputs]
        if len(inputs) < 2:
            return None
        a, b = inputs[:2]
        bias = self.values.real(link.bias or (inputs[2] if len(inputs) > 2 else ""))
        if not self._numbers(a, b, bias, link.outputs[0]):
            return None
        made = link.node.outputs[0]
        types = tuple(self.overlay.type_of(v) for v in (a, b))
        sizes = read_geometry(
            op, types, self.overlay.type_of(made), lambda n: self._attr(link.node, n)
        )
        if sizes is None:
            # Says which value is not known, if that is the reason.
            _ = [self.values.value(v) for v in (a, b, link.outputs[0])]
            return None
        values = [self.values.value(v) for v in (a, b, link.outputs[0])]
        if 0 in (d for v in values for d in v.shape):
            return None
        if bias and isinstance(sizes, Product) and not self._bias_fits(bias, b, sizes):
            return None
        gemm = op == "Gemm"
        return Job(
            self._kinds[op],
            op,
            self._labels(link),
            (a, b, bias),
            (link.outputs[0],),
            sizes,
            self._cut(link, sizes, a, b, made),
            self._activation(link.post, link) if link.post is not None else None,
            alpha=self._attribute(link.node, "alpha", 1.0) if gemm else 1.0,
            beta=self._attribute(link.node, "beta", 1.0) if gemm and not link.bias else 1.0,
            between=Encoding(self.values.held(made)) if link.rounds else None,
        )

    def _bias_fits(self, bias: str, b: str, sizes: Product) -> bool:
        """Tell whether a bias is the same for every part: one row or all, one column or all."""
        rows, columns = bias_view(
            self.values.value(bias).shape, len(self.values.value(b).shape) == 1
        )
        whole = rows == sizes.m and sizes.parts == 1
        return (rows == 1 or whole) and columns in (1, sizes.n)

    def _cut(self, link: Chain, sizes: Geometry, a: str, b: str, made: str) -> Tiling:
        width = [BYTES.get(self.values.held(v), 1) for v in (a, b, made)]
        shape = work_of(sizes, (width[0], width[1], width[2]))
        path, target = link.path, self.target
        allowed = path.grouping.splits if path is not None and path.grouping else ()
        schedule = target.schedule
        node = schedule.get(link.node.label) or schedule.get(link.node.outputs[0])
        grouping = target.grouping
        first = bool(allowed) and grouping is not None and self._fuses_before(link, grouping)
        budget = target.on_chip or _UNLIMITED
        choice = choose(shape, budget, allowed, node, first)
        if choice.tiling is None:
            raise Unlowerable(f"no tile of {link.node.label} fits {budget} bytes on chip")
        return choice.tiling

    def _fuses_before(self, link: Chain, grouping: int) -> bool:
        steps = [r.step for r in self.rulings.values() if r.candidate.path is link.path]
        return bool(steps) and steps[0] < grouping

    def _activation(self, node: Node, link: Chain | None) -> Activation:
        """Return the function of a node. By table unless the path or template has it directly."""
        op = self.operators.acts_as(node.op)
        path = link.path if link is not None else None
        use = (path.functions or {}).get(op) if path is not None else None
        template = self.lowering.templates.get("function")
        direct = op in template.direct if template is not None else op in DIRECT
        table = use.table if use is not None else not direct
        names = FUNCTIONS[op].arguments if op in FUNCTIONS else DIRECT.get(op, ())
        return Activation(op, tuple((n, self._number(node, n)) for n in names), table)

    def _number(self, node: Node, name: str) -> float:
        stated = self._attr(node, name)
        if name == "approximate":
            return float(stated == "tanh")
        return float(stated) if isinstance(stated, int | float) else 0.0

    # ---- vectors

    def function(self, link: Chain, op: str) -> Job | None:
        """Return the job of a function of one tensor."""
        source = self.values.real(link.inputs[0])
        if len([v for v in link.inputs if v]) != 1 or not self._numbers(source, link.outputs[0]):
            return None
        activation = self._activation(link.node, None)
        return Job(
            "function", op, self._labels(link), (source,), link.outputs[:1], activation=activation
        )

    def arithmetic(self, link: Chain, op: str) -> Job | None:
        """Return the job of a sum, difference or product of two tensors of one shape."""
        a, b = (self.values.real(v) for v in link.inputs[:2])
        if not self._numbers(a, b, link.outputs[0]) or len(link.inputs) != 2:
            return None
        shapes = {self.values.value(v).shape for v in (a, b, link.outputs[0])}
        if len(shapes) != 1:
            return None
        return Job("arithmetic", op, self._labels(link), (a, b), link.outputs[:1])

    def quantize(self, link: Chain, op: str) -> Job | None:
        """Return the job of a quantiser with one constant scale."""
        source = self.values.real(link.inputs[0])
        encoding = self._encoding(link, link.outputs[0])
        if encoding is None or not self._numbers(source):
            return None
        return Job("quantize", op, self._labels(link), (source,), link.outputs[:1], coded=encoding)

    def dequantize(self, link: Chain, op: str) -> Job | None:
        """Return the job of a dequantiser with one constant scale."""
        source = self.values.real(link.inputs[0])
        encoding = self._encoding(link, source)
        if encoding is None or not self._numbers(link.outputs[0]):
            return None
        return Job(
            "dequantize", op, self._labels(link), (source,), link.outputs[:1], coded=encoding
        )

    def _encoding(self, link: Chain, coded: str) -> Encoding | None:
        """Return what codes mean: one constant scale and zero point, of a type the machine has."""
        scale = self.overlay.scalar(link.inputs[1]) if len(link.inputs) > 1 else None
        zero: float | None = 0.0
        if len(link.inputs) > 2 and link.inputs[2]:
            zero = self.overlay.scalar(link.inputs[2])
        dtype = self.values.held(coded)
        if scale is None or zero is None or dtype not in self.lowering.codes:
            return None
        return Encoding(dtype, scale, int(zero))

    def move(self, link: Chain, op: str) -> Job | None:
        """Return the job of a node that keeps the linear order of elements."""
        source = self.values.real(link.inputs[0])
        one, two = self.values.value(source), self.values.value(link.outputs[0])
        if one.encoding != two.encoding or one.count != two.count:
            return None
        return Job("move", op, self._labels(link), (source,), link.outputs[:1])

    def _quantizer(
        self, link: Chain, job: Job, later: list[Chain]
    ) -> tuple[Chain, Encoding] | None:
        """Return the only reader of a function's result, where the function writes its codes."""
        if job.activation is None or len(job.writes) != 1:
            return None
        made = job.writes[0]
        overlay = self.overlay
        users = overlay.users(made)
        if len(users) != 1 or made in overlay.returned or made in overlay.captured:
            return None
        found = next((c for c in later if users[0][0].outputs == c.outputs), None)
        if found is None or self.operators.acts_as(found.op) != "QuantizeLinear":
            return None
        encoding = self._encoding(found, found.outputs[0])
        if encoding is None or users[0][1] != 0:
            return None
        writes = link.path.dtypes.output if link.path is not None else ()
        return None if writes and encoding.dtype not in writes else (found, encoding)


_MAKERS = {
    "product": Planner.product,
    "convolution": Planner.product,
    "function": Planner.function,
    "arithmetic": Planner.arithmetic,
    "quantize": Planner.quantize,
    "dequantize": Planner.dequantize,
    "move": Planner.move,
}


def _coded(job: Job, nodes: tuple[str, ...], made: str, encoding: Encoding) -> Job:
    return replace(job, nodes=nodes, writes=(made,), coded=encoding)


def template_of(lowering: Lowering, kind: str) -> Template:
    """Return the template of a kind of call. Raises Unlowerable where the target has none."""
    found = lowering.templates.get(kind)
    if found is None:
        raise Unlowerable(f"the target has no template for {kind}")
    return found
