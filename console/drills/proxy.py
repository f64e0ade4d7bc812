"""A proxy to be treated badly from outside: stopped, it stalls; killed, it resets everybody who is connected.

A program of its own, which imports the standard library only: `python proxy.py PORT TARGET QUEUE`. The target is
a port of this machine or the path of a socket; the queue is how many may wait to be let in.
"""

import socket
import struct
import sys
import threading
from contextlib import suppress

_HOST = "127.0.0.1"
_CHUNK = 65536
#: Closing without lingering resets the connection, also when the process is killed.
_RESET_AT_THE_END = struct.pack("ii", 1, 0)


def _pass_on(source: socket.socket, sink: socket.socket) -> None:
    """Pass on what comes, until one of the two ends; then the other ends too."""
    with suppress(OSError):
        while chunk := source.recv(_CHUNK):
            sink.sendall(chunk)
    for end in (sink, source):
        with suppress(OSError):
            end.shutdown(socket.SHUT_RDWR)


def _connected(target: str) -> socket.socket:
    if target.isdecimal():
        return socket.create_connection((_HOST, int(target)))
    there = socket.socket(socket.AF_UNIX)
    there.connect(target)
    return there


def _serve(port: int, target: str, queue: int) -> None:
    with socket.create_server((_HOST, port), backlog=queue) as server:
        while True:
            here, _ = server.accept()
            here.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET_AT_THE_END)
            try:
                there = _connected(target)
            except OSError:  # whoever is behind is away: the caller is reset
                here.close()
                continue
            for pair in ((here, there), (there, here)):
                threading.Thread(target=_pass_on, args=pair, daemon=True).start()


if __name__ == "__main__":
    _serve(int(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
