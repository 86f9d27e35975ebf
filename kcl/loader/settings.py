"""Settings files (`kcl.yaml`, `-Y`) and top-level arguments (`-D`)."""

from __future__ import annotations

import os.path
from collections.abc import Iterable, Mapping
from typing import Any, Final

from kcl.bounds import check_depth, check_json
from kcl.diagnostics import Code, KclError, error
from kcl.loader.texts import TEXT, reading
from kcl.loader.yaml_text import YamlError, load_yaml
from kcl.memo.queries import Memo, Query, Request
from kcl.patterns import pattern
from kcl.records import dataclass, field, fields, replace
from kcl.source import FileSystem

DEFAULT_SETTINGS_NAME: Final = "kcl.yaml"
_WORDS: Final = {"True": True, "False": False, "None": None, "true": True, "false": False, "null": None}
_SCIENTIFIC: Final = pattern(r"[-+]?[0-9.]+[eE][-+]?[0-9]+")


@dataclass(frozen=True, slots=True)
class Settings:
    """What a settings file or a command line asks for. None and empty mean: not said, keep what came before."""

    files: tuple[str, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()
    """Top-level arguments as plain values; a later one of the same key wins."""
    output: str | None = None
    overrides: tuple[str, ...] = ()
    path_selector: tuple[str, ...] = ()
    package_maps: Mapping[str, str] = field(default_factory=dict)
    """External packages: name → folder."""
    disable_none: bool | None = None
    strict_range_check: bool | None = None
    debug: bool | None = None
    sort_keys: bool | None = None
    show_hidden: bool | None = None
    is_public: bool = False
    """Nobody minds who knows the values of these options. Of a settings file this is never said."""

    def then(self, later: Settings) -> Settings:
        """These settings with everything `later` says put over them; options are kept, later ones last."""
        said: dict[str, Any] = {}
        for item in fields(later):
            value = getattr(later, item.name)
            if value is not None and value != () and value != {}:
                said[item.name] = value
        said["options"] = self.options + later.options
        said["is_public"] = self.is_public and later.is_public
        said["package_maps"] = {**self.package_maps, **later.package_maps}
        return replace(self, **said)

    def option_values(self) -> dict[str, Any]:
        return dict(self.options)


def load_settings(
    path: str, file_system: FileSystem, *, shown_as: str | None = None, request: Request | None = None
) -> Settings:
    """Reads one settings file. Unknown keys are ignored, as officially. Raises KclError.

    `shown_as` is how messages name the file; by default its path. `request` reads instead of the file system.
    """
    shown = shown_as or path
    request = request or reading(Memo(), file_system.read_text)
    try:
        request.read(TEXT, path)
    except (OSError, UnicodeDecodeError) as problem:
        reason = problem.strerror if isinstance(problem, OSError) and problem.strerror else str(problem)
        raise _failure(f"Failed to load '{shown}', {reason}") from None
    return request.get(SETTINGS, (path, shown))


def _read(request: Request, key: tuple[str, str]) -> Settings:
    path, shown = key
    text = request.read(TEXT, path)
    try:
        data = load_yaml(text)
    except YamlError as problem:
        raise _failure(f"Failed to load '{shown}', invalid setting file format", str(problem)) from None
    if data is None:
        return Settings()
    if not isinstance(data, dict):
        raise _failure(f"Failed to load '{shown}', invalid setting file format", "the file must hold a mapping")
    return _settings(data, shown)


SETTINGS: Final = Query("settings", _read)
"""Of a file, by its path and how messages name it."""


def merge_settings(settings: Iterable[Settings]) -> Settings:
    result = Settings()
    for item in settings:
        result = result.then(item)
    return result


def parse_argument(text: str) -> tuple[str, Any]:
    """`key=value` as given to `-D`. JSON values keep their type; all else is a string. Raises KclError."""
    key, equals, value = text.partition("=")
    if not equals or not key or not value or ("=" in value and not value.startswith(("{", "[", '"'))):
        raise _failure("Invalid value for top level arguments", f"got '{text}', write it as -D key=value")
    return key, argument_value(value)


def argument_value(text: str) -> Any:
    """The value of an argument's text: JSON if it is, except `12e1`, which more often is a commit than a number."""
    if text in _WORDS:
        return _WORDS[text]
    if _SCIENTIFIC.fullmatch(text):
        return text
    import json  # few runs are given values

    try:
        check_json(text)
        value = json.loads(text, parse_constant=_no_constant)
        check_depth(value)
        return value
    except (ValueError, RecursionError):
        return text


def _no_constant(name: str) -> Any:
    raise ValueError(name)


def _failure(message: str, note: str | None = None) -> KclError:
    return KclError((error(Code.EVALUATION, message, None, notes=(note,) if note else ()),))


def _settings(data: Mapping[str, Any], shown: str) -> Settings:
    configs = data.get("kcl_cli_configs")
    options = data.get("kcl_options")
    broken = f"Failed to load '{shown}', invalid setting file format"
    if configs is not None and not isinstance(configs, dict):
        raise _failure(broken, "kcl_cli_configs must be a mapping")
    result = _cli_configs(configs or {}, broken)
    if options is None:
        return result
    if not isinstance(options, list):
        raise _failure(broken, "kcl_options must be a list of {key, value}")
    pairs: list[tuple[str, Any]] = []
    for number, option in enumerate(options):
        if not isinstance(option, dict) or not isinstance(option.get("key"), str):
            raise _failure(broken, f"kcl_options[{number}] must be a mapping with a key and a value")
        pairs.append((option["key"], option.get("value")))
    return replace(result, options=tuple(pairs))


def _cli_configs(configs: Mapping[str, Any], broken: str) -> Settings:
    output = configs.get("output")
    maps = configs.get("package_maps") or {}
    if not isinstance(maps, dict):
        raise _failure(broken, "kcl_cli_configs.package_maps must be a mapping of names to folders")
    return Settings(
        files=_strings(configs, "files", broken) or _strings(configs, "file", broken),
        output=str(output) if output is not None else None,
        overrides=_strings(configs, "overrides", broken),
        path_selector=_strings(configs, "path_selector", broken),
        package_maps={str(name): str(folder) for name, folder in maps.items()},
        disable_none=_switch(configs, "disable_none", broken),
        strict_range_check=_switch(configs, "strict_range_check", broken),
        debug=_switch(configs, "debug", broken),
        sort_keys=_switch(configs, "sort_keys", broken),
        show_hidden=_switch(configs, "show_hidden", broken),
    )


def _switch(configs: Mapping[str, Any], key: str, broken: str) -> bool | None:
    value = configs.get(key)
    if value is None or isinstance(value, bool):
        return value
    raise _failure(broken, f"kcl_cli_configs.{key} must be true or false")


def _strings(configs: Mapping[str, Any], key: str, broken: str) -> tuple[str, ...]:
    value = configs.get(key)
    if value is None:
        return ()
    if isinstance(value, str):
        return (value,)
    if isinstance(value, list) and all(isinstance(item, str) for item in value):
        return tuple(value)
    raise _failure(broken, f"kcl_cli_configs.{key} must be a list of strings")


def default_settings_file(work_dir: str, file_system: FileSystem) -> str | None:
    """The settings read when neither a file nor settings are named: `kcl.yaml` in the working folder."""
    path = os.path.join(work_dir, DEFAULT_SETTINGS_NAME)
    return path if file_system.is_file(path) else None
