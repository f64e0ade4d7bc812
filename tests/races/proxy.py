"""A line to the database that can be lost between a COMMIT that arrived and the reply to it."""

import socket
import threading
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

#: How libpq names the socket of a server in a folder.
SOCKET_NAME = ".s.PGSQL.5432"


@dataclass
class _Call:
    """One client's connection and whether it waits for the reply to the COMMIT that is to be lost."""

    client: socket.socket
    server: socket.socket
    loses_reply: bool = False

    def hang_up(self) -> None:
        for end in (self.client, self.server):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


class LossyLine:
    """Passes everything on between clients and a server on Unix sockets, but for the replies it is told to lose."""

    def __init__(self, folder: Path, server: Path) -> None:
        self.lost_count = 0
        self._to_lose = 0
        self._server = server / SOCKET_NAME
        self._listener = socket.socket(socket.AF_UNIX)
        self._listener.bind(str(folder / SOCKET_NAME))
        self._listener.listen()
        threading.Thread(target=self._accept, daemon=True).start()

    def lose_replies_to_commits(self, count: int = 1) -> None:
        """Hang up instead of passing on the replies to the next `count` commits."""
        self._to_lose = count

    def close(self) -> None:
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listener.accept()
            except OSError:
                return
            server = socket.socket(socket.AF_UNIX)
            server.connect(str(self._server))
            call = _Call(client, server)
            for pass_on in (self._pass_on_requests, self._pass_on_replies):
                threading.Thread(target=pass_on, args=(call,), daemon=True).start()

    def _pass_on_requests(self, call: _Call) -> None:
        with suppress(OSError):
            while data := call.client.recv(65536):
                if b"COMMIT" in data and self._to_lose:
                    self._to_lose -= 1
                    call.loses_reply = True
                call.server.sendall(data)
        call.hang_up()

    def _pass_on_replies(self, call: _Call) -> None:
        with suppress(OSError):
            while (data := call.server.recv(65536)) and not call.loses_reply:
                call.client.sendall(data)
        self.lost_count += call.loses_reply
        call.hang_up()
