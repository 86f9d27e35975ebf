"""What terraform starts: has a provider forked, and ends as that does.

It imports next to nothing: `socket` alone is most of what a start would take.
"""

from __future__ import annotations

import _socket
import os
import signal
import sys


def main(address: str) -> int:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as the provider itself: terraform says what is to be done
    terraform = os.getppid()
    said = b"\0".join([os.fsencode(os.getcwd()), *(name + b"=" + value for name, value in os.environb.items())])
    streams = b"".join(each.to_bytes(4, sys.byteorder) for each in (0, 1, 2))
    server = _socket.socket(_socket.AF_UNIX)
    server.connect(address)
    server.sendmsg([len(said).to_bytes(8)], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, streams)])
    server.sendall(said)
    server.settimeout(0.25)
    while True:
        try:
            answer = server.recv(4)
        except TimeoutError:
            if os.getppid() != terraform:
                return 1
        else:
            break
    code = os.waitstatus_to_exitcode(int.from_bytes(answer)) if answer else 1
    if code < 0:
        os.kill(os.getpid(), -code)
    return code


if __name__ == "__main__":
    try:
        sys.exit(main(sys.argv[1]))
    except OSError as error:  # terraform shows nothing of it
        with open(sys.argv[2], "a", encoding="utf-8") as file:
            file.write(f"client {os.getpid()}: {error}\n")
        raise
