"""Real models: each gets a report or, if it is broken, a refusal; never a crash."""

import json
import traceback
from collections.abc import Callable
from functools import cache
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fusectl import api
from fusectl.errors import FusectlError
from fusectl.report.schema import report_schema
from fusectl.tables import Catalog, Target
from tests.corpus.models import SAMPLED, TARGETS, is_broken, models, sample
from tests.run_cli import Outcome

CHUNKS = 20
SAMPLE = 8
FRAMES = 6

in_chunks = pytest.mark.parametrize("chunk", range(CHUNKS))


@cache
def catalog() -> Catalog:
    return api.load_rules()


@cache
def chosen(target: str) -> Target:
    return catalog().target(target)


def shipped() -> frozenset[str]:
    return frozenset(catalog().documents)


def need(target: str) -> None:
    if target not in shipped():
        pytest.skip(f"target {target} is not shipped")


def trouble(path: Path, corpus: Path, target: str) -> str | None:
    """What is wrong with how the model is received, or nothing."""
    broken = is_broken(path, corpus)
    try:
        api.explain(path, chosen(target), rules=catalog())
    except FusectlError as refusal:
        return None if broken else f"refused: {refusal}"
    except Exception:  # the test names every model that crashes, not the first one only
        return traceback.format_exc(limit=-FRAMES)
    return "broken, but got a report" if broken else None


@in_chunks
def test_every_model_gets_a_report(corpus: Path, chunk: int) -> None:
    """Each on one of the targets in turn; ``sweep.py`` has each on all of them."""
    targets = [target for target in TARGETS if target in shipped()]
    wrong = {
        f"{path.relative_to(corpus).as_posix()} on {target}": found
        for number, path in enumerate(models(corpus)[chunk::CHUNKS])
        if (found := trouble(path, corpus, target := targets[(number + chunk) % len(targets)]))
    }
    assert not wrong, "\n".join(f"{path}: {found}" for path, found in wrong.items())


@in_chunks
def test_text_never_fails(corpus: Path, cli: Callable[..., Outcome], chunk: int) -> None:
    """Models of all kinds, on one of the targets in turn."""
    targets = [target for target in TARGETS if target in shipped()]
    # A sixth of them: the text of a report is made of the same parts for all.
    for number, path in enumerate(models(corpus)[chunk::CHUNKS][::6]):
        target = targets[(number + chunk) % len(targets)]
        outcome = cli("explain", path, "--target", target)
        where = f"{path.relative_to(corpus)} on {target}: {outcome.err}"
        assert outcome.code == (2 if is_broken(path, corpus) else 0), where
        assert outcome.out.strip() or outcome.code, where
        assert "\x1b" not in outcome.out + outcome.err, where


@pytest.mark.parametrize("target", [*TARGETS, *SAMPLED])
def test_json_is_what_the_schema_says(
    corpus: Path, cli: Callable[..., Outcome], target: str
) -> None:
    need(target)
    schema = report_schema()
    Draft202012Validator.check_schema(schema)
    validator = Draft202012Validator(schema)
    for path in sample(corpus, SAMPLE):
        if is_broken(path, corpus):
            continue
        outcome = cli("explain", path, "--target", target, "--format", "json")
        assert outcome.code == 0, f"{path}: {outcome.err}"
        errors = validator.iter_errors(json.loads(outcome.out))
        wrong = [f"{error.json_path}: {error.message}" for error in errors]
        assert not wrong, f"{path}: {wrong[:5]}"
