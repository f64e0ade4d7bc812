"""Small real servers on this machine that answer exactly as told, and a certificate that is trusted for `localhost`."""

import socket
import socketserver
import ssl
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

#: Give nothing and cut the connection; or give nothing and wait for the caller to give up.
CUT, SILENCE = b"", None


@contextmanager
def serving(handler: type[socketserver.StreamRequestHandler], tls: ssl.SSLContext | None = None) -> Iterator[int]:
    """A server on a port of its own for as long as it takes; gives the port."""
    with socketserver.ThreadingTCPServer(("127.0.0.1", 0), handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        if tls is not None:
            server.socket = tls.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, args=[0.01])
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def closed_port() -> int:
    """A port on which nobody listens."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port: int = taken.getsockname()[1]
    return port


# ---- HTTP ------------------------------------------------------------------------------------------------


@dataclass
class Web:
    """What is answered to each request, as it goes over the wire, and the requests that came."""

    answer: bytes | None | Sequence[bytes]  # several pieces are given with a pause between them
    pause_seconds: float = 0
    requests: list[tuple[str, dict[str, str], bytes]] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def on(self, tls: ssl.SSLContext | None = None) -> Iterator[int]:
        """Serve; gives the port."""
        web = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                request = _read_request(self)
                if not request[0]:
                    return  # whoever connected said nothing
                web.requests.append(request)
                pieces = [web.answer] if isinstance(web.answer, bytes) else web.answer or []
                for piece in pieces:
                    self.wfile.write(piece)
                    web.over.wait(web.pause_seconds)
                if web.answer is SILENCE:
                    web.over.wait()

        with serving(Handler, tls) as port:
            try:
                yield port
            finally:
                self.over.set()


def _read_request(handler: socketserver.StreamRequestHandler) -> tuple[str, dict[str, str], bytes]:
    line = handler.rfile.readline().decode().strip()
    headers = {}
    while text := handler.rfile.readline().decode().strip():
        name, _, value = text.partition(":")
        headers[name.lower()] = value.strip()
    return line, headers, handler.rfile.read(int(headers.get("content-length", 0)))


def answer(status: int, body: bytes = b"{}", **headers: str) -> bytes:
    """A whole HTTP answer."""
    given = {"Content-Length": str(len(body)), **{name.replace("_", "-"): text for name, text in headers.items()}}
    lines = "".join(f"{name}: {text}\r\n" for name, text in given.items())
    return f"HTTP/1.1 {status} Told\r\n{lines}\r\n".encode() + body


# ---- mail ------------------------------------------------------------------------------------------------

#: What a mail server says to each verb when all is well; `greeting` and `message` stand for its other two answers.
WELL: Mapping[str, bytes | None] = {
    "greeting": b"220 mail ready",
    "EHLO": b"250 mail",
    "MAIL": b"250 ok",
    "RCPT": b"250 ok",
    "DATA": b"354 go on",
    "message": b"250 2.0.0 Ok: queued as 4F2A",
    "QUIT": b"221 bye",
}


@dataclass
class Mail:
    """A mail server that answers as told, and the messages it was given whole."""

    told: Mapping[str, bytes | None] = field(default_factory=dict)
    messages: list[bytes] = field(default_factory=list)
    verbs: list[str] = field(default_factory=list)
    over: threading.Event = field(default_factory=threading.Event)

    @contextmanager
    def on(self, tls: ssl.SSLContext | None = None) -> Iterator[int]:
        """Serve; gives the port."""
        mail = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self) -> None:
                going_on = self.say("greeting")
                while going_on and (line := self.rfile.readline().decode().strip()):
                    verb = line.split()[0].upper()
                    mail.verbs.append(line)
                    going_on = self.say(verb) and (verb != "DATA" or not self.promised() or self.take())
                    going_on = going_on and verb != "QUIT"

            def promised(self) -> bool:
                return (mail.reply("DATA") or b"").startswith(b"354")

            def take(self) -> bool:
                """Read a message up to its end, and answer."""
                lines: list[bytes] = []
                while (line := self.rfile.readline()) not in (b".\r\n", b""):
                    lines.append(line)
                if not line:
                    return False  # it was never ended, so nobody has it
                mail.messages.append(b"".join(lines))
                return self.say("message")

            def say(self, verb: str) -> bool:
                """Answer; False when the connection is cut."""
                reply = mail.reply(verb)
                if reply is SILENCE:
                    mail.over.wait()
                    return False
                if reply == CUT:
                    return False
                self.wfile.write(reply + b"\r\n")
                return True

        with serving(Handler, tls) as port:
            try:
                yield port
            finally:
                self.over.set()

    def reply(self, verb: str) -> bytes | None:
        return {**WELL, **self.told}.get(verb, b"502 unknown")


# ---- certificates ----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Certificate:
    """A certificate for `localhost`, and how to serve with it."""

    file: Path
    context: ssl.SSLContext


def certificate(folder: Path, name: str = "localhost") -> Certificate:
    """A new certificate for `name`, signed by itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    made = (
        x509.CertificateBuilder(subject, subject, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(minutes=1))
        .not_valid_after(now + timedelta(hours=1))
        .add_extension(x509.SubjectAlternativeName([x509.DNSName(name)]), critical=False)
        .sign(key, hashes.SHA256())
    )
    public, private = folder / f"{name}.crt", folder / f"{name}.key"
    public.write_bytes(made.public_bytes(serialization.Encoding.PEM))
    private.write_bytes(
        key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    )
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(public, private)
    return Certificate(public, context)
