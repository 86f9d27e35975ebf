"""Forks a provider for each client, until stdin is closed. Says "ready" once it can be asked.

A client that is gone was killed, and its provider is killed too; how a provider ended is answered. terraform shows
nothing of what a provider says that ends before it serves: why is written into the file `ended`, and so is how the
server itself ended, where it failed.
"""

from __future__ import annotations

import gc
import os
import selectors
import signal
import socket
import sys
import traceback
from contextlib import suppress

from runtimes.sandbox.provider.plugin import Provider
from runtimes.sandbox.provider.serving import serve


class Forks:
    def __init__(self, address: str, ended: str) -> None:
        self._ended = ended
        self._clients: dict[int, socket.socket] = {}
        self._selector = selectors.DefaultSelector()
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(address)
        self._listener.listen(64)
        self._deaths, self._died = socket.socketpair()
        for each in (self._deaths, self._died):
            each.setblocking(False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(self._died.fileno(), warn_on_full_buffer=False)
        for source in (self._listener, self._deaths, sys.stdin):
            self._selector.register(source, selectors.EVENT_READ)

    def run(self) -> None:
        while True:
            for key, _ in self._selector.select():
                if key.fileobj is sys.stdin:
                    self._end()
                    return
                if key.fileobj is self._listener:
                    self._fork(self._listener.accept()[0])
                elif key.fileobj is self._deaths:
                    self._bury()
                elif key.data in self._clients:
                    self._forget(key.data)
                    os.kill(key.data, signal.SIGKILL)

    def _fork(self, client: socket.socket) -> None:
        head, streams, _, _ = socket.recv_fds(client, 8, 3)
        said = b""
        while len(said) < int.from_bytes(head) and (part := client.recv(1 << 16)):
            said += part
        pid = os.fork()
        if pid == 0:
            self._become_a_provider(said, streams)
        for each in streams:
            os.close(each)
        self._clients[pid] = client
        self._selector.register(client, selectors.EVENT_READ, pid)

    def _become_a_provider(self, said: bytes, streams: list[int]) -> None:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for number, each in enumerate(streams):
            os.dup2(each, number)
        os.closerange(3, max(*streams, *(key.fd for key in self._selector.get_map().values()), self._died.fileno()) + 1)
        folder, *variables = said.split(b"\0")
        os.chdir(folder)
        os.environb.clear()
        os.environb.update((name, value) for name, _, value in (each.partition(b"=") for each in variables))
        try:
            os._exit(serve(Provider()))
        except BaseException:
            self.note(traceback.format_exc())
            traceback.print_exc()
            os._exit(1)

    def _bury(self) -> None:
        with suppress(BlockingIOError):
            self._deaths.recv(1 << 16)
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG))[0]:
                client = self._forget(ended[0])
                if client is not None:  # who is killed with his client is forgotten by then
                    if ended[1]:
                        self.note(f"provider {ended[0]} ended with {os.waitstatus_to_exitcode(ended[1])}\n")
                    with client, suppress(OSError):
                        client.sendall(ended[1].to_bytes(4))

    def _forget(self, pid: int) -> socket.socket | None:
        client = self._clients.pop(pid, None)
        if client is not None:
            self._selector.unregister(client)
        return client

    def note(self, said: str) -> None:
        with open(self._ended, "a", encoding="utf-8") as file:
            file.write(said)

    def _end(self) -> None:
        for pid in self._clients:
            os.kill(pid, signal.SIGKILL)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    forks = Forks(*sys.argv[1:])
    gc.freeze()
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    try:
        forks.run()
    except BaseException:
        forks.note(traceback.format_exc())
        raise
