"""From file names to a parsed program. The only part of the language that reads files.

program.py       the result: Program, Package, Module, Import
load.py          import resolution and the module graph
texts.py         texts and their trees, kept by a memo
queries.py       packages and places of imports, as answers of a memo
folders.py       which files a package consists of
manifest.py      kcl.mod
profile.py       what kcl.mod says is run
requirement.py   what it asks for
lock.py          kcl.mod.lock
checksum.py      the checksum of a package
neighbours.py    what else an import could have named
dependencies.py  where on this machine the packages are
settings.py      kcl.yaml, settings files, top-level arguments
overrides.py     other values for a run
yaml_text.py     YAML as the official tools read it
toml_text.py     TOML with places
"""

from kcl.loader.load import (
    SYSTEM_MODULES,
    Loaded,
    LoadRequest,
    downloaded_folder,
    has_errors,
    load,
)
from kcl.loader.manifest import MANIFEST_NAME, Manifest, find_root, read_manifest
from kcl.loader.overrides import overridden_text, overridden_texts, path_steps
from kcl.loader.profile import ProfileRun, profile_run
from kcl.loader.program import MAIN_PACKAGE, Import, ImportKind, Module, Package, Program
from kcl.loader.settings import (
    Settings,
    argument_value,
    default_settings_file,
    load_settings,
    merge_settings,
    parse_argument,
)
from kcl.loader.yaml_text import YamlError, load_all_yaml, load_yaml

__all__ = [
    "MAIN_PACKAGE",
    "MANIFEST_NAME",
    "SYSTEM_MODULES",
    "Import",
    "ImportKind",
    "LoadRequest",
    "Loaded",
    "Manifest",
    "Module",
    "Package",
    "ProfileRun",
    "Program",
    "Settings",
    "YamlError",
    "argument_value",
    "default_settings_file",
    "downloaded_folder",
    "find_root",
    "has_errors",
    "load",
    "load_all_yaml",
    "load_settings",
    "load_yaml",
    "merge_settings",
    "overridden_text",
    "overridden_texts",
    "parse_argument",
    "path_steps",
    "profile_run",
    "read_manifest",
]
