"""Compare the speed and peak memory of ``fusectl explain`` with what an engineer runs anyway.

Every measurement is a whole process: start-up, imports, loading, work, output. The commands take
turns, one run each per round, so that a machine that slows down or speeds up does so for all of
them; a ratio is made of medians of one invocation of this script and never mixes two. The peers do
less than they would in use (they load and optimise, but do not save), so a ratio errs against
fusectl.

Linux only (``wait4``, ``waitid``). See README.md beside this file.
"""

import argparse
import itertools
import json
import math
import os
import platform
import shlex
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

MODELS = Path(__file__).with_name("models.py")
SIZES = (1_000, 10_000, 100_000)
TARGETS = ("ideal", "onnxruntime-cpu")
PEER_SIZE_LIMIT = 10_000
WARM_UP_NODES = 100

SESSION_LIMITS = {10_000: 1.5, 100_000: 1 / 3}
SESSION_GOALS = {10_000: 0.8}
PEER_LIMITS = {10_000: 0.1}
EXPONENT_LIMIT = 1.1
MEMORY_LIMIT = 2.0
START_LIMIT = 0.15

SESSION = """
import sys
import onnxruntime as ort
options = ort.SessionOptions()
options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_EXTENDED
options.intra_op_num_threads = 1
ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"])
"""
LOAD = "import sys, onnx; onnx.load(sys.argv[1])"
ONNXSLIM = "import sys, onnxslim; onnxslim.slim(sys.argv[1])"
REWRITER = """
import sys
import onnx_ir
from onnxscript.rewriter import rewrite
rewrite(onnx_ir.load(sys.argv[1]))
"""
VERSIONS = """
import importlib.metadata as metadata, json, platform, sys
found = {"python": platform.python_version()}
for name in sys.argv[1:]:
    try:
        found[name] = metadata.version(name)
    except metadata.PackageNotFoundError:
        pass
print(json.dumps(found))
"""

