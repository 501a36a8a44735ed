"""Near misses as exporters and users make them: the broken fact is told first, in these words."""

from pathlib import Path

import msgspec
import onnx
import pytest

from fusectl import api
from fusectl.report.types import Report
from tests.spellings.tables import catalog
from tests.spellings.test_twins import alone


class Case(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One model; ``says`` are words of the first finding that heads the rule's decision."""

    name: str
    why: str
    rule: str
    reason: str
    says: list[str]
    model: str


CASES = msgspec.yaml.decode(Path(__file__).with_name("near.yaml").read_bytes(), type=list[Case])
_HEADER = '<ir_version: 8, opset_import: ["" : 17]>\n'


def _explained(case: Case) -> Report:
    text = case.model if case.model.startswith("<") else _HEADER + case.model
    model = onnx.parser.parse_model(text)
    model.ir_version = 8
    onnx.checker.check_model(model, full_check=True)
    return api.explain(model, alone(case.rule), rules=catalog())


@pytest.mark.parametrize("case", [pytest.param(c, id=c.name) for c in CASES])
def test_the_broken_fact_is_told_first(case: Case) -> None:
    own = [d for d in _explained(case).decisions if d.rule == case.rule]
    assert len(own) == 1, own
    first = own[0].blockers[0]
    assert (own[0].verdict, own[0].headline, first.reason) == ("keep", case.reason, case.reason)
    told = f"{first.subject}: {first.observed}"
    assert all(word in told for word in case.says), told
