"""Forks a provider for each process that writes its number to `requests`, until stdin is closed.

Says "ready" once it can be asked. A client that is gone was killed, or terraform was, and its provider is killed too;
how a provider ended is answered: its code, or the number of the signal with a minus.
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
import sys
import traceback
from contextlib import ExitStack, suppress
from pathlib import Path

from runtimes.sandbox.provider.plugin import Provider
from runtimes.sandbox.provider.serving import serve

_STREAMS = {7: os.O_RDONLY, 8: os.O_WRONLY, 9: os.O_WRONLY}
"""Where a client keeps its own."""


class Client:
    """Raises `OSError` where it ended already, or whoever started it."""

    def __init__(self, folder: Path, pid: int) -> None:
        at = Path(f"/proc/{pid}")
        parent = int((at / "stat").read_text().rpartition(")")[2].split()[1])
        self.provider: int | None = None
        self.cwd = os.readlink(at / "cwd")
        self.environ = (at / "environ").read_bytes()
        self._answer_path = folder / str(pid)
        with ExitStack() as opened:
            self.ends = _opened(opened, os.pidfd_open(pid))
            self.terraform_ends = _opened(opened, os.pidfd_open(parent))
            self._answer = _opened(opened, os.open(self._answer_path, os.O_RDWR))
            # a pipe that nobody reads any more is not waited for
            self.streams = [
                _opened(opened, os.open(at / f"fd/{number}", flags | os.O_NONBLOCK))
                for number, flags in _STREAMS.items()
            ]
            opened.pop_all()
        for each in self.streams:
            os.set_blocking(each, True)

    def answer(self, code: int) -> None:
        self.provider = None
        os.write(self._answer, b"%d\n" % code)

    def kill_provider(self) -> None:
        if self.provider is not None:
            os.kill(self.provider, signal.SIGKILL)

    def close(self) -> None:
        for each in (self.ends, self.terraform_ends, self._answer):
            os.close(each)
        self._answer_path.unlink()


def _opened(stack: ExitStack, descriptor: int) -> int:
    stack.callback(os.close, descriptor)
    return descriptor


class Forks:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._clients: set[Client] = set()
        self._selector = selectors.DefaultSelector()
        self._requests = os.open(folder / "requests", os.O_RDWR)
        self._deaths, self._died = socket.socketpair()
        for each in (self._deaths, self._died):
            each.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._died.fileno(), warn_on_full_buffer=False)
        for source in (self._requests, self._deaths, sys.stdin):
            self._selector.register(source, selectors.EVENT_READ)

    def run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is sys.stdin:
                    self._end()
                    return
                if key.fileobj == self._requests:
                    for each in os.read(self._requests, 1 << 16).split():  # what one writes is never torn apart
                        self._ask(int(each))
                elif key.fileobj is self._deaths:
                    self._bury()
                elif key.fd == key.data.ends:
                    self._forget(key.data)
                elif key.data in self._clients:
                    self._selector.unregister(key.fd)
                    key.data.kill_provider()

    def _ask(self, pid: int) -> None:
        try:
            client = Client(self._folder, pid)
        except OSError:  # it was killed meanwhile, or terraform was and it waits for nobody
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        else:
            self._fork(client)

    def _fork(self, client: Client) -> None:
        pid = os.fork()
        if pid == 0:
            self._become_a_provider(client)
        for each in client.streams:
            os.close(each)
        client.provider = pid
        self._clients.add(client)
        for end in (client.ends, client.terraform_ends):
            self._selector.register(end, selectors.EVENT_READ, client)

    def _become_a_provider(self, client: Client) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, each in enumerate(client.streams):
            os.dup2(each, number)
        os.closerange(3, max(*client.streams, *(key.fd for key in self._selector.get_map().values())) + 1)
        os.chdir(client.cwd)
        os.environb.clear()
        os.environb.update(
            (name, value) for name, _, value in (each.partition(b"=") for each in client.environ.split(b"\0") if each)
        )
        try:
            os._exit(serve(Provider()))
        except BaseException:
            traceback.print_exc()
            os._exit(1)

    def _bury(self) -> None:
        with suppress(BlockingIOError):
            self._deaths.recv(1 << 16)
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                for client in self._clients:
                    if client.provider == ended[0]:
                        client.answer(os.waitstatus_to_exitcode(ended[1]))

    def _forget(self, client: Client) -> None:
        self._clients.remove(client)
        client.kill_provider()
        for each in (client.ends, client.terraform_ends):
            with suppress(KeyError):
                self._selector.unregister(each)
        client.close()

    def _end(self) -> None:
        for client in self._clients:
            client.kill_provider()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    forks = Forks(Path(sys.argv[1]))
    gc.freeze()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    forks.run()
