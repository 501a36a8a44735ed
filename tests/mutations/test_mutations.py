"""Whatever is changed about an accepted example: a fusion computes what its nodes compute.

The witness reads the model alone: uses from the nodes, numbers from the reference evaluator, the
fused operators in plain numpy.
"""

from collections.abc import Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import chain
from pathlib import Path

import msgspec
import onnx
import pytest
from _pytest.mark import ParameterSet

from fusectl import api
from tests.mutations.examples import catalog, examples
from tests.mutations.mutants import mutants, valid
from tests.mutations.semantics import MEANINGS
from tests.mutations.values import NotRunnable
from tests.mutations.witness import contradictions
from tests.spellings.build import build
from tests.spellings.draft import plain
from tests.spellings.recipes import recipe_of
from tests.spellings.tables import patterns

EXAMPLES = list(examples())
KNOWN: Mapping[str, Sequence[str]] = msgspec.yaml.decode(
    Path(__file__).with_name("known.yaml").read_bytes(), type=dict[str, list[str]]
)
"""Why a mutant fuses although the witness says no, and the names of those mutants."""


def _marks(name: str) -> list[pytest.MarkDecorator]:
    reasons = [r for r, ps in KNOWN.items() if any(fnmatchcase(name, p) for p in ps)]
    return [pytest.mark.xfail(strict=True, reason=r) for r in reasons]


def _mutants() -> list[ParameterSet]:
    found = []
    for name, _, model in EXAMPLES:
        for change, mutant in mutants(model):
            settled = valid(mutant)
            if settled is not None:
                unique = f"{name}-{change}"
                found.append(pytest.param(settled, id=unique, marks=_marks(unique)))
    return found


def _agree(model: onnx.ModelProto) -> None:
    report = api.explain(model, "ideal", rules=catalog())
    try:
        wrong = contradictions(model, report)
    except NotRunnable as error:
        pytest.skip(f"it cannot be evaluated: {error}")
    assert not wrong


MUTANTS = _mutants()


@pytest.mark.parametrize("model", MUTANTS)
def test_mutant(model: onnx.ModelProto) -> None:
    _agree(model)


@pytest.mark.parametrize("model", [pytest.param(m, id=name) for name, _, m in EXAMPLES])
def test_example(model: onnx.ModelProto) -> None:
    _agree(model)


@pytest.mark.parametrize(
    "model",
    [
        pytest.param(plain(build(rule, pattern, recipe_of(rule, pattern))), id=name)
        for name, rule, pattern in patterns()
    ],
)
def test_pattern(model: onnx.ModelProto) -> None:
    """The witness knows every spelling, so that it does not cry without reason."""
    _agree(model)


def test_known_names_something() -> None:
    for pattern in chain.from_iterable(KNOWN.values()):
        assert any(fnmatchcase(str(case.id), pattern) for case in MUTANTS), pattern


def test_meanings_are_of_rules() -> None:
    assert set(MEANINGS) <= set(catalog().rules)
