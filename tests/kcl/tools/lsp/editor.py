"""A small editor: starts `kcl lsp`, sends messages and waits for those that answer."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from queue import Empty, Queue
from types import TracebackType
from typing import Any, TypeVar

ROOT = Path(__file__).parents[4]
WAIT_SECONDS = 30
_T = TypeVar("_T")


class Editor:
    """Drives one server process, and fails rather than wait for ever."""

    def __init__(
        self,
        root: Path,
        encoding: str = "utf-16",
        command: Sequence[str] = ("kcl", "lsp"),
        wait_seconds: float = WAIT_SECONDS,
    ) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-m", *command],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=ROOT,
            env={**os.environ, "KCL_PKG_PATH": str(root / "no packages")},
        )
        self.root, self.encoding, self.wait_seconds = root, encoding, wait_seconds
        self.capabilities: dict[str, Any] = {}
        self.versions: dict[str, int] = {}
        self._messages: Queue[dict[str, Any]] = Queue()
        self._ids = 0
        self.refreshes = 0
        """How often the server said that lenses tell something else by now."""
        self.published: list[dict[str, Any]] = []
        self.shown: dict[str, list[dict[str, Any]]] = {}
        """What the server said last of each file."""
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Editor:
        capabilities = {
            "general": {"positionEncodings": [self.encoding]},
            "workspace": {
                "didChangeWatchedFiles": {"dynamicRegistration": True},
                "codeLens": {"refreshSupport": True},
            },
        }
        params = {"processId": os.getpid(), "rootUri": self.root.as_uri(), "capabilities": capabilities}
        self.capabilities = self.ask("initialize", params)["capabilities"]
        self.tell("initialized", {})
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is None:
                self.answer("shutdown", None)  # an error where it was said before
                self.tell("exit", None)
                assert self.process.wait(WAIT_SECONDS) == 0
        finally:
            self.process.kill()
            self.process.wait()
            self._reader.join(WAIT_SECONDS)
            for stream in (self.process.stdin, self.process.stdout, self.process.stderr):
                assert stream is not None
                stream.close()

    def _read(self) -> None:
        stream = self.process.stdout
        assert stream is not None
        while True:
            size = 0
            while (line := stream.readline().strip()) != b"":
                if line.lower().startswith(b"content-length:"):
                    size = int(line.partition(b":")[2])
            if not size:
                self._messages.put({"method": "the end"})
                return
            self._messages.put(json.loads(stream.read(size)))

    def send_raw(self, content: bytes) -> None:
        """Sends bytes as they are."""
        stream = self.process.stdin
        assert stream is not None
        stream.write(content)
        stream.flush()

    def _send(self, message: dict[str, Any]) -> None:
        content = json.dumps({"jsonrpc": "2.0", **message}).encode()
        self.send_raw(b"Content-Length: %d\r\n\r\n" % len(content) + content)

    def message(self) -> dict[str, Any]:
        """The next message of the server, whatever it is; its requests are answered."""
        try:
            message = self._messages.get(timeout=self.wait_seconds)
        except Empty:
            raise AssertionError(f"no answer; the server said: {self._stderr()}") from None
        method = message.get("method")
        assert method != "the end", self._stderr()
        if method is not None and "id" in message:
            self._send({"id": message["id"], "result": None})
        if method == "workspace/codeLens/refresh":
            self.refreshes += 1
        if method == "textDocument/publishDiagnostics":
            self.published.append(message["params"])
            self.shown[message["params"]["uri"]] = message["params"]["diagnostics"]
        assert method != "window/logMessage", message
        return message

    def _until(self, wanted: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        while True:
            message = self.message()
            if wanted(message):
                return message

    def _stderr(self) -> str:
        self.process.kill()
        assert self.process.stderr is not None
        return self.process.stderr.read().decode()

    def tell(self, method: str, params: Any) -> None:
        self._send({"method": method, "params": params} if params is not None else {"method": method})

    def answer(self, method: str, params: Any) -> dict[str, Any]:
        """The whole message that answers, with `result` or `error`."""
        number = self.request(method, params)
        return self._until(lambda message: message.get("id") == number and "method" not in message)

    def request(self, method: str, params: Any) -> int:
        """Asks without waiting; returns the number of the answer."""
        self._ids += 1
        self._send({"id": self._ids, "method": method} | ({} if params is None else {"params": params}))
        return self._ids

    def ask(self, method: str, params: Any) -> Any:
        answer = self.answer(method, params)
        assert "error" not in answer, answer
        return answer["result"]

    def open(self, path: Path, text: str | None = None) -> None:
        uri = path.as_uri()
        self.versions[uri] = 1
        text = path.read_text(encoding="utf-8") if text is None else text
        self.tell(
            "textDocument/didOpen",
            {"textDocument": {"uri": uri, "languageId": "kcl", "version": 1, "text": text}},
        )

    def peak_megabytes(self) -> int:
        """The most memory that the server had, 0 where the system does not say."""
        status = Path(f"/proc/{self.process.pid}/status")
        if not status.exists():
            return 0
        peak = next(each for each in status.read_text().splitlines() if each.startswith("VmHWM"))
        return int(peak.split()[1]) // 1000

    def once(self, ask: Callable[[], _T], is_it: Callable[[_T], bool]) -> _T:
        """The first answer that is what is waited for; asks again whenever the server has more to tell."""
        while True:
            seen = self.refreshes  # before asking: it may be said before the answer comes
            if is_it(answer := ask()):
                return answer
            while self.refreshes == seen:
                self.message()

    def lenses(self, path: Path, is_it: Callable[[dict[int, str]], bool] = lambda _: True) -> dict[int, str]:
        """What is told above lines, by line, once it is what is waited for."""
        document = {"textDocument": {"uri": path.as_uri()}}

        def ask() -> dict[int, str]:
            found = self.ask("textDocument/codeLens", document)
            return {each["range"]["start"]["line"]: each["command"]["title"] for each in found or ()}

        return self.once(ask, is_it)

    def edit(self, path: Path, *changes: dict[str, Any]) -> int:
        uri = path.as_uri()
        self.versions[uri] += 1
        document = {"uri": uri, "version": self.versions[uri]}
        self.tell("textDocument/didChange", {"textDocument": document, "contentChanges": list(changes)})
        return self.versions[uri]

    def close(self, path: Path) -> None:
        self.tell("textDocument/didClose", {"textDocument": {"uri": path.as_uri()}})

    def diagnostics(self, path: Path, is_it: Callable[[list[Any]], bool] = bool) -> list[dict[str, Any]]:
        """The next diagnostics of a file that are what is waited for."""
        return self.diagnostics_of(path.as_uri(), is_it)

    def diagnostics_of(self, uri: str, is_it: Callable[[list[Any]], bool] = bool) -> list[dict[str, Any]]:

        def wanted(message: dict[str, Any]) -> bool:
            if message.get("method") != "textDocument/publishDiagnostics" or message["params"]["uri"] != uri:
                return False
            return is_it(message["params"]["diagnostics"])

        found: list[dict[str, Any]] = self._until(wanted)["params"]["diagnostics"]
        return found

    def diagnostics_of_version(self, path: Path) -> list[dict[str, Any]]:
        """The diagnostics of the text as it is now."""
        uri, version = path.as_uri(), self.versions[path.as_uri()]

        def wanted(message: dict[str, Any]) -> bool:
            params = message.get("params") or {}
            is_of_file = message.get("method") == "textDocument/publishDiagnostics" and params["uri"] == uri
            return is_of_file and params.get("version") == version

        found: list[dict[str, Any]] = self._until(wanted)["params"]["diagnostics"]
        return found


def change(start: tuple[int, int], end: tuple[int, int], text: str) -> dict[str, Any]:
    return {
        "range": {
            "start": {"line": start[0], "character": start[1]},
            "end": {"line": end[0], "character": end[1]},
        },
        "text": text,
    }