Status = Literal["pass", "FAIL", "info", "skipped", "missing"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One process: seconds from start to exit, and the largest resident set in bytes."""

    wall: float
    peak: int


@dataclass(frozen=True, slots=True)
class Command:
    """What to measure; ``{model}`` and ``{out}`` in ``argv`` are filled in for each run."""

    key: str
    label: str
    argv: tuple[str, ...]
    ours: bool = False
    writes: bool = False
    needs: str = ""
    """Module that must be importable, or the command is skipped as not installed."""

    def filled(self, model: Path, out: Path) -> list[str]:
        """Return the command line for one run."""
        values = {"{model}": str(model), "{out}": str(out)}
        return [values.get(argument, argument) for argument in self.argv]


@dataclass(slots=True)
class Series:
    """All runs of one command on one model, or the reason why there are none."""

    size: int
    key: str
    label: str
    ours: bool
    samples: list[Sample] = field(default_factory=list)
    problem: str = ""
    skipped: bool = False
    out_bytes: int = 0

    @property
    def usable(self) -> bool:
        """Whether the series may enter a ratio."""
        return bool(self.samples) and not self.problem

    @property
    def wall(self) -> float:
        """Median seconds."""
        return statistics.median(sample.wall for sample in self.samples)

    @property
    def peak(self) -> float:
        """Median peak memory in bytes."""
        return statistics.median(sample.peak for sample in self.samples)


@dataclass(frozen=True, slots=True)
class Check:
    """A number made of medians, with the limit it is held to (none: for information)."""

    name: str
    size: str
    value: float | None
    unit: str
    limit: float | None
    goal: float | None
    status: Status
    low: float | None = None
    high: float | None = None
    note: str = ""


@dataclass(frozen=True, slots=True)
class Measurement:
    """A series as it stands in the JSON file."""

    size: int
    key: str
    label: str
    wall_seconds: float | None
    peak_bytes: float | None
    walls: list[float]
    peaks: list[int]
    out_bytes: int
    problem: str


@dataclass(frozen=True, slots=True)
class Machine:
    """Where the numbers come from."""

    system: str
    processor: str
    cpus: int
    load: float
    floor_bytes: int
    versions: dict[str, str]
    peer_versions: dict[str, str]


class FailedRunError(Exception):
    """A measured process did not end well."""


Results = dict[tuple[int, str], Series]


def measure(argv: Sequence[str], timeout: float) -> Sample:
    """Run one process to its end and return its time and peak memory.

    The exited child is only looked at until the timer that would kill it is gone, and reaped after
    that, so that the timer can never hit another process. The kernel counts the parent's memory at
    the moment of the start into the child's peak: that is why this script imports neither NumPy nor
    onnx, and why models are made in a process of their own.
    """
    with tempfile.TemporaryFile() as errors:
        started = time.perf_counter()
        # Installed packages are compiled when they are installed; so may a checkout be.
        env = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        child = subprocess.Popen(
            argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=errors, env=env
        )
        timer = threading.Timer(timeout, os.kill, (child.pid, signal.SIGKILL))
        timer.daemon = True
        timer.start()
        try:
            os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
            wall = time.perf_counter() - started
        except BaseException:
            os.kill(child.pid, signal.SIGKILL)
            raise
        finally:
            timer.cancel()
            timer.join()
            _, status, usage = os.wait4(child.pid, 0)
            child.returncode = os.waitstatus_to_exitcode(status)
        if child.returncode != 0:
            raise FailedRunError(
                _complaint(child.returncode, wall >= timeout, timeout, errors.fileno())
            )
    return Sample(wall, usage.ru_maxrss * 1024)


def _complaint(code: int, late: bool, timeout: float, errors: int) -> str:
    if late:
        return f"stopped after {timeout:g} s"
    size = os.fstat(errors).st_size
    tail = os.pread(errors, 4096, max(0, size - 4096)).decode(errors="replace").strip()
    last = tail.splitlines()[-1][:160] if tail else "nothing on standard error"
    return f"exit {code}: {last}"


def own_peak() -> int:
    """Return the peak memory of this process so far: no child can be seen to use less."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def commands(fusectl: Sequence[str], python: str, peers_python: str) -> list[Command]:
    """List what is measured, in the order of one round: each of ours beside one of the others."""

    def explain(target: str, style: str) -> Command:
        tail = ("explain", "{model}", "--target", target, "--format", style, "-o", "{out}")
        return Command(
            f"explain-{target}-{style}",
            f"fusectl explain, {target}, {style}",
            (*fusectl, *tail),
            ours=True,
            writes=True,
        )

    def code(
        key: str, label: str, source: str, interpreter: str = python, needs: str = ""
    ) -> Command:
        return Command(key, label, (interpreter, "-c", source, "{model}"), needs=needs)

    return [
        code("pass", "python -c pass", "pass"),
        Command("version", "fusectl --version", (*fusectl, "--version"), ours=True),
        explain("ideal", "json"),
        code("session", "ONNX Runtime session, extended", SESSION),
        explain("onnxruntime-cpu", "json"),
        code("load", "onnx.load", LOAD),
        explain("ideal", "text"),
        code("onnxslim", "onnxslim", ONNXSLIM, peers_python, "onnxslim"),
        explain("onnxruntime-cpu", "text"),
        code("rewriter", "onnxscript rewriter", REWRITER, peers_python, "onnxscript"),
    ]


def importable(python: str, module: str) -> bool:
    """Tell whether an interpreter can import a module (which also compiles and caches it)."""
    done = subprocess.run([python, "-c", f"import {module}"], capture_output=True, check=False)
    return done.returncode == 0


def make_model(python: str, nodes: int, seed: int, workdir: Path, *, run: bool) -> Path:
    """Write the model of a size in a process of its own, checked; run it too if asked."""
    argv = [
        python,
        str(MODELS),
        "--nodes",
        str(nodes),
        "--seed",
        str(seed),
        "--workdir",
        str(workdir),
    ]
    done = subprocess.run(
        [*argv, *(["--run"] if run else [])], stdout=subprocess.PIPE, text=True, check=False
    )
    if done.returncode != 0:
        sys.exit(f"explain_speed: no model of {nodes} nodes could be made")
    return Path(json.loads(done.stdout)["path"])


def run_rounds(
    size: int, model: Path, todo: Sequence[Command], options: argparse.Namespace, missing: set[str]
) -> list[Series]:
    """Measure every command on one model, taking turns; a command that fails once is out."""
    out = model.parent / "explained.out"
    series = [Series(size, each.key, each.label, each.ours) for each in todo]
    for command, rows in zip(todo, series, strict=True):
        rows.skipped = command.needs in missing or (
            bool(command.needs) and size > PEER_SIZE_LIMIT and not options.slow
        )
        if command.needs in missing:
            rows.problem = "not installed"
        elif rows.skipped:
            rows.problem = f"skipped above {PEER_SIZE_LIMIT:,} nodes (--slow includes it)"
    for turn in range(options.runs):
        for command, rows in zip(todo, series, strict=True):
            if rows.problem or (command.needs and turn >= options.peer_runs):
                continue
            out.unlink(missing_ok=True)
            try:
                rows.samples.append(measure(command.filled(model, out), options.timeout))
            except (FailedRunError, OSError) as error:
                rows.problem = str(error)
            else:
                rows.out_bytes = out.stat().st_size if out.exists() else 0
                if command.writes and not rows.out_bytes:
                    rows.problem = "exit 0, but no output was written"
            _say(
                f"{size:>7,} nodes, round {turn + 1}/{options.runs}: {command.label}: {_last(rows)}"
            )
    out.unlink(missing_ok=True)
    return series


def _last(rows: Series) -> str:
    return rows.problem or f"{rows.samples[-1].wall:.3f} s, {_megabytes(rows.samples[-1].peak)} MB"


def _say(text: str) -> None:
    sys.stderr.write(text + "\n")
    sys.stderr.flush()


def ratio(
    name: str,
    ours: Series,
    theirs: Series,
    limit: float | None,
    goal: float | None = None,
    *,
    memory: bool = False,
) -> Check:
    """Divide two medians over the rounds that both joined; the range is that of single rounds."""
    plain = Check(name, f"{ours.size:,}", None, "x", limit, goal, "info")
    if not ours.usable:
        return replace(plain, status="missing", note=f"{ours.label}: {ours.problem}")
    if not theirs.usable:
        status: Status = "skipped" if theirs.skipped else "missing"
        return replace(plain, status=status, note=f"{theirs.label}: {theirs.problem}")
    rounds = zip(ours.samples, theirs.samples, strict=False)
    pairs = [(a.peak, b.peak) if memory else (a.wall, b.wall) for a, b in rounds]
    value = statistics.median(a for a, _ in pairs) / statistics.median(b for _, b in pairs)
    quotients = [a / b for a, b in pairs]
    held = replace(plain, value=value, low=min(quotients), high=max(quotients))
    return replace(held, status=_verdict(value, limit))


def _verdict(value: float, limit: float | None) -> Status:
    if limit is None:
        return "info"
    return "pass" if value <= limit else "FAIL"


def exponent(target: str, small: int, large: int, results: Results) -> Check:
    """Measure growth between two sizes, from times that have the start-up taken off."""
    key = f"explain-{target}-json"
    name = f"growth exponent from {small:,}, {target}, json"
    plain = Check(name, f"{large:,}", None, "", EXPONENT_LIMIT, None, "missing")
    nets: list[float] = []
    for size in (small, large):
        work, start = results[size, key], results[size, "version"]
        if not (work.usable and start.usable):
            return replace(plain, note=work.problem or start.problem)
        nets.append(work.wall - start.wall)
    if min(nets) <= 0:
        return replace(plain, note="no time left above start-up")
    value = math.log(nets[1] / nets[0]) / math.log(large / small)
    return replace(plain, value=value, status=_verdict(value, EXPONENT_LIMIT))


def start_up(sizes: Iterable[int], results: Results) -> Check:
    """Compare ``fusectl --version`` with an interpreter that does nothing, over all rounds."""
    plain = Check("--version minus python -c pass", "any", None, "s", START_LIMIT, None, "missing")
    pairs: list[tuple[float, float]] = []
    for size in sizes:
        ours, bare = results[size, "version"], results[size, "pass"]
        if not (ours.usable and bare.usable):
            return replace(plain, note=ours.problem or bare.problem)
        pairs += [(a.wall, b.wall) for a, b in zip(ours.samples, bare.samples, strict=True)]
    value = statistics.median(a for a, _ in pairs) - statistics.median(b for _, b in pairs)
    apart = [a - b for a, b in pairs]
    return replace(
        plain, value=value, low=min(apart), high=max(apart), status=_verdict(value, START_LIMIT)
    )


def judge(sizes: Sequence[int], results: Results) -> Iterator[Check]:
    """Make every ratio out of the series of one run."""
    for size in sizes:
        session = results[size, "session"]
        for target in TARGETS:
            for style in ("json", "text"):
                ours = results[size, f"explain-{target}-{style}"]
                held = style == "json"
                limit, goal = SESSION_LIMITS.get(size), SESSION_GOALS.get(size)
                name = f"{target}, {style} / session"
                yield ratio(name, ours, session, limit if held else None, goal if held else None)
            ours = results[size, f"explain-{target}-json"]
            for peer in ("onnxslim", "rewriter"):
                theirs = results[size, peer]
                yield ratio(f"{target}, json / {theirs.label}", ours, theirs, PEER_LIMITS.get(size))
            yield ratio(f"{target}, json / onnx.load", ours, results[size, "load"], None)
            yield ratio(
                f"peak memory: {target}, json / session", ours, session, MEMORY_LIMIT, memory=True
            )
    for target in TARGETS:
        for small, large in itertools.pairwise(sizes):
            yield exponent(target, small, large, results)
    yield start_up(sizes, results)


def machine(python: str, peers_python: str) -> Machine:
    """Describe the machine and the versions of what is compared."""

    def versions(interpreter: str, *names: str) -> dict[str, str]:
        done = subprocess.run(
            [interpreter, "-c", VERSIONS, *names], stdout=subprocess.PIPE, text=True, check=True
        )
        found: dict[str, str] = json.loads(done.stdout)
        return found

    return Machine(
        system=f"{platform.system()} {platform.machine()}",
        processor=_processor(),
        cpus=os.cpu_count() or 0,
        load=os.getloadavg()[0],
        floor_bytes=own_peak(),
        versions=versions(python, "fusectl", "onnx", "onnxruntime", "protobuf", "numpy"),
        peer_versions=versions(peers_python, "onnxslim", "onnxscript", "onnx-ir", "onnx"),
    )


def _processor() -> str:
    info = Path("/proc/cpuinfo")
    lines = info.read_text(encoding="utf-8").splitlines() if info.exists() else []
    return next(
        (line.split(":", 1)[1].strip() for line in lines if line.startswith("model name")), ""
    )


def _megabytes(size: float) -> str:
    return f"{size / 1e6:,.0f}"


def _number(value: float | None, unit: str) -> str:
    return "" if value is None else f"{value:.3f}{f' {unit}' if unit else ''}"


def show(console: Console, series: Iterable[Series], checks: Iterable[Check], floor: int) -> None:
    """Print the two tables: what was measured, and what follows from it."""
    table = Table(title="Whole processes, medians", title_justify="left")
    table.add_column("nodes", justify="right", no_wrap=True)
    table.add_column("command")
    for heading in ("runs", "seconds", "min", "max", "peak MB"):
        table.add_column(heading, justify="right", no_wrap=True)
    last = None
    for rows in series:
        if last not in (None, rows.size):
            table.add_section()
        last = rows.size
        if not rows.usable:
            note = Text(rows.problem, style="dim" if rows.skipped else "red")
            table.add_row(f"{rows.size:,}", Text(rows.label).append(": ").append_text(note))
            continue
        walls = [sample.wall for sample in rows.samples]
        peak = f"<= {_megabytes(floor)}" if rows.peak <= floor else _megabytes(rows.peak)
        spread = (f"{rows.wall:.3f}", f"{min(walls):.3f}", f"{max(walls):.3f}")
        table.add_row(f"{rows.size:,}", rows.label, str(len(walls)), *spread, peak)
    console.print(table)

    table = Table(title="Ratios of this run", title_justify="left")
    table.add_column("nodes", justify="right", no_wrap=True)
    table.add_column("ratio")
    for heading in ("value", "single rounds", "limit", "goal"):
        table.add_column(heading, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    styles = {
        "pass": "green",
        "FAIL": "bold red",
        "missing": "red",
        "skipped": "dim",
        "info": "dim",
    }
    for check in checks:
        span = (
            ""
            if check.low is None or check.high is None
            else f"{check.low:.3f} to {check.high:.3f}"
        )
        limit, goal = _number(check.limit, check.unit), _number(check.goal, check.unit)
        name = Text(check.name)
        if check.note and check.status == "missing":
            name.append(f"\n{check.note}", style="dim")
        word = Text("" if check.status == "info" else check.status, style=styles[check.status])
        table.add_row(check.size, name, _number(check.value, check.unit), span, limit, goal, word)
    console.print(table)


def save(
    path: Path,
    where: Machine,
    options: argparse.Namespace,
    series: Iterable[Series],
    checks: Iterable[Check],
) -> None:
    """Write everything that was measured and concluded as JSON."""
    measured = [
        Measurement(
            rows.size,
            rows.key,
            rows.label,
            rows.wall if rows.usable else None,
            rows.peak if rows.usable else None,
            [sample.wall for sample in rows.samples],
            [sample.peak for sample in rows.samples],
            rows.out_bytes,
            rows.problem,
        )
        for rows in series
    ]
    report = {
        "schema": "fusectl.bench.explain-speed/1",
        "machine": asdict(where),
        "seed": options.seed,
        "runs": options.runs,
        "peer_runs": options.peer_runs,
        "measurements": [asdict(each) for each in measured],
        "checks": [asdict(each) for each in checks],
    }
    path.write_text(json.dumps(report, indent=1) + "\n", encoding="utf-8")


def parse(arguments: Sequence[str] | None) -> argparse.Namespace:
    """Read the command line."""

    def positive(text: str) -> int:
        value = int(text.replace(",", "").replace("_", ""))
        if value < 1:
            raise argparse.ArgumentTypeError("must be at least 1")
        return value

    parser = argparse.ArgumentParser(
        description="Compare time and memory of fusectl explain with a session and with peers."
    )
    parser.add_argument("--sizes", type=positive, nargs="+", default=list(SIZES), metavar="NODES")
    parser.add_argument("--runs", type=positive, default=5, help="rounds for each size (default 5)")
    parser.add_argument(
        "--peer-runs", type=positive, default=3, help="rounds that onnxslim and onnxscript join"
    )
    parser.add_argument(
        "--python", default=sys.executable, help="interpreter that has fusectl and onnxruntime"
    )
    parser.add_argument(
        "--peers-python", help="interpreter that has onnxslim and onnxscript (default: the same)"
    )
    parser.add_argument("--command", help="how to start fusectl (default: PYTHON -m fusectl)")
    parser.add_argument(
        "--workdir", type=Path, help="folder that keeps the models (default: a temporary one)"
    )
    parser.add_argument("--seed", type=int, default=0, help="of the random weights")
    parser.add_argument(
        "--slow", action="store_true", help=f"run the peers above {PEER_SIZE_LIMIT:,} nodes too"
    )
    parser.add_argument(
        "--timeout", type=float, default=1800, metavar="SECONDS", help="for one process"
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write all numbers there")
    parser.add_argument("--check", action="store_true", help="exit 1 unless every limit is kept")
    options = parser.parse_args(arguments)
    options.sizes = sorted(set(options.sizes))
    options.peers_python = options.peers_python or options.python
    return options


def benchmark(options: argparse.Namespace, workdir: Path) -> list[Series]:
    """Warm up, make the models and measure all sizes."""
    fusectl = shlex.split(options.command) if options.command else [options.python, "-m", "fusectl"]
    todo = commands(fusectl, options.python, options.peers_python)
    peers = {command.needs for command in todo if command.needs}
    missing = {module for module in peers if not importable(options.peers_python, module)}
    models = {
        size: make_model(options.python, size, options.seed, workdir, run=size <= SIZES[0])
        for size in options.sizes
    }
    small = make_model(options.python, WARM_UP_NODES, options.seed, workdir, run=False)
    _say("warming up")
    once = argparse.Namespace(**{**vars(options), "runs": 1, "peer_runs": 1})
    run_rounds(WARM_UP_NODES, small, todo, once, missing)
    series: list[Series] = []
    for size, model in models.items():
        # The first to ask pays for fetching the file and the memory, so nothing measured may be it.
        load = subprocess.run([options.python, "-c", LOAD, str(model)], check=False)
        if load.returncode != 0:
            sys.exit(f"explain_speed: {options.python} cannot load the model of {size} nodes")
        series += run_rounds(size, model, todo, options, missing)
    return series


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the benchmark; the exit code is 0 unless ``--check`` finds a limit broken."""
    options = parse(arguments)
    where = machine(options.python, options.peers_python)
    if options.workdir is None:
        with tempfile.TemporaryDirectory(prefix="fusectl-bench-") as folder:
            series = benchmark(options, Path(folder))
    else:
        options.workdir.mkdir(parents=True, exist_ok=True)
        series = benchmark(options, options.workdir)
    where = replace(where, floor_bytes=own_peak())
    checks = list(judge(options.sizes, {(rows.size, rows.key): rows for rows in series}))
    terminal = Console(width=None if sys.stdout.isatty() else 120)
    show(terminal, series, checks, where.floor_bytes)
    if options.json:
        save(options.json, where, options, series, checks)
    broken = [
        check
        for check in checks
        if check.status == "FAIL" or (check.status == "missing" and check.limit is not None)
    ]
    return 1 if options.check and broken else 0


if __name__ == "__main__":
    sys.exit(main())
