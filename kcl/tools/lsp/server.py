"""The Language Server Protocol, by pygls: its messages on one side, `Session` and the features on the other.

Messages arrive on the thread of the event loop, which only keeps texts. Diagnostics are worked out on a second thread
and answers on a third, so that nobody who completes a word waits for a check; those about large files, which take
seconds, on a fourth. What was found of texts that have
changed since is thrown away (`Session.revision`), on the thread where they change: nothing stale is shown. The linter
looks after the check and on its thread, when nobody has typed for a moment.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from importlib.metadata import PackageNotFoundError, version
from typing import Any, BinaryIO, Final, TypeVar, cast

from lsprotocol import types as lsp
from pygls.lsp.server import LanguageServer

from kcl.tools.lsp.advising import Advice, Advisor
from kcl.tools.lsp.answers import LEFT_OUT, Answers
from kcl.tools.lsp.living import Living
from kcl.tools.lsp.messages import Headers, Messages
from kcl.tools.lsp.positions import Unit
from kcl.tools.lsp.protocol import LinesOf, diagnostic_of, edit_of, finding_of, not_checked, too_large
from kcl.tools.lsp.repositories import Clusters, NotLooked, Repository
from kcl.tools.lsp.sessions import MOST_CHARACTERS, Found, Session
from kcl.tools.lsp.surveying import Survey, unsaved
from kcl.tools.lsp.uris import path_of, uri_of

T = TypeVar("T")

EFFECT: Final = "kcl.effect"
"""The command that tells what unsaved texts change in the stacks."""
DIFFERENCE: Final = "kcl.live"
"""The command that tells what an apply would change live of what a line decides; it gets a URI and a line from 0."""
_DEBOUNCE_SECONDS: Final = 0.015
_PAUSE_SECONDS: Final = 0.25
"""How long nobody types before the linter looks."""
_CALM_SECONDS: Final = 0.5
"""The same before stacks are looked at."""
_NEWS_SECONDS: Final = 2.0
"""How often the editor is told, while stacks are looked at, that more is known."""
_END_SECONDS: Final = 1.0
_THREADS: Final = "kcl-"
_SILENT: Final = logging.CRITICAL + 1
"""What messages hold is not logged: editors keep what a server says on its standard error."""
_WATCHED: Final = ("**/*.k", "**/kcl.mod", "**/kcl.mod.lock", "**/kcl.yaml", "**/settings.yaml")


class Server:
    """One editor, and what it is told."""

    def __init__(
        self,
        environment: Mapping[str, str],
        repository: Repository | None = None,
        clusters: Clusters | None = None,
    ) -> None:
        self.protocol = LanguageServer("kcl", _version(), protocol_cls=Messages)
        self.session = Session(environment=environment)
        self.advisor = Advisor(self.session)
        self.survey = None if repository is None else Survey(self.session, repository)
        self.living = None if clusters is None else Living(self.session, clusters)
        self.features = Answers(self.session, self.advisor, self.uri, self.survey, self._survey_soon, self.living)
        self.checks = ThreadPoolExecutor(1, f"{_THREADS}checks")
        self.answers = ThreadPoolExecutor(1, f"{_THREADS}answers")
        self.slow_answers = ThreadPoolExecutor(1, f"{_THREADS}slow-answers")
        self._changed = asyncio.Event()
        self._recent: str | None = None
        self._wanted = asyncio.Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._tasks: list[asyncio.Task[None]] = []
        self._uris: dict[str, str] = {}
        """The names that the editor has for paths."""
        self._published: frozenset[str] = frozenset()
        """Paths of which the editor shows diagnostics."""
        self._register()
        if repository is not None:
            self._offer_effect(repository)
        if self.survey is not None and clusters is not None:
            self._offer_difference(self.survey, clusters)

    def _register(self) -> None:
        self._note(lsp.INITIALIZED, self._initialized)
        self._note(lsp.TEXT_DOCUMENT_DID_OPEN, self._opened)
        self._note(lsp.TEXT_DOCUMENT_DID_CHANGE, self._edited)
        self._note(lsp.TEXT_DOCUMENT_DID_CLOSE, self._closed)
        self._note(lsp.TEXT_DOCUMENT_DID_SAVE, self._saved)
        self._note(lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, self._touched)
        for method, (work, options) in self.features.about_files.items():
            self._answer(method, work, options)
        for method, other in self.features.others.items():
            self._answer_other(method, other)

    def _note(self, method: str, work: Callable[[Any], None]) -> None:
        """Lets a notification be taken on the thread of the loop, in the order of arrival."""

        def take(params: Any) -> None:  # a method has no room for what pygls notes of it
            work(params)

        self.protocol.feature(method)(take)

    def _answer(self, method: str, work: Callable[[str, Any], Any], options: Any = None) -> None:
        """Lets a request about a file be answered on the thread of answers, None for what is no file."""

        async def answer(params: Any) -> Any:
            path = path_of(params.text_document.uri)
            if path is None or (method in LEFT_OUT and self.session.is_large(path)):
                return None
            is_slow = method != lsp.TEXT_DOCUMENT_COMPLETION and self.session.is_large(path)
            return await self._answered(self.slow_answers if is_slow else self.answers, work, path, params)

        self.protocol.feature(method, options)(answer)

    def _answer_other(self, method: str, work: Callable[[Any], Any]) -> None:
        async def answer(params: Any) -> Any:
            return await self._answered(self.answers, work, params)

        self.protocol.feature(method)(answer)

    async def _answered(self, thread: ThreadPoolExecutor, work: Callable[..., Any], *given: Any) -> Any:
        """What a feature says, which is told where nobody waits for it any more."""
        given_up = threading.Event()
        try:
            answer = partial(self.features.answer, given_up.is_set, work, *given)
            return await asyncio.get_running_loop().run_in_executor(thread, answer)
        finally:
            given_up.set()

    # ------------------------------------------------------------ texts

    def _initialized(self, params: lsp.InitializedParams) -> None:
        self._loop = asyncio.get_running_loop()
        self._tasks.append(self._loop.create_task(self._check_for_ever()))
        if self.survey is not None:
            self._tasks.append(self._loop.create_task(self._survey_for_ever(self.survey)))
        workspace = self.protocol.client_capabilities.workspace
        watching = workspace and workspace.did_change_watched_files
        if watching and watching.dynamic_registration:
            watchers = [lsp.FileSystemWatcher(each) for each in _WATCHED]
            options = lsp.DidChangeWatchedFilesRegistrationOptions(watchers)
            registered = lsp.Registration("kcl-files", lsp.WORKSPACE_DID_CHANGE_WATCHED_FILES, options)
            self.protocol.client_register_capability(lsp.RegistrationParams([registered]))

    def _opened(self, params: lsp.DidOpenTextDocumentParams) -> None:
        self.session.columns = Unit(self.protocol.workspace.position_encoding or Unit.UTF_16)
        document = params.text_document
        path = path_of(document.uri)
        if path is not None:
            self._uris[path] = document.uri
            self.session.open(path, document.text, document.version)
            self._check_soon(path)

    def _edited(self, params: lsp.DidChangeTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        if path is not None:
            self.session.change(path, [edit_of(each) for each in params.content_changes], params.text_document.version)
            self._check_soon(path)

    def _closed(self, params: lsp.DidCloseTextDocumentParams) -> None:
        path = path_of(params.text_document.uri)
        if path is not None:
            self.session.close(path)
            self._check_soon(None)

    def _saved(self, params: lsp.DidSaveTextDocumentParams) -> None:
        self.session.touch()
        self._check_soon(path_of(params.text_document.uri))

    def _touched(self, params: lsp.DidChangeWatchedFilesParams) -> None:
        self.session.touch()
        self._check_soon(None)

    def uri(self, path: str) -> str:
        return self._uris.get(path) or uri_of(path)

    # ------------------------------------------------------------ diagnostics

    def _check_soon(self, path: str | None) -> None:
        self._recent = path or self._recent
        self._changed.set()

    async def _check_for_ever(self) -> None:
        while True:
            await self._changed.wait()
            while self._changed.is_set():
                self._changed.clear()
                await asyncio.sleep(_DEBOUNCE_SECONDS)
            revision = self.session.revision
            recent = () if self._recent is None else (self._recent,)
            found = await self._worked_out(revision, partial(self.session.diagnostics, recent))
            if found is None:
                continue
            self._publish(found, None)
            if not await self._rests():
                continue
            advice = await self._worked_out(revision, self.advisor.advice)
            if advice is not None and (advice.by_path or advice.left_out):
                self._publish(found, advice)

    async def _rests(self) -> bool:
        """Whether nothing is changed for a moment."""
        try:
            await asyncio.wait_for(self._changed.wait(), _PAUSE_SECONDS)
        except TimeoutError:
            return True
        return False

    async def _worked_out(self, revision: int, work: Callable[[Callable[[], bool]], T | None]) -> T | None:
        """What is found on the thread of checks; None once texts are of another revision, or where it failed."""
        session = self.session
        try:
            found = await asyncio.get_running_loop().run_in_executor(
                self.checks, work, lambda: session.revision != revision
            )
        except Exception as bug:  # the editor goes on, and is told
            self._tell_bug(bug)
            return None
        return found if session.revision == revision else None

    def _publish(self, found: Found, advice: Advice | None) -> None:
        """Shows what was found, and what the linter says of the same texts; None where it was not queried yet."""
        opened = self.session.documents.opened
        lines = LinesOf(found.texts, self.session.columns)
        findings = {} if advice is None else advice.by_path
        left_out = frozenset[str]() if advice is None else advice.left_out
        paths = found.by_path.keys() | self._published
        for path in sorted(paths if advice is None else findings.keys() | left_out):
            document = opened.get(path)
            shown = [diagnostic_of(each, lines, path, self.uri) for each in found.by_path.get(path, ())]
            shown += [finding_of(each.diagnostic, lines, path, self.uri) for each in findings.get(path, ())]
            shown += [not_checked(found.failed[path])] if path in found.failed else []
            if path in left_out and document is not None:
                shown.append(too_large(len(document.text), MOST_CHARACTERS))
            self.protocol.text_document_publish_diagnostics(
                lsp.PublishDiagnosticsParams(self.uri(path), shown, None if document is None else document.version)
            )
        self._published = frozenset(
            (*(path for path, items in found.by_path.items() if items), *found.failed, *findings.keys(), *left_out)
        )

    # ------------------------------------------------------------ stacks

    def _offer_effect(self, repository: Repository) -> None:
        """Lets somebody ask what the texts that are not saved would change."""

        async def effect() -> str:
            texts = await asyncio.get_running_loop().run_in_executor(self.answers, unsaved, self.session.documents)
            if not texts:
                return "everything is saved: there is no edit to show\n"
            try:
                return await repository.effect(texts)
            except NotLooked as problem:
                return f"not known: {problem}\n"

        self.protocol.command(EFFECT)(effect)

    def _offer_difference(self, survey: Survey, clusters: Clusters) -> None:
        """Lets somebody ask what the line under the cursor would change live."""

        async def difference(uri: str, line: int) -> str:
            path = path_of(uri)
            if path is None:
                return "not known: this is no file\n"
            loop = asyncio.get_running_loop()
            texts = await loop.run_in_executor(self.answers, unsaved, self.session.documents)
            effects = await loop.run_in_executor(self.answers, survey.at, path, line + 1)
            stacks = [each.stack for each in effects if each.wins]
            extent = survey.extent()
            if not stacks:
                self._survey_soon()
                nothing = "the line decides nothing in any stack" if extent.is_whole else "not known yet"
                return f"{nothing} ({extent})\n"
            try:
                real = await loop.run_in_executor(self.answers, os.path.realpath, path)
                told = await clusters.difference(stacks, texts, real, line + 1)
            except NotLooked as problem:
                return f"not known: {problem}\n"
            return told if extent.is_whole else f"{told}({extent})\n"

        self.protocol.command(DIFFERENCE)(difference)

    def _survey_soon(self) -> None:
        """Has the stacks looked at of which something may have changed; from any thread."""
        if self._loop is not None:
            self._loop.call_soon_threadsafe(self._wanted.set)

    async def _survey_for_ever(self, survey: Survey) -> None:
        while True:
            await self._wanted.wait()
            self._wanted.clear()
            revision = -1
            while revision != self.session.revision:
                revision = self.session.revision
                await asyncio.sleep(_CALM_SECONDS)
            try:
                await self._look_around(survey, revision)
            except Exception as bug:  # the editor goes on, and is told
                self._tell_bug(bug)

    async def _look_around(self, survey: Survey, revision: int) -> None:
        """Looks at each stack once, until somebody types; tells the editor now and then that there is news."""

        def is_over() -> bool:
            return self.session.revision != revision

        loop, done = asyncio.get_running_loop(), set[str]()
        told = loop.time()
        await survey.begin()
        while not is_over() and (name := await loop.run_in_executor(self.checks, survey.oldest, done)) is not None:
            done.add(name)
            found = await survey.look(name)
            if found is not None:
                await loop.run_in_executor(self.checks, survey.resolve, name, found, is_over)
            if loop.time() - told > _NEWS_SECONDS:
                self._refresh()
                told = loop.time()
        if done:
            self._refresh()
        if is_over():
            self._wanted.set()
        elif self.living is not None and await self.living.read():
            self._refresh()

    def _refresh(self) -> None:
        workspace = self.protocol.client_capabilities.workspace
        if workspace and workspace.code_lens and workspace.code_lens.refresh_support:
            self.protocol.workspace_code_lens_refresh(None, lambda _: None)

    # ------------------------------------------------------------ the end

    def end(self) -> None:
        """Gives up what is being worked out. Ends the process where that goes on: its editor waits for the end."""
        self.session.touch()
        for each in (self.checks, self.answers, self.slow_answers):
            each.shutdown(wait=False, cancel_futures=True)
        ends = time.monotonic() + _END_SECONDS
        for thread in threading.enumerate():
            if thread.name.startswith(_THREADS):
                thread.join(max(0.0, ends - time.monotonic()))
                if thread.is_alive():
                    sys.stderr.flush()
                    os._exit(0)

    def _tell_bug(self, bug: Exception) -> None:
        message = f"this is a bug in kcl lsp: {type(bug).__name__}: {bug}"
        self.protocol.window_log_message(lsp.LogMessageParams(lsp.MessageType.Error, message))


def _version() -> str:
    try:
        return version("konfig-workbench")
    except PackageNotFoundError:
        return "unknown"


def serve(
    stdin: BinaryIO,
    stdout: BinaryIO,
    environment: Mapping[str, str],
    repository: Repository | None = None,
    clusters: Clusters | None = None,
) -> int:
    """Serves until the editor says `exit` or is gone."""
    logging.getLogger("pygls").setLevel(_SILENT)
    server = Server(environment, repository, clusters)
    try:
        server.protocol.start_io(cast(BinaryIO, Headers(stdin)), stdout)  # which reads it, and no more
    finally:
        server.end()
    return 0
