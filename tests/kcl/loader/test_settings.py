"""Settings files and top-level arguments."""

from typing import Any

import pytest

from kcl.diagnostics import KclError
from kcl.loader import (
    Settings,
    YamlError,
    argument_value,
    load_settings,
    load_yaml,
    merge_settings,
    parse_argument,
)
from kcl.source import InMemoryFileSystem


def _settings(text: str) -> Settings:
    return load_settings("/s.yaml", InMemoryFileSystem({"/s.yaml": text}))


def test_files_switches_and_options() -> None:
    settings = _settings(
        "kcl_cli_configs:\n  file: [a.k, b.k]\n  disable_none: true\n  other: 1\n"
        "kcl_options:\n- key: env\n  value: dev\n- key: on\n  value: {n: 1}\n"
    )
    assert settings.files == ("a.k", "b.k")
    assert settings.disable_none is True
    assert settings.option_values() == {"env": "dev", "on": {"n": 1}}


def test_later_settings_win_and_options_add_up() -> None:
    first = Settings(files=("a.k",), options=(("a", 1), ("b", 1)), debug=True)
    merged = merge_settings([first, Settings(options=(("b", 2),), debug=False)])
    assert merged.files == ("a.k",)
    assert merged.option_values() == {"a": 1, "b": 2}
    assert merged.debug is False


@pytest.mark.parametrize("text", ["", "kcl_cli_configs:\n", "kcl_options:\n", "other: 1\n"])
def test_empty_settings_say_nothing(text: str) -> None:
    assert _settings(text) == Settings()


@pytest.mark.parametrize(
    "text",
    ['"', "[1]", "kcl_options: {key: a}", "kcl_options: [a]", "kcl_cli_configs: {debug: 3}", "kcl_cli_configs: [1]"],
)
def test_broken_settings_name_the_file(text: str) -> None:
    with pytest.raises(KclError, match=r"Failed to load '/s\.yaml', invalid setting file format"):
        _settings(text)


def test_missing_settings_name_the_file() -> None:
    with pytest.raises(KclError, match=r"Failed to load '/none\.yaml'"):
        load_settings("/none.yaml", InMemoryFileSystem({}))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1.5", 1.5),
        ("True", True),
        ("None", None),
        ("[1,2]", [1, 2]),
        ('{"a":"b=c"}', {"a": "b=c"}),
        ("abc", "abc"),
        ("12e1", "12e1"),
        (".0", ".0"),
        ("NaN", "NaN"),
    ],
)
def test_value_of_an_argument(text: str, value: Any) -> None:
    assert argument_value(text) == value
    assert parse_argument(f"k={text}") == ("k", value)


@pytest.mark.parametrize("text", ["k", "k=", "=v", "k=v=", "k=a=b"])
def test_broken_argument(text: str) -> None:
    with pytest.raises(KclError, match="Invalid value for top level arguments"):
        parse_argument(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("on", "on"),
        ("012", "012"),
        ("0o7", 7),
        ("0x1F", 31),
        ("1_000", "1_000"),
        (".5", 0.5),
        ("1e3", 1000.0),
        ("~", None),
        ("2020-01-01", "2020-01-01"),
        ("TRUE", True),
        ("'1'", "1"),
        ("{1: a, true: b}", {"1": "a", "true": "b"}),
        ("[&x [1], *x]", [[1], [1]]),
    ],
)
def test_yaml_is_read_by_the_core_schema(text: str, value: Any) -> None:
    assert load_yaml(text) == value


@pytest.mark.parametrize("text", ["a: [1", "a: b: c", "!x 1", "a: 1\n---\nb: 2"])
def test_broken_yaml(text: str) -> None:
    with pytest.raises(YamlError):
        load_yaml(text)
