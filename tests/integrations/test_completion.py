"""Completion, asked for as the shells ask, with the scripts that the program prints."""

import shutil
from pathlib import Path

import pytest

from tests.integrations.shim import environment, run

BASH = """
eval "$(_FUSECTL_COMPLETE=bash_source fusectl)"
COMP_WORDS=(fusectl {words}); COMP_CWORD={last}; COMPREPLY=()
compopt() {{ :; }}
_fusectl_completion fusectl
printf '%s\\n' "${{COMPREPLY[@]}}"
"""
ZSH = """
autoload -Uz compinit; compinit -u -D
eval "$(_FUSECTL_COMPLETE=zsh_source fusectl)"
words=(fusectl {words}); CURRENT={current}
compadd() {{ print -l -- "${{(@P)@[-1]}}" }}
_describe() {{ print -l -- "${{(@P)3}}" }}
_path_files() {{ : }}
_fusectl_completion
"""


def _bash(folder: Path, *words: str) -> list[str]:
    script = BASH.format(words=" ".join(repr(w) for w in words), last=len(words))
    done = run("bash", "--norc", "-c", script, cwd=folder, env=environment(folder))
    assert done.stderr == ""
    return done.stdout.split()


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_bash(tmp_path: Path) -> None:
    assert _bash(tmp_path, "ex") == ["explain"]
    assert _bash(tmp_path, "explain", "m.onnx", "--target", "lut") == ["lut-npu"]
    assert _bash(tmp_path, "explain", "m.onnx", "--rule", "matmul-act") == ["matmul-activation"]
    assert _bash(tmp_path, "reasons", "multi") == ["multi-user"]
    assert _bash(tmp_path, "lint", "--format", "sa") == ["sarif"]


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_ids_of_the_users_own_tables(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("target: my-npu\nsummary: Mine.\nextends: ideal\n")
    words = ("explain", "m.onnx", "--rules", "mine.yaml", "--target", "my")
    assert _bash(tmp_path, *words) == ["my-npu"]


@pytest.mark.skipif(not shutil.which("bash"), reason="bash is not installed")
def test_it_is_silent_about_what_is_wrong(tmp_path: Path) -> None:
    (tmp_path / "bad.yaml").write_bytes(b"\xff\xfe: [")
    words = ("explain", "m.onnx", "--rules", "bad.yaml", "--rules", "gone", "--target", "x")
    assert _bash(tmp_path, *words) == []


@pytest.mark.skipif(not shutil.which("zsh"), reason="zsh is not installed")
def test_zsh(tmp_path: Path) -> None:
    script = ZSH.format(words="reasons multi", current=3)
    done = run("zsh", "-f", "-c", script, cwd=tmp_path, env=environment(tmp_path))
    assert "multi-user:the intermediate value has another consumer" in done.stdout, done.stderr


@pytest.mark.skipif(not shutil.which("fish"), reason="fish is not installed")
def test_fish(tmp_path: Path) -> None:
    script = (
        "_FUSECTL_COMPLETE=fish_source fusectl | source; "
        'complete --do-complete "fusectl explain m.onnx --target lut"; '
        'complete --do-complete "fusectl reasons multi"'
    )
    done = run("fish", "--no-config", "-c", script, cwd=tmp_path, env=environment(tmp_path))
    lines = done.stdout.splitlines()
    assert "lut-npu" in lines, done.stderr
    assert "multi-user\tthe intermediate value has another consumer" in lines
