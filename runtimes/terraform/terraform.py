"""The commands of terraform that are needed, run in one working folder."""

from __future__ import annotations

import asyncio
import contextlib
import fcntl
import hashlib
import json
import os
import re
from collections.abc import AsyncIterator, Callable, Collection, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from kcl.records import dataclass, field
from kcl.regular import read_regular
from runtimes.base import Finding, Misconfigured, ProviderUse, ResourceId, RuntimeFailure
from runtimes.base.documents import load_json
from runtimes.terraform import (
    binary,
    cli_config,
    diagnostics,
    events,
    lock,
    restoring,
    schema,
    uses,
)
from runtimes.terraform.arguments import Arguments
from runtimes.terraform.binary import FORGETTING_VERSION, Binary
from runtimes.terraform.configuration import Configuration
from runtimes.terraform.folder import Folder, is_in_use, read_json
from runtimes.terraform.process import MOST_OUTPUT_BYTES, Command, Running, end_orphans, run, start, start_waiting
from runtimes.terraform.state import OtherFormat, PriorState, UnreadableState, read_prior

_PATIENCE_SECONDS = 10.0
_STATE_ATTEMPTS, _STATE_PAUSE_SECONDS = 20, 0.05
_FRAME = re.compile(r"[│╷╵]|\x1b\[[0-9;]*m")
"""What terraform draws around what it says on a screen."""
_MOST_ERRORS_BYTES = 1 << 16
_LONGEST_ERRORS = 2000
_CHANGES = 2  # the exit code of a plan that would change something
_INITIALISE = re.compile(
    r"inconsistent dependency lock file|required plugins are not installed|backend initialization required"
    r"|initialization required|missing required provider|cached package|module not installed",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Settings:
    """See `runtimes.registry.connect`. `inherited` is the environment that terraform's is made from."""

    folder: Path
    place: str = "terraform"
    binary: str | None = None
    backend: Mapping[str, Any] | None = None
    cli_config: Path | None = None
    mirrors: tuple[Path, ...] = ()
    plugin_cache: Path | None = None
    required_version: str = ""
    lock_timeout_seconds: float = 10
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    inherited: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)
    lock: str = field(default="", repr=False)
    may_run: Callable[[Sequence[ProviderUse]], None] | None = None
    fetched: Callable[[], Collection[str] | None] | None = None

    @property
    def implied_mirrors(self) -> tuple[Path, ...]:
        """Those that terraform knows by itself, where the user has no rules of their own."""
        has_own = self.cli_config is not None and cli_config.says_how_to_install(self.cli_config)
        return () if has_own else cli_config.implied_mirrors(self.inherited)


@dataclass(frozen=True, slots=True)
class Planned:
    """What a plan told. `is_changing`: an apply would change something; `is_drifted`: something is not as recorded.

    `changing` are the addresses of what it said it would change.
    """

    is_changing: bool
    is_drifted: bool
    findings: tuple[Finding, ...]
    changing: frozenset[str] = frozenset()

    @property
    def errors(self) -> tuple[Finding, ...]:
        return tuple(each for each in self.findings if each.is_error)

    @property
    def needs_init(self) -> bool:
        return any(_INITIALISE.search(f"{each.message} {each.detail}") for each in self.errors)


