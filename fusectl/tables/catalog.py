"""All tables of one run: shipped rules and targets, and those the user adds."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from fusectl.errors import Problem, Span, TableError, UsageError, did_you_mean
from fusectl.tables.operators import Operators
from fusectl.tables.resolve import read, rules_root, shown, yaml_files
from fusectl.tables.rules import Checks, Rule, compile_rules, read_rule_file
from fusectl.tables.schema import Defaults, FunctionFile, OperatorFile
from fusectl.tables.target_schema import TargetDoc
from fusectl.tables.targets import Target, read_target_file, resolve
from fusectl.yamlsrc import Mapping, Reader, compose


@dataclass(frozen=True, slots=True)
class Catalog:
    """Rules in the order of their files, operators, and target documents by id."""

    rules: dict[str, Rule]
    operators: Operators
    documents: dict[str, Path]
    defaults: Defaults
    checks: Checks

    def target(self, name: str) -> Target:
        """Return a target by id or by the path of its YAML file. Raises UsageError, TableError."""
        path = Path(name)
        if name not in self.documents and path.suffix in (".yaml", ".yml"):
            doc = read_target_file(path)
        elif name in self.documents:
            doc = read_target_file(self.documents[name])
        else:
            hint = did_you_mean(name, self.documents)
            known = ", ".join(sorted(self.documents))
            raise UsageError(f"unknown target {name!r}; {hint or 'known: ' + known}")
        return resolve(doc, self._bases(doc), self.rules.values(), self.operators, self.checks)

    def _bases(self, doc: TargetDoc) -> dict[str, TargetDoc]:
        """Return every target document that may be meant by ``extends``; read when needed."""
        if doc.extends is None:
            return {}
        return {name: read_target_file(path) for name, path in self.documents.items()}


def load_catalog(extra: Iterable[Path] = (), checks: Checks | None = None) -> Catalog:
    """Load the shipped tables and the user's files or folders. Raises TableError, UsageError.

    A user's rule or target with the id of a shipped one takes its place.
    """
    root = rules_root()
    operators = load_operators(root)
    rules: dict[str, Rule] = {}
    documents = {p.stem: p for p in sorted((root / "targets").glob("*.yaml"))}
    known = checks or {}
    for path in sorted((root / "fusions").glob("*.yaml")):
        found, operators = load_rules(path, operators, known)
        rules.update(found)
    for path in yaml_files(extra):
        if is_target(path):
            documents[read_target_file(path).target.value] = path
        else:
            found, operators = load_rules(path, operators, known)
            rules.update(found)
    return Catalog(rules, operators, documents, _defaults(root), known)


def _defaults(root: Path) -> Defaults:
    reader = Reader()
    path = root / "defaults.yaml"
    found = reader.read(compose(read(path), shown(path)), Defaults, "the defaults")
    if reader.problems or not isinstance(found, Defaults):
        raise TableError(reader.problems)
    return found


def is_target(path: Path) -> bool:
    """Tell whether a YAML file is a target's and not one of rules."""
    tree = compose(read(path), shown(path))
    return isinstance(tree, Mapping) and tree.get("target") is not None


def load_operators(root: Path) -> Operators:
    """Read ``operators.yaml`` and ``functions.yaml``."""
    reader = Reader()
    path, other = root / "operators.yaml", root / "functions.yaml"
    ops = reader.read(compose(read(path), shown(path)), OperatorFile, "the operator file")
    functions = reader.read(compose(read(other), shown(other)), FunctionFile, "the function file")
    if reader.problems:
        raise TableError(reader.problems)
    classes = {name: tuple(t.value for t in members) for name, members in ops.classes.items()}
    classes.setdefault("Activation", tuple(functions.functions))
    return Operators(classes, ops.operators, functions.functions)


def load_rules(
    path: Path, operators: Operators, checks: Checks
) -> tuple[dict[str, Rule], Operators]:
    """Read and compile one rule file; returns also the operators with the facts that it adds.

    Raises TableError with every problem in it.
    """
    file, problems = read_rule_file(path)
    rules: dict[str, Rule] = {}
    if file is not None:
        for rule in compile_rules(file, operators, checks, problems):
            if rule.id in rules:
                first = rules[rule.id].span.line
                message = f"the rule id {rule.id} is there twice, first in line {first}"
                problems.append(Problem(rule.span, message))
            rules[rule.id] = rule
        if not file.rules and not problems:
            problems.append(Problem(Span(shown(path)), "the file has no rules"))
        # Classes belong to their file; what an operator is holds everywhere.
        operators = operators.extended({}, file.operators)
    if problems:
        raise TableError(problems)
    return rules, operators
