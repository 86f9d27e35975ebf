"""Programs that call Python functions, and what happens where those misbehave."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from kcl import api

CODE = """
import os, subprocess, sys, time
from kcl.plugins import Call, Plugin, PluginError

PLUGIN = Plugin()

@PLUGIN.function("repeated(text: str, times?: int) -> str")
def repeated(call, text, times=2):
    print("this must not get into the answers")
    return text * times

@PLUGIN.function("told(key: str) -> str")
def told(call, key):
    return call.settings[key]

@PLUGIN.function("seconds() -> float")
def seconds(call):
    return call.seconds_left()

@PLUGIN.function("same(value: any) -> any")
def same(call, value):
    return value

@PLUGIN.function("process() -> int")
def process(call):
    return os.getpid()

@PLUGIN.function("hang(file: str) -> str", timeout_seconds=0.6)
def hang(call, file):
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    with open(file, "w") as out:
        out.write(f"{os.getpid()} {child.pid}")
    while True:
        pass

@PLUGIN.function("nap() -> int")
def nap(call):
    time.sleep(0.3)
    return 1

@PLUGIN.function("broken() -> str")
def broken(call):
    raise KeyError("canary-in-an-exception")

@PLUGIN.function("refused() -> str")
def refused(call):
    raise PluginError("the CMDB is closed", hint="come back at 8")

@PLUGIN.function("wrong() -> [str]")
def wrong(call):
    return 3

@PLUGIN.function("odd() -> any")
def odd(call):
    return {1, 2}

@PLUGIN.function("gone() -> str")
def gone(call):
    os._exit(3)
"""

LINE_OF_BROKEN = CODE[: CODE.index("raise KeyError")].count("\n") + 1


class Finder:
    """Allows one plugin, `tool`."""

    def __init__(self, code: str = CODE, **limits: float) -> None:
        self.code, self.limits, self.asked = code, limits, 0

    def find(self, name: str) -> api.PluginCode:
        self.asked += 1
        if name != "tool":
            raise api.PluginRefused(f"the plugin {name} is not allowed here")
        code = api.FileCode("/repository/plugins/tool.py", self.code)
        settings = {"token": "canary-token"}
        made = api.PluginCode(code, settings, files=("/repository/plugins/tool.py",))
        return replace(made, **self.limits)  # type: ignore[arg-type]  # numbers of any kind, by name


Run = Callable[..., api.RunResult]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run(text: str, finder: Finder | None = None, imports: str = "tool") -> api.RunResult:
        text = f"import kcl_plugin.{imports}\n{text}\n"
        plugins = finder if finder is not None else Finder()
        return api.run(["main.k"], work_dir=tmp_path, texts={"main.k": text}, plugins=plugins)

    return run


def found(error: pytest.ExceptionInfo[api.ProgramError]) -> tuple[str, int | None]:
    """The message, and the character of the program it points at."""
    (first, *_) = error.value.diagnostics
    return first.message, first.primary.start if first.primary else None


def test_positional_named_and_left_out_arguments_arrive(run: Run) -> None:
    text = 'a = tool.repeated("x")\nb = tool.repeated("y", 3)\nc = tool.repeated(times=1, text="z")'
    assert run(text).documents == ({"a": "xx", "b": "yyy", "c": "z"},)


def test_what_a_plugin_answers_leads_to_its_call(run: Run) -> None:
    found = run('_t = "x"\na = tool.repeated(_t)\nb = tool.same({k = [1]})\n').provenance
    chain = [(site.line, site.kind) for site in found.lookup(0, ("a",))]
    assert chain == [(3, api.SiteKind.PLUGIN), (2, api.SiteKind.LITERAL), (3, api.SiteKind.EXPRESSION)]
    for path in (("b", "k"), ("b", "k", 0)):
        site, *_ = found.lookup(0, path)
        assert (site.line, site.kind) == (4, api.SiteKind.PLUGIN)


def test_data_of_every_kind_comes_back_as_it_went(run: Run) -> None:
    value = '{n = None, t = True, i = 7, f = 1.5, s = "ü\\n", l = [1, [2]], d = {"a b" = {}}}'
    plain: dict[str, object] = {"n": None, "t": True, "i": 7, "f": 1.5, "s": "ü\n", "l": [1, [2]], "d": {"a b": {}}}
    assert run(f"a = tool.same({value})").documents == ({"a": plain},)


def test_instances_go_as_plain_data(run: Run) -> None:
    assert run("schema S:\n    x: int = 1\na = tool.same(S {}).x").documents == ({"a": 1},)


def test_settings_reach_the_plugin(run: Run) -> None:
    assert run('a = tool.told("token")').documents == ({"a": "canary-token"},)


def test_all_calls_of_a_run_share_one_process_and_runs_do_not(run: Run) -> None:
    text = "a = tool.process()\nb = [tool.process() for _ in range(5)]"
    (one,), (two,) = run(text).documents, run(text).documents
    assert set(one["b"]) == {one["a"]}
    assert one["a"] != two["a"]


def test_an_import_alone_starts_nothing(run: Run) -> None:
    finder = Finder()
    assert run("a = 1", finder).documents == ({"a": 1},)
    assert finder.asked == 0


def test_the_files_of_a_used_plugin_are_dependencies(run: Run) -> None:
    path = Path("/repository/plugins/tool.py")
    assert path in run('a = tool.repeated("x")').dependencies
    assert path not in run("a = 1").dependencies


@pytest.mark.parametrize(
    ("call", "message"),
    [
        ("tool.repeated(3)", "expect str, got int"),
        ("tool.repeated()", "repeated() missing 1 required positional argument: 'text'"),
        ('tool.repeated("x", 1, 2)', "repeated() takes at most 2 positional arguments but 3 were given"),
        ('tool.repeated("x", often=2)', "repeated() got an unexpected keyword argument 'often'"),
        (
            "tool.broken()",
            f"kcl_plugin.tool.broken(): ended by KeyError (/repository/plugins/tool.py:{LINE_OF_BROKEN})",
        ),
        ("tool.refused()", "kcl_plugin.tool.refused(): the CMDB is closed (come back at 8)"),
        ("tool.wrong()", "the answer of kcl_plugin.tool.wrong() is wrong: expect [str], got int"),
        ("tool.gone()", "kcl_plugin.tool.gone() ended without an answer"),
    ],
)
def test_failures_point_at_the_call(run: Run, call: str, message: str) -> None:
    with pytest.raises(api.ProgramError) as error:
        run(f"a = 1\nb = {call}")
    said, start = found(error)
    assert said == message
    assert start == len("import kcl_plugin.tool\na = 1\nb = ")


def test_an_answer_that_is_no_data_is_refused(run: Run) -> None:
    with pytest.raises(api.ProgramError, match="the answer is no plain data"):
        run("a = tool.odd()")


def test_a_function_that_never_returns_is_ended_with_all_it_started(run: Run, tmp_path: Path) -> None:
    pids = tmp_path / "pids"
    began = time.monotonic()
    with pytest.raises(api.ProgramError, match=r"hang\(\) did not answer within 0.6 s and was stopped"):
        run(f'a = tool.hang("{pids}")')
    assert time.monotonic() - began < 15
    for pid in pids.read_text().split():
        deadline = time.monotonic() + 5
        while is_running(pid):
            assert time.monotonic() < deadline, f"{pid} is still there"
            time.sleep(0.02)


def is_running(pid: str) -> bool:
    """Whether the process runs; one that ended and waits to be collected does not."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_after_a_function_had_to_be_ended_the_next_call_starts_anew(run: Run, tmp_path: Path) -> None:
    text = f'import runtime\na = runtime.catch(lambda {{ tool.hang("{tmp_path / "pids"}") }})\nb = tool.repeated("x")'
    (document,) = run(text).documents
    assert "did not answer" in document["a"] and document["b"] == "xx"


