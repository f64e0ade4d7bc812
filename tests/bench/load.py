"""A load of HTTP clients on loopback: each sends its next command when the one before is answered.

python -m tests.bench.load CASE PORT SECONDS CLIENTS
"""

import asyncio
import json
import os
import statistics
import sys
import time
from dataclasses import dataclass, field
from uuid import uuid4


@dataclass
class Client:
    """One client on a connection of its own, with a record of its own."""

    number: int
    case: str
    port: int
    version: int = 1
    seconds: list[float] = field(default_factory=list)

    def request(self) -> bytes:
        body = json.dumps({"id": uuid4().hex, "name": "record-contact", "params": {}, "reason": "bench"}).encode()
        lines = [
            f"POST {self._path()} HTTP/1.1",
            f"Host: 127.0.0.1:{self.port}",
            "Content-Type: application/json",
            f"Content-Length: {len(body)}",
        ]
        if self.case == "ours":
            token = json.loads(os.environ["BENCH_TOKENS"])[self.number]
            lines += [f"Authorization: Bearer {token}", f'If-Match: "1.{self.version}"']
        return "\r\n".join([*lines, "", ""]).encode() + body

    def _path(self) -> str:
        return f"/api/v1/runs/WEB-{self.number}/commands/" if self.case == "ours" else f"/{self.case}/{self.number}/"

    async def run(self, ends: float) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        while time.perf_counter() < ends:
            started = time.perf_counter()
            writer.write(self.request())
            status, headers, body = await answer(reader)
            if status not in (200, 201):
                raise RuntimeError(f"{status} {body[:300]!r}")
            self.version = json.loads(body)["version"]
            self.seconds.append(time.perf_counter() - started)
            if headers.get(b"connection", b"").lower() == b"close":
                writer.close()
                reader, writer = await asyncio.open_connection("127.0.0.1", self.port)
        writer.close()


async def answer(reader: asyncio.StreamReader) -> tuple[int, dict[bytes, bytes], bytes]:
    """Status, headers and body of one answer."""
    head = await reader.readuntil(b"\r\n\r\n")
    lines = head.split(b"\r\n")
    headers = {name.lower(): value.strip() for name, _, value in (line.partition(b":") for line in lines[1:])}
    body = await reader.readexactly(int(headers[b"content-length"]))
    return int(lines[0].split()[1]), headers, body


async def main(case: str, port: int, seconds: float, count: int) -> None:
    versions = json.loads(os.environ.get("BENCH_VERSIONS", "{}"))
    clients = [Client(n, case, port, versions.get(str(n), 1)) for n in range(count)]
    started = time.perf_counter()
    await asyncio.gather(*(client.run(started + seconds) for client in clients))
    took = time.perf_counter() - started
    times = sorted(second for client in clients for second in client.seconds)
    print(
        json.dumps(
            {
                "rate": len(times) / took,
                "p50": statistics.median(times) * 1000,
                "p99": times[int(len(times) * 0.99)] * 1000,
                "versions": {client.number: client.version for client in clients},
            }
        )
    )


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], int(sys.argv[2]), float(sys.argv[3]), int(sys.argv[4])))
