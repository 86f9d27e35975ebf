"""Command lines that are read without argparse: as argparse reads them."""

from __future__ import annotations

import io
import subprocess
import sys
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from kcl.cli import _FILES, _options, _parser
from kcl.command_line import UsageError
from kcl.options import plainly_read

OPTIONS = _options()
WORDS = st.one_of(
    st.sampled_from([word for each in OPTIONS for word in each.words]),
    st.sampled_from(
        ["main.k", "a=1", "", "yaml", "JSON", "short", "-", "--", "-1", "-nr", "-Dx", "--form", "--format=json"]
    ),
    st.sampled_from(["a b", "-a b", "5", "kcl", "@x", "--unknown", "-vv"]),
)


@given(st.lists(WORDS, max_size=7))
@example(["-Y", "a", "b", "-n", "c", "d"])
@example(["a", "-n", "b"])
@example(["-n", "a", "-Y", "b"])
def test_what_is_read_without_argparse_is_what_argparse_reads(words: list[str]) -> None:
    plain = plainly_read(words, OPTIONS, _FILES)
    if plain is None:
        return
    read = vars(_parser(io.StringIO()).parse_args(["run", *words]))
    assert read.pop("command") == "run"
    assert vars(plain) == read


@given(st.lists(st.sampled_from(OPTIONS), max_size=6, unique=True), st.lists(st.sampled_from(["a.k", "b"]), max_size=2))
def test_options_written_out_need_no_argparse(options: list[object], files: list[str]) -> None:
    words = [*files]
    for each in OPTIONS:
        if each in options:
            value = each.choices[-1] if each.choices else "x"
            words += [each.words[0]] if each.takes.name in ("NOTHING", "COUNTED") else [each.words[0], value]
    assert plainly_read(words, OPTIONS, _FILES) is not None


def test_mistakes_are_for_argparse_to_tell() -> None:
    for words in (["-f", "toml"], ["-Y"], ["--deadline", "-n"], ["--nothing"], ["a", "-n", "b"], ["--help"]):
        assert plainly_read(words, OPTIONS, _FILES) is None
    try:
        _parser(io.StringIO()).parse_args(["run", "-f", "toml"])
    except UsageError as problem:
        assert "invalid choice: 'toml'" in str(problem)
    else:
        raise AssertionError("toml is no format")


def test_a_plain_run_loads_no_argparse(tmp_path: Path) -> None:
    (tmp_path / "main.k").write_text("a = 1\n")
    script = f"""
import sys
sys.path[:] = {sys.path!r}
before = set(sys.modules)
sys.argv = ["kcl", "run", "main.k", "-D", "x=1", "-q"]
from kcl.cli import of_this_process
assert of_this_process(lambda allowance: None) == 0
print(sorted({{"argparse", "gettext", "locale", "traceback", "dataclasses", "inspect"}} & (set(sys.modules) - before)))
"""
    ended = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert ended.stdout == "a: 1\n[]\n"