class Terraform:
    """Use only while the folder is held, but for `state`."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.folder = Folder(settings.folder)
        self._binary: Binary | None = None
        self._cli_config, self._cli_config_text = self.folder.cli_config, ""

    @property
    def _known_binary(self) -> Binary:
        assert self._binary is not None, "prepare() comes first"
        return self._binary

    @property
    def _arguments(self) -> Arguments:
        return Arguments(str(self._known_binary.path))

    @property
    def has_local_state(self) -> bool:
        """Whether the state is a file in the folder."""
        return self._settings.backend is None or self._settings.backend.get("type") == "local"

    @property
    def state_file(self) -> Path:
        """Only where `has_local_state`."""
        config = (self._settings.backend or {}).get("config") or {}
        return self.folder.path / str(config.get("path") or self.folder.state.name)

    async def prepare(self) -> None:
        """Makes the folder and the CLI configuration, and finds the binary. Raises `Misconfigured`."""
        self.folder.prepare()
        settings = self._settings
        self._cli_config_text = cli_config.text(
            own=settings.cli_config,
            mirrors=settings.mirrors,
            plugin_cache=settings.plugin_cache,
            fetched=settings.fetched() if settings.fetched is not None else None,
            implied=settings.implied_mirrors,
        )
        own = settings.cli_config
        if own and self._cli_config_text and self._cli_config_text == cli_config.text_of(own):
            self._cli_config = own.expanduser().absolute()  # it may hold tokens: better not copied
            self.folder.cli_config.unlink(missing_ok=True)
        else:
            self.folder.write(self.folder.cli_config, self._cli_config_text)
        path = binary.find(settings.binary, {**settings.inherited, **settings.environment}.get("PATH"))
        if known := _remembered(self.folder):
            binary.remember(*known)
        self._binary = await binary.identify(path, self._environment({}), self.folder.path)

    def refuse_untrusted(self, configuration: Configuration) -> None:
        """Raises where a provider may not be run. Before that nobody is asked for one, and none is started."""
        settings = self._settings
        if settings.may_run is None or not configuration.providers:
            return
        settings.may_run(
            uses.of(configuration, mirrors=(*settings.mirrors, *settings.implied_mirrors), lock_text=settings.lock)
        )

    def is_initialised(self, configuration: Configuration) -> bool:
        """Whether the folder was initialised for these providers and this backend, by this terraform."""
        done = read_json(self.folder.initialised)
        is_same = isinstance(done, Mapping) and done.get("digest") == self._init_digest(configuration)
        return is_same and (self.folder.path / ".terraform").is_dir()

    def refuse_forgetting(self, ids: Collection[ResourceId]) -> None:
        """Raises `Misconfigured` where this terraform knows no way to forget something in a plan."""
        found = self._known_binary
        if ids and found.number < FORGETTING_VERSION:
            wanted = ".".join(map(str, FORGETTING_VERSION))
            raise Misconfigured(
                f"forgetting a resource takes terraform or tofu {wanted}, and {found.path} is {found.version}",
                hint="name a newer one in WB_TERRAFORM",
            )

    async def initialise(self, configuration: Configuration, *, forgets: bool = False, moves: bool = False) -> None:
        """Runs `terraform init`; the configuration must have been written. Raises `RuntimeFailure`.

        `forgets` the backend that the folder was initialised for; `moves` the state from there to the one now.
        """
        self.folder.initialised.unlink(missing_ok=True)
        self._renew_lock()
        await self._init(configuration, forgets=forgets, moves=moves)
        (self.folder.path / ".terraform").mkdir(exist_ok=True)  # there is none where no provider had to be got
        found = self._known_binary
        stamp = {
            "digest": self._init_digest(configuration),
            "binary": found.mark,
            "path": str(found.path),
            "version": found.version,
            "platform": found.platform,
        }
        self.folder.write(self.folder.initialised, json.dumps(stamp, indent=2) + "\n")

    async def schemas(self, configuration: Configuration, types: Collection[str]) -> schema.Schemas | None:
        """Returns what the providers say of these resource types, asked once; None where they could not be asked.

        The folder must have been initialised for the configuration.
        """
        digest = self._init_digest(configuration)
        kept = read_json(self.folder.schemas)
        if (
            not isinstance(kept, Mapping)
            or kept.get("digest") != digest
            or not set(types) <= set(kept.get("asked", ()))
        ):
            said = await run(self._command(self._arguments.schemas(), configuration))
            content = _reduced(said.output, types) if said.code == 0 else None
            if content is None:
                return None
            kept = {"digest": digest, "asked": sorted(types), "content": content}
            self.folder.write(self.folder.schemas, json.dumps(kept))
        return schema.read(kept["content"], types=types)

    async def plan(
        self, configuration: Configuration, targets: tuple[str, ...], replaces: tuple[str, ...] = ()
    ) -> Planned:
        """Plans into the folder's plan file. Raises `RuntimeFailure` where terraform ends without saying why."""
        folder = self.folder
        folder.remove_leftovers()
        command = self._command(
            self._arguments.plan(
                folder.plan.name,
                targets=targets,
                replaces=replaces,
                lock_timeout_seconds=self._settings.lock_timeout_seconds,
            ),
            configuration,
        )
        self.restore_plan(b"")  # terraform writes into what is there, which is closed to others already
        running = await self._start(command, folder.plan_events)
        try:
            code = await running.wait()
            if code < 0:
                await running.mark.end_leftovers()
        except asyncio.CancelledError:
            await running.end(_PATIENCE_SECONDS)  # a plan changes nothing; it gives back its lock when interrupted
            folder.remove_leftovers()
            raise
        told = events.read(folder.plan_events)
        changes = [each for each in told if isinstance(each, events.PlannedChange)]
        planned = Planned(
            is_changing=code == _CHANGES,
            is_drifted=any(each.is_drift for each in changes),
            findings=self.findings(told, configuration),
            changing=frozenset(each.address for each in changes if not each.is_drift),
        )
        # one that ends well without its sum is no terraform: a wrapper that swallows what it says, and not "no changes"
        is_told = code in (0, _CHANGES) and any(isinstance(each, events.Summed) for each in told)
        if not is_told and not planned.errors:
            raise self.unexplained("plan", code, configuration)
        return planned

    def restore_plan(self, content: bytes) -> None:
        """Puts a saved plan into the folder. It holds secrets."""
        descriptor = os.open(self.folder.plan, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)

    async def show_plan(self, configuration: Configuration) -> bytes:
        """Returns the saved plan as JSON, secrets in clear."""
        said = await run(self._command(self._arguments.show(self.folder.plan.name), configuration))
        if said.code != 0:
            raise self._failed("show", said.code, said.errors, configuration)
        return said.output

    async def start_apply(self, configuration: Configuration) -> Running:
        """Starts terraform to apply the saved plan, once it is told to go; its events go to a file."""
        command = self._command(
            self._arguments.apply(self.folder.plan.name, lock_timeout_seconds=self._settings.lock_timeout_seconds),
            configuration,
        )
        return await self._start(command, self.folder.apply_events, is_waiting=True)

    async def state(self) -> bytes:
        """Returns the state as terraform keeps it, empty where there is none yet. Raises `RuntimeFailure`.

        For a backend elsewhere the folder must have been initialised.
        """
        if self.has_local_state:
            return await self._local_state()
        if not (self.folder.path / ".terraform").is_dir():
            return b""
        said = await run(self._command(self._arguments.pull_state()))
        if said.code != 0:
            failed = self._failed("read its state", said.code, said.errors, None)
            failed.hint = (
                "nothing is known of what exists: check that the backend of the state can be reached, its credentials, "
                "and that nothing else answers at its address"
            )
            raise failed
        return said.output

    def written_state(self) -> bytes:
        """Returns what a local state has at this moment, empty where there is none.

        Raises `Misconfigured`, and `RuntimeFailure` for one that is too large.
        """
        try:
            content = read_regular(self.state_file, MOST_OUTPUT_BYTES + 1)
            if len(content) > MOST_OUTPUT_BYTES:
                raise RuntimeFailure(
                    f"its state {self.state_file} has more than {MOST_OUTPUT_BYTES / 1_000_000:.0f} MB",
                    target=self._settings.place,
                    hint="split the stack: so large a state or plan is not read",
                )
            return content
        except FileNotFoundError:
            return b""
        except OSError as error:
            raise Misconfigured(
                f"its state {self.state_file} cannot be read: {error.strerror}",
                target=self._settings.place,
                hint="make it a file that you can read, or name another one as path of the backend",
            ) from None

    async def _local_state(self) -> bytes:
        """Reads the state file, again where terraform is just writing it, which it does in place."""
        for _ in range(_STATE_ATTEMPTS):
            content = self.written_state()
            if content.rstrip().endswith(b"}") or not is_in_use(self.state_file):
                break
            await asyncio.sleep(_STATE_PAUSE_SECONDS)
        return content

    async def end_orphans(self) -> None:
        """Ends what a killed workbench left at work here. Only while no apply runs."""
        await end_orphans(self.folder.path)

    def protect_state(self) -> None:
        """Closes local states to others: terraform writes them as the user's umask has it."""
        if self.has_local_state:
            for path in (self.state_file, self.state_file.with_name(self.state_file.name + ".backup")):
                with contextlib.suppress(OSError):
                    path.chmod(0o600)

    async def take_out_of_state(self, addresses: Collection[str]) -> None:
        """Takes what is no more out of the state. Raises `RuntimeFailure`."""
        if self.has_local_state:
            restoring.take_out(self.folder, self.state_file, addresses)
            return
        seconds = self._settings.lock_timeout_seconds
        said = await run(
            self._command(self._arguments.remove_from_state(sorted(addresses), lock_timeout_seconds=seconds))
        )
        if said.code != 0:
            raise self._failed("take what is no more out of its state", said.code, said.errors, None)

    async def unlock_state(self, lock: str) -> None:
        """Takes a lock away. Raises `RuntimeFailure`, as where there is no such lock."""
        said = await run(self._command(self._arguments.unlock_state(lock)))
        if said.code != 0:
            raise self._failed("take a lock away", said.code, said.errors, None)

    def refuse_unpushed(self) -> None:
        """Raises `RuntimeFailure` where the state lacks what terraform could not write to it."""
        if self.folder.rescued_state.exists():
            raise RuntimeFailure(
                "the state is not all there is: at the end of an apply terraform could not write it, and left it in "
                f"{self.folder.rescued_state}",
                target=self._settings.place,
                hint="plan: that takes it back",
            )

    async def restore_state(self) -> None:
        """Gives the backend the state that terraform could not write at the end of an apply, if there is such.

        Terraform itself refuses one that is older than what the backend has, or of something else.
        """
        rescued = self.folder.rescued_state
        if not rescued.exists():
            return
        arguments = self._arguments.push_state(rescued.name, lock_timeout_seconds=self._settings.lock_timeout_seconds)
        said = await run(self._command(arguments))
        if said.code != 0 and not (said.code > 0 and await self._has_all_of(rescued)):
            failed = self._failed("take back the state it could not write before", said.code, said.errors, None)
            if not failed.hint and said.code < 0:
                failed.hint = "plan again: that tries it once more"
            failed.hint = (
                failed.hint
                or f"look at {rescued}: it knows resources that the state may not know; push it or remove it"
            )
            raise failed
        rescued.unlink()

    async def _has_all_of(self, rescued: Path) -> bool:
        """Whether the state is what was left of one it could not write: as where terraform was killed once it had been
        taken. terraform gives what is pushed where nothing was another lineage, and knows it no more.

        Having the same resources is not enough: what was not written may be a change, or a deletion.
        """
        try:
            there = read_prior(await self.state()).resources
            left = read_prior(read_regular(rescued)).resources
        except (RuntimeFailure, UnreadableState, OSError):
            return False
        return bool(left) and there == left

    def why_rescue_is_torn(self) -> str:
        """Says why no terraform would take back what it left of a state that it could not write: where the disk was
        full for that, too. Empty where it would, or there is none."""
        rescued = self.folder.rescued_state
        if not rescued.exists():
            return ""
        try:
            return "there is nothing in it" if read_prior(read_regular(rescued)) == PriorState() else ""
        except OtherFormat:
            return ""
        except UnreadableState as error:
            return str(error)
        except OSError as error:
            return error.strerror or "it is no file"

    def findings(self, told: Collection[events.Event], configuration: Configuration | None) -> tuple[Finding, ...]:
        """Returns what the diagnostics among the events say, each once."""
        diagnosed = (each.content for each in told if isinstance(each, events.Diagnosed))
        read = (diagnostics.finding(each, configuration) for each in diagnosed)
        return tuple(dict.fromkeys(each for each in read if each is not None))

    def unexplained(self, doing: str, code: int, configuration: Configuration | None) -> RuntimeFailure:
        """Returns the failure of a process that ended without a diagnostic: a crash, a signal, no memory."""
        return self._failed(doing, code, _end_of(self.folder.errors), configuration)

    def _failed(self, doing: str, code: int, errors: str, configuration: Configuration | None) -> RuntimeFailure:
        how = f"was ended by signal {-code}" if code < 0 else f"ended with code {code}"
        errors = errors[-_MOST_ERRORS_BYTES:]
        # secrets go first: one that is cut off, or whose lines are joined, would not be found any more
        errors = configuration.scrubbed(errors) if configuration else errors
        _, locked, detail = _FRAME.sub("", errors).partition(diagnostics.LOCKED)
        if locked:
            return diagnostics.locked("\n".join(map(str.strip, detail.strip().splitlines())), self._settings.place)
        said = _plain(errors)
        return RuntimeFailure(
            f"terraform was asked to {doing} and {how}{': ' + said if said else ''}", target=self._settings.place
        )

    async def _init(self, configuration: Configuration, *, forgets: bool, moves: bool) -> None:
        arguments = self._arguments.init(as_json=self._known_binary.says_init_in_json, forgets=forgets, moves=moves)
        async with _alone_in(self._settings.plugin_cache):
            said = await run(self._command(arguments, configuration))
        if said.code == 0:
            return
        told = [each for line in said.output.split(b"\n") if (each := events.parse(line)) is not None]
        findings = self.findings(told, configuration)
        if not findings:
            findings = tuple(Finding(True, each) for each in _screen_errors(said.output.decode(errors="replace")))
            findings += tuple(Finding(True, each) for each in _screen_errors(said.errors))
        if not findings:
            raise self._failed("init", said.code, said.errors, configuration)
        raise diagnostics.failure(findings, place=self._settings.place, doing="init")

    def _init_digest(self, configuration: Configuration) -> str:
        settings = self._settings
        parts = (
            configuration.provider_digest,
            self._known_binary.mark,
            self._cli_config_text,
            cli_config.contents(settings.mirrors),
            json.dumps(settings.backend, sort_keys=True, default=str),
            settings.lock,
        )
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()

    def _renew_lock(self) -> None:
        """Takes providers that are in a mirror out of the dependency lock file, and puts in what the repository's says.

        Who names a mirror trusts what is in it, and it may be rebuilt under the same version; the checksums of all
        other providers stay.
        """
        settings = self._settings
        mirrored = {each for mirror in settings.mirrors for each in cli_config.mirrored(mirror)}
        implied = {each for mirror in settings.implied_mirrors for each in cli_config.mirrored(mirror)}
        repository = lock.read(self._settings.lock, where=lock.FILE)
        lock.refuse_unverifiable(repository, mirrored | implied)
        try:
            text = self.folder.dependency_lock.read_text(encoding="utf-8")
        except OSError:
            text = ""
        if text or repository:
            self.folder.write(self.folder.dependency_lock, lock.joined(text, repository, without=mirrored))

    async def _start(self, command: Command, output: Path, *, is_waiting: bool = False) -> Running:
        try:
            return await (start_waiting if is_waiting else start)(command, output=output, errors=self.folder.errors)
        except OSError as error:
            raise Misconfigured(
                f"{command.arguments[0]} can't be started: {error.strerror}", target=self._settings.place
            ) from None

    def _command(self, arguments: tuple[str, ...], configuration: Configuration | None = None) -> Command:
        variables = configuration.environment if configuration else {}
        return Command(arguments, self._environment(variables), self.folder.path)

    def _environment(self, variables: Mapping[str, str]) -> dict[str, str]:
        settings = self._settings
        return cli_config.environment(settings.inherited, settings.environment, variables, self._cli_config)


