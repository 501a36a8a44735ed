"""`fusectl lint`: what it prints and how it ends."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fusectl.report.schema import schemas
from tests.compare.models import PAIR, RETURNED, SHARED, layers, write
from tests.lint.conftest import Lint
from tests.run_cli import Outcome

Cli = Callable[..., Outcome]
GOLDEN = Path(__file__).with_name("golden")


def hold(name: str, text: str) -> None:
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("FUSECTL_REGENERATE"):
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(text.encode("utf-8"))
    assert path.read_bytes().decode("utf-8") == text


@pytest.fixture
def changed(repo: Path, lint: Lint, cli: Cli) -> Path:
    """A repository with findings of many kinds."""
    write(repo / "chain.onnxtxt", layers(3))
    write(repo / "gained.onnxtxt", SHARED)
    (repo / "fusectl.yaml").write_text(
        "models: ['*.onnxtxt']\ntargets: [lut-npu]\nseverity: {graph-output: warning}\n"
        "must_fuse: [MatMul -> Sigmoid]\nbudgets: [{models: [chain.*], min_fused: 90%}]\n"
        "suppressions:\n- {rule: matmul-activation, code: must-fuse, reason: to be mended}\n"
    )
    assert cli("lint", "--update-baseline").code == 0
    write(repo / "m.onnxtxt", RETURNED)
    write(repo / "gained.onnxtxt", PAIR)
    write(repo / "chain.onnxtxt", layers(3).replace("8] y2)", "8] y2, float[8,8] u1)"))
    (repo / "broken.onnxtxt").write_text("no model\n")
    return repo


@pytest.mark.parametrize("form", ["text", "concise"])
def test_output_is_the_reviewed_one(form: str, changed: Path, cli: Cli) -> None:
    done = cli("lint", "--format", form)
    assert (done.code, done.err) == (1, "")
    hold(form, done.out)


def test_findings_that_are_alike_are_told_together(repo: Path, lint: Lint, cli: Cli) -> None:
    write(repo / "m.onnxtxt", layers(8))
    cli("lint", "--update-baseline")
    outputs = ", ".join(f"float[8,8] u{n}" for n in range(8))
    write(repo / "m.onnxtxt", layers(8).replace("8] y7)", f"8] y7, {outputs})"))
    hold("alike", cli("lint").out)


def test_json_is_what_the_schema_says(changed: Path, cli: Cli) -> None:
    schema = schemas()["lint"]
    Draft202012Validator.check_schema(schema)
    whole = json.loads(cli("lint", "--format", "json").out)
    Draft202012Validator(schema).validate(whole)
    lines = cli("lint", "--format", "jsonl").out.splitlines()
    assert [json.loads(line) for line in lines] == whole["findings"]
    assert whole["summary"]["suppressed"] == 2


def test_exit_codes(repo: Path, lint: Lint, cli: Cli) -> None:
    assert cli("lint").code == 0, "without a lock file there is a warning"
    assert cli("lint", "--strict").code == 1
    assert cli("lint", "--update-baseline").code == 0
    assert cli("lint", "--strict").code == 0
    write(repo / "m.onnxtxt", RETURNED)
    assert cli("lint").code == 1
    assert cli("lint", "--update-baseline").code == 0
    (repo / "m.onnxtxt").write_text("no model")
    assert cli("lint").code == 2, "not one model could be read"
    write(repo / "n.onnxtxt", PAIR)
    assert cli("lint").code == 1


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (("--target", "lut-nup"), "did you mean lut-npu?"),
        (("nothing.onnx",), "nothing.onnx: no such file"),
        (("-",), "not from standard input"),
        (("--config", "nothing.yaml"), "nothing.yaml: No such file"),
        (("--baseline", "nothing.yaml"), "nothing.yaml: no such lock file; --update-baseline"),
        (("--update-baseline", "--accept", "0"), "give one of them"),
        (("--accept", "000000000000"), "no lock file to accept a change into"),
        (("--jobs", "0"), "--jobs"),
        (("--rules", "nowhere"), "nowhere: no such file or folder"),
    ],
)
def test_what_is_unusable_is_said_in_one_line(
    args: tuple[str, ...], said: str, repo: Path, lint: Lint, cli: Cli
) -> None:
    done = cli("lint", *args)
    assert done.code == 2
    assert said in done.err
    assert done.err.count("\n") == 1
    assert not done.out


def test_a_policy_and_a_lock_file_can_be_named(repo: Path, lint: Lint, cli: Cli) -> None:
    (repo / "fusectl.yaml").rename(repo / "other.yaml")
    args = ("lint", "--config", "other.yaml", "--baseline", "other.lock")
    assert cli(*args, "--update-baseline").err == "other.lock: 1 model, 1 decision\n"
    write(repo / "m.onnxtxt", RETURNED)
    done = cli(*args, "--format", "json")
    (finding,) = json.loads(done.out)["findings"]
    command = finding["accept"].split()
    assert command[:-1] == ["fusectl", *args, "--accept"]
    done = cli(*command[1:])
    assert (done.code, done.err) == (0, "other.lock: 1 change accepted\n")
    assert cli(*args).code == 0


def test_the_command_that_is_shown_works_without_a_policy(repo: Path, lint: Lint, cli: Cli) -> None:
    (repo / "fusectl.yaml").unlink()
    (repo / "m.onnxtxt").rename(repo / "a model.onnxtxt")
    args = ("lint", "a model.onnxtxt", "--target", "lut-npu")
    cli(*args, "--update-baseline")
    write(repo / "a model.onnxtxt", RETURNED)
    (finding,) = json.loads(cli(*args, "--format", "json").out)["findings"]
    import shlex

    assert cli(*shlex.split(finding["accept"])[1:]).code == 0
    assert cli(*args).code == 0


def test_nothing_in_a_model_steers_the_terminal(repo: Path, lint: Lint, cli: Cli) -> None:
    (repo / "m.onnxtxt").unlink()
    write(repo / "\x1b[31mred.onnxtxt", PAIR.replace("[act]", '["\u202eact\x1b[1m"]'))
    assert cli("lint", "--update-baseline").code == 0
    write(repo / "\x1b[31mred.onnxtxt", RETURNED.replace("[act]", '["\u202eact\x1b[1m"]'))
    for form in ("text", "concise", "json", "jsonl"):
        done = cli("lint", "--format", form)
        assert done.code == 1
        assert not {"\x1b", "\u202e"} & set(done.out + done.err)


def test_a_name_that_is_no_text_is_refused(repo: Path, lint: Lint, cli: Cli) -> None:
    try:
        (repo / os.fsdecode(b"\xff.onnxtxt")).write_bytes((repo / "m.onnxtxt").read_bytes())
    except OSError:
        pytest.skip("the file system takes UTF-8 only")
    done = cli("lint")
    assert done.code == 2
    assert "a name that is not UTF-8" in done.err


def test_output_goes_to_a_file(changed: Path, cli: Cli) -> None:
    done = cli("lint", "-o", "found.txt")
    assert (done.code, done.out) == (1, "")
    assert (changed / "found.txt").read_text() == cli("lint").out
