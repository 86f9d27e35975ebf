"""The stacks of a site and their files. What was written by hand since is never written over."""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final

import yaml

from kcl.records import dataclass, field
from kcl.regular import read_regular_text
from workbench.engine.copying import CopiedStack
from workbench.engine.sites.declaration import FOLDER, Application, InvalidSite, Site
from workbench.project import Dimensions, KonfigTree, ProjectError, Stack, StackName, StackPath
from workbench.project.baselines import leads_to, listed_files
from workbench.project.bounds import refuse_foreign
from workbench.project.roots import MODULE_FILE, STACK_FILE
from workbench.project.yaml_file import read_mapping

SITE_FILE: Final = "site.k"
_SETTINGS: Final = "kcl.yaml"
_OWN: Final = "main.k"
_LARGEST: Final = 1_000_000
_IMPORT: Final = re.compile(r"^import\s+(?P<path>[\w.]+)(?:\s+as\s+(?P<alias>\w+))?\s*$", re.MULTILINE)
_MARK: Final = re.compile(r"# Written by `wb new site (?P<site>[a-z0-9]+)` from [^\n]*\(sum (?P<sum>[0-9a-f]{12})\)\n")


@dataclass(frozen=True, slots=True)
class SiteFiles:
    """What a site is made of. `generated` follow the declaration, `own` are written once and then people's, by absolute
    path. `leftover` are stacks that were written for it and that it does not declare any more."""

    stacks: tuple[CopiedStack, ...]
    generated: Mapping[Path, str] = field(repr=False)
    own: Mapping[Path, str] = field(repr=False)
    leftover: tuple[Stack, ...] = ()

    def missing(self) -> tuple[Path, ...]:
        """Returns the files that are not there yet, or say otherwise."""
        return tuple(
            file for file, text in {**self.generated, **self.own}.items()
            if (there := _text(file)) is None or (file in self.generated and there != text)
        )  # fmt: skip

    def edited(self) -> tuple[Path, ...]:
        """Returns generated files that would be written again, and that somebody wrote in since."""
        found = ((file, text, _text(file)) for file, text in self.generated.items())
        return tuple(file for file, text, there in found if there not in (None, text) and not _is_intact(there or ""))


def stacks_written_for(name: str, tree: KonfigTree) -> tuple[Stack, ...]:
    """Returns the stacks that have a file which was written for a site."""
    return tuple(each for each in tree.stacks() if _written_for(each.directory / SITE_FILE) == name)


def files_of(site: Site, tree: KonfigTree) -> SiteFiles:
    """Raises `InvalidSite` where a declaration does not fit the repository."""
    return _Writing(site, tree).files()


@dataclass(frozen=True, slots=True)
class _Made:
    application: Application
    like: Stack
    tenant: str
    path: StackPath
    directory: Path