@asynccontextmanager
async def _alone_in(cache: Path | None) -> AsyncIterator[None]:
    """Keeps two inits from filling one plug-in cache at a time, which terraform does not guard."""
    if cache is None:
        yield
        return
    file = _lock_file(cache)
    try:
        await asyncio.to_thread(fcntl.flock, file, fcntl.LOCK_EX)
        yield
    finally:
        os.close(file)


def _lock_file(cache: Path) -> int:
    cache.mkdir(parents=True, exist_ok=True)
    return os.open(cache / ".workbench.lock", os.O_RDWR | os.O_CREAT, 0o600)


def _remembered(folder: Folder) -> tuple[Binary, str] | None:
    match read_json(folder.initialised):
        case {"binary": str(mark), "path": str(path), "version": str(version), "platform": str(platform)}:
            return Binary(Path(path), version, platform), mark
        case _:
            return None


def _reduced(output: bytes, types: Collection[str]) -> dict[str, Any] | None:
    """Leaves out the resource types that are not asked for: of a large provider nearly all. None for no schemas."""
    try:
        document = load_json(output)
        providers = {
            source: {
                "provider": said.get("provider"),
                "resource_schemas": {
                    name: each for name, each in (said.get("resource_schemas") or {}).items() if name in types
                },
            }
            for source, said in (document.get("provider_schemas") or {}).items()
        }
        return {"format_version": document["format_version"], "provider_schemas": providers}
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _screen_errors(text: str) -> list[str]:
    """Returns the errors of a terraform too old to tell them as JSON, each as one line."""
    plain = re.sub(r"^[│╷╵]\s?", "", text, flags=re.MULTILINE)
    return [
        " ".join(each.split()) for each in re.findall(r"^Error: (.*?)(?=^Error: |\Z)", plain, re.MULTILINE | re.DOTALL)
    ]


def _plain(text: str) -> str:
    """Returns what was written to stderr as one line, without the frame terraform draws around it."""
    said = " ".join(_FRAME.sub(" ", text).split())
    return said if len(said) <= _LONGEST_ERRORS else f"{said[:_LONGEST_ERRORS]}…"


def _end_of(path: Path) -> str:
    """Returns the last of what was written to stderr: a provider may have written a gigabyte before."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, os.SEEK_END)
            start = max(0, size - _MOST_ERRORS_BYTES)
            file.seek(start)
            content = file.read()
    except OSError:
        return ""
    # the first line may have lost its beginning, and with it what tells that it is a secret
    return (content.partition(b"\n")[2] if start else content).decode(errors="replace")