def test_the_allowance_of_a_call_is_what_both_sides_agree_to(run: Run) -> None:
    (document,) = run("a = tool.seconds()", Finder(timeout_seconds=3.0)).documents
    assert 0 < document["a"] <= 3


def test_all_calls_of_a_run_have_one_budget(run: Run) -> None:
    with pytest.raises(api.ProgramError, match=r"no more are made|did not answer within 0\.\d+ s"):
        run("a = sum([tool.nap() for _ in range(20)])", Finder(budget_seconds=0.7))


def test_what_exceptions_say_stays_in_the_plugin(run: Run) -> None:
    with pytest.raises(api.ProgramError) as error:
        run("a = tool.broken()")
    assert "canary" not in error.value.render() + repr(error.value)
    assert "canary" not in repr(Finder().find("tool"))


def test_functions_that_are_not_there_are_named(run: Run) -> None:
    with pytest.raises(api.ProgramError, match=r"attribute 'repeat' not found in 'module 'kcl_plugin.tool''"):
        run('a = tool.repeat("x")')


def test_a_plugin_that_is_not_allowed_is_refused_where_it_is_used(run: Run) -> None:
    with pytest.raises(api.ProgramError) as error:
        run("a = other.find(1)", imports="other")
    assert found(error) == ("the plugin other is not allowed here", len("import kcl_plugin.other\na = other."))


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("x = 1", "its code has no PLUGIN"),
        ("PLUGIN = 3", "its code has no PLUGIN"),
        ("def f(:", "its code is no Python"),
        ("import nothing_of_this_name", "ended by ModuleNotFoundError"),
        ("raise SystemExit", "ended by SystemExit"),
        (
            "from kcl.plugins import Plugin\nPLUGIN = Plugin()\n@PLUGIN.function('what')\ndef what(call): ...",
            "declares what is not a signature: what",
        ),
    ],
)
def test_code_that_is_no_plugin_is_refused(run: Run, code: str, message: str) -> None:
    with pytest.raises(api.ProgramError) as error:
        run("a = tool.f()", Finder(code))
    assert message in found(error)[0]


def test_without_a_finder_there_are_no_plugins(tmp_path: Path) -> None:
    text = "import kcl_plugin.tool\na = tool.f()\n"
    with pytest.raises(api.ProgramError, match=r"the plugin package `kcl_plugin.tool` is not found, please confirm"):
        api.run(["main.k"], work_dir=tmp_path, texts={"main.k": text})


def test_an_entry_point_nobody_installed_is_said_so(run: Run) -> None:
    class Installed(Finder):
        def find(self, name: str) -> api.PluginCode:
            return api.PluginCode(api.EntryPointCode("workbench.kcl_plugins", "nobody-has-this"))

    with pytest.raises(api.ProgramError, match="no installed package offers the plugin nobody-has-this"):
        run("a = tool.f()", Installed())


def test_a_plugin_of_an_installed_package_runs(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "some_company.py").write_text(CODE)
    metadata = tmp_path / "some_company-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: some-company\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[workbench.kcl_plugins]\ntool = some_company:PLUGIN\n")
    monkeypatch.syspath_prepend(str(tmp_path))

    class Installed(Finder):
        def find(self, name: str) -> api.PluginCode:
            return api.PluginCode(api.EntryPointCode("workbench.kcl_plugins", name))

    assert run('a = tool.repeated("x")', Installed()).documents == ({"a": "xx"},)