class _Writing:
    def __init__(self, site: Site, tree: KonfigTree) -> None:
        self._site, self._tree = site, tree
        self._generated: dict[Path, str] = {}
        self._own: dict[Path, str] = {}

    def files(self) -> SiteFiles:
        known = {each.name for each in self._tree.clusters.clusters}
        if unknown := [each for each in self._site.clusters if each not in known]:
            raise self._wrong(
                f"there is no cluster {unknown[0]!r}",
                f"say its context below `clusters` of clusters.yaml: {unknown[0]}",
            )
        made = tuple(self._stacks())
        self._refuse_same(made)
        for each in made:
            self._stack(each, made)
        paths = {each.path for each in made}
        left = (each for each in stacks_written_for(self._site.name, self._tree) if each.path not in paths)
        stacks = tuple(CopiedStack(each.path, each.like, each.directory, each.like.project_directory) for each in made)
        return SiteFiles(stacks, self._generated, self._own, tuple(left))

    def _stacks(self) -> Iterator[_Made]:
        by_name = {each.name: each for each in self._tree.stacks()}
        for application in self._site.applications:
            like = by_name.get(application.like)
            if like is None:
                near = get_close_matches(application.like, by_name, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]}?" if near else "`wb ls` lists the stacks"
                raise self._wrong(f"{application.name} is made after {application.like!r}, which is no stack", hint)
            if _written_for(like.directory / SITE_FILE) == self._site.name:
                raise self._wrong(f"{application.name} is made after {like.name}, a stack of the site itself")
            for tenant in self._site.tenants if application.is_per_tenant else ("",):
                name = "-".join(each for each in (self._site.name, tenant, self._site.environment) if each)
                path = StackPath(like.path.project, StackName(name))
                yield _Made(application, like, tenant, path, like.directory.parent / name)

    def _refuse_same(self, made: Sequence[_Made]) -> None:
        seen: dict[StackPath, str] = {}
        by_path = {each.path: each for each in self._tree.stacks()}
        for each in made:
            if (other := seen.setdefault(each.path, each.application.name)) != each.application.name:
                raise self._wrong(f"{other} and {each.application.name} would both be {each.path}", "drop one of them")
            there = by_path.get(each.path)
            if there is not None and _written_for(there.directory / SITE_FILE) != self._site.name:
                raise self._wrong(f"there is a stack {each.path} that was not written for the site", "rename it")

    def _stack(self, made: _Made, every: Sequence[_Made]) -> None:
        folder = made.directory
        refuse_foreign(folder, self._tree.root)
        self._generate(folder / STACK_FILE, _yaml(self._stack_content(made, every)))
        self._generate(folder / SITE_FILE, self._program(made))
        self._generate(folder / _SETTINGS, _yaml(self._settings(made, self._coordinates(made))))
        self._own[folder / _OWN] = f'"""What is other in {made.path} alone; the site says the rest."""\n'

    def _generate(self, file: Path, text: str) -> None:
        where = f"{FOLDER}/{self._site.name}.k"
        mark = f"# Written by `wb new site {self._site.name}` from {where}: change it there. (sum {_sum(text)})\n"
        self._generated[file] = mark + text

    def _stack_content(self, made: _Made, every: Sequence[_Made]) -> dict[str, Any]:
        file = made.like.directory / STACK_FILE
        content: dict[str, Any] = dict(read_mapping(file)) if file.is_file() else {}
        terraform = content.get("terraform")
        if isinstance(terraform, dict) and "backend" in terraform:
            raise self._wrong(
                f"{made.like.name} says a backend of its own, and two stacks can't share a state",
                "say it in project.yaml, or in no file",
            )
        labels = content.get("labels") if isinstance(content.get("labels"), dict) else {}
        content |= {
            "name": str(made.path.stack),
            "labels": {**(labels or {}), "environment": self._site.environment, "site": self._site.name},
            "clusters": list(self._site.clusters),
        }
        rule = made.like.placement.namespace if made.like.placement is not None else None
        if rule is not None:  # the placement of the site need not say the same
            content["namespace"] = {"by": rule.by.value, "name": rule.template}
        if self._site.is_protected is not None:
            content["protected"] = self._site.is_protected
        if after := self._after(made, every):
            content["after"] = after
        else:
            content.pop("after", None)
        if coordinates := self._coordinates(made):
            content["dimensions"] = dict(coordinates)
        return content

    def _after(self, made: _Made, every: Sequence[_Made]) -> list[str]:
        """What it comes after: what the declaration says, and for what it is made after, the same of this site."""
        of_site = {each.like.name: each.application.name for each in every}
        wanted = dict.fromkeys(made.application.after)
        wanted |= dict.fromkeys(of_site[each] for each in made.like.after if each in of_site)
        first = [
            str(each.path)
            for each in every
            if each.application.name in wanted and (not each.tenant or not made.tenant or each.tenant == made.tenant)
        ]
        return [*first, *(each for each in made.like.after if each not in of_site)]

    def _coordinates(self, made: _Made) -> Mapping[str, str]:
        declared = self._tree.declared
        if declared is None or not made.like.coordinates:
            return {}
        said = {**made.like.coordinates, **self._of_clusters(), **self._site.coordinates}
        axes = {each.name: each for each in declared.axes}
        if unknown := [each for each in said if each not in axes]:
            raise self._wrong(f"there is no dimension {unknown[0]!r}", f"dimensions.yaml declares {', '.join(axes)}")
        if made.tenant and "tenant" in axes:
            said["tenant"] = made.tenant
        return {each: said[each] for each in axes if each in said}

    def _of_clusters(self) -> Mapping[str, str]:
        """What the clusters of the site say of dimensions, all of them the same."""
        labels = [each.labels.items() for each in self._tree.clusters.clusters if each.name in self._site.clusters]
        declared = self._tree.declared
        names = {each.name for each in declared.axes} if declared is not None else set()
        common = set(labels[0]).intersection(*labels[1:]) if labels else set()
        return {name: value for name, value in sorted(common) if name in names}

    def _baselines(self, coordinates: Mapping[str, str], declared: Dimensions) -> Iterator[Path]:
        """The baselines of a point of the cube; one of a new value is written, where it is said what its file is."""
        for each in declared:
            value = coordinates.get(each.name)
            if each.files or value is None or value in each.values:
                yield from (found.file for found in each.baselines(value))
                continue
            files = [(name, file) for name, found in each.values.items() for file in found]
            folders = {file.parent for _, file in files}
            if len(folders) != 1 or any(file.stem != name for name, file in files):
                raise self._wrong(
                    f"{each.name} has no value {value!r}", "declare it below that dimension in dimensions.yaml"
                )
            file = folders.pop() / f"{value}.k"
            self._own[file] = f'"""What holds for {each.name} {value}."""\n'
            yield file

    def _settings(self, made: _Made, coordinates: Mapping[str, str]) -> dict[str, Any]:
        file = made.like.directory / _SETTINGS
        content = dict(read_mapping(file)) if file.is_file() else self._unlisted(made)
        match content.get("kcl_cli_configs"):
            case {"files": list(listed)} | {"file": list(listed)} if all(isinstance(each, str) for each in listed):
                configs = dict(content["kcl_cli_configs"])
            case _:
                raise self._wrong(f"{made.like.name} does not list its files", f"list them in {file}")
        configs["files" if "files" in configs else "file"] = self._listed(made, listed, coordinates)
        options = content.get("kcl_options")
        said = [dict(each) for each in options if isinstance(each, dict)] if isinstance(options, list) else []
        for each in said:
            if each.get("key") == "stack":
                each["value"] = str(made.path.stack)
        return {**content, "kcl_cli_configs": configs, **({"kcl_options": said} if said else {})}

    def _unlisted(self, made: _Made) -> dict[str, Any]:
        """What a kcl.yaml would say of a stack without one: the base and its own files, by name."""
        folder = made.like.directory
        if (folder / MODULE_FILE).is_file():
            hint = f"write a {_SETTINGS} that lists its files"
            raise self._wrong(f"{made.like.name} has a {MODULE_FILE} of its own, which a copy would not have", hint)
        files = listed_files(folder, made.like.project_directory, self._tree.root).files
        return {"kcl_cli_configs": {"file": [os.path.relpath(each, folder) for each in files]}}

    def _listed(self, made: _Made, listed: Sequence[str], coordinates: Mapping[str, str]) -> list[str]:
        """The files of the stack that this one is made after, with its own behind them, and its own baselines."""
        declared, root, like = self._tree.declared, self._tree.root, made.like
        baselines: list[str] = []
        if declared is not None and coordinates:
            found = self._baselines(coordinates, declared)
            baselines = [f"${{KCL_MOD}}/{each.relative_to(root).as_posix()}" for each in found]
        names: list[str] = []
        own = 0
        for each in listed:
            path = Path(leads_to(each, str(like.directory), str(root)))
            if declared is not None and declared.of_file(path) is not None:
                names += baselines
                baselines = []
                continue
            is_own = not each.startswith("$") and path.is_relative_to(like.directory)
            names.append(f"../{like.directory.name}/{path.relative_to(like.directory).as_posix()}" if is_own else each)
            if path.is_relative_to(like.project_directory):
                own = len(names)
        own = own or len(names)
        return [*baselines, *names[:own], SITE_FILE, _OWN, *names[own:]]

    def _program(self, made: _Made) -> str:
        """The KCL that takes what is other from the declaration."""
        application, site = made.application, self._site.name
        imports, parts = {f"import {FOLDER}.{site}"}, [f'_site = {site}.site.applications["{application.name}"]']
        known = {each.name: each for each in made.like.components}
        for name, fields in application.components.items():
            component = known.get(name)
            if component is None:
                near = get_close_matches(name, known, n=1, cutoff=0.5)
                hint = f"did you mean {near[0]}?" if near else f"it has {', '.join(known) or 'none'}"
                raise self._wrong(f"{made.like.name} has no component {name!r}", hint)
            imports |= {self._import(component.schema, component.file)} - {""}
            parts.append(_component(name, component.schema, fields, f'_site.components["{name}"]'))
        for name, added in application.added.items():
            if name in known:
                raise self._wrong(f"{made.like.name} has a component {name} already", "say its fields in `components`")
            package, _, _ = added.schema.rpartition(".")
            short = ".".join(added.schema.split(".")[-2:])
            imports.add(f"import {package}")
            parts.append(_component(name, short, added.fields, f'_site.added["{name}"].values'))
        return "\n".join(sorted(imports)) + "\n\n" + "\n".join(parts)

    def _import(self, schema: str, file: Path) -> str:
        """The line that brings the package of a schema, as the file says that uses it first."""
        package = schema.partition(".")[0]
        if "." not in schema:
            return ""
        for found in _IMPORT.finditer(_text(file) or ""):
            if (found["alias"] or found["path"].rpartition(".")[2]) == package:
                return found[0].strip()
        raise self._wrong(f"{file} does not import {package}, which {schema} is of")

    def _wrong(self, message: str, hint: str = "") -> InvalidSite:
        return InvalidSite(message, where=str(self._site.file), hint=hint or "correct the declaration")


def _component(name: str, schema: str, fields: Sequence[str], source: str) -> str:
    lines = (f'    {each} = {source}["{each}"]\n' for each in fields)
    return f"\n{name}: {schema} {{\n{''.join(lines)}}}\n"


def _yaml(content: Mapping[str, Any]) -> str:
    return yaml.safe_dump(dict(content), sort_keys=False, allow_unicode=True)


def _sum(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def _is_intact(text: str) -> bool:
    """Whether a file is as it was written."""
    found = _MARK.match(text)
    return found is not None and found["sum"] == _sum(text[found.end() :])


def _written_for(file: Path) -> str:
    """Returns the site that a file was written for, empty where it is none of them."""
    found = _MARK.match(_text(file) or "")
    return found["site"] if found is not None else ""


def _text(file: Path) -> str | None:
    """Returns what a file says, None where there is none that can be read."""
    try:
        refuse_foreign(file, file.parent)
        return read_regular_text(file, _LARGEST)
    except (OSError, UnicodeDecodeError, ProjectError):
        return None
