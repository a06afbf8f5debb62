"""Live queries and writes of a Sluice database: see docs/python.md. One task runs the connection, and comes again."""

from __future__ import annotations

import asyncio
import fcntl
import json
import os
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import ExitStack, suppress
from typing import Any, NamedTuple, TypeAlias, cast
from urllib.parse import urlsplit

from websockets.asyncio.client import ClientConnection, connect

Row: TypeAlias = dict[str, Any]
Credentials: TypeAlias = dict[str, str] | Callable[[], Awaitable[dict[str, str]]] | None


class SluiceError(Exception):
    """What the server, or the connection, refused. ``code`` is one of docs/errors.md."""
    def __init__(self, fault: Row) -> None:
        super().__init__(fault["message"])
        self.code, self.position = str(fault["code"]), cast(int | None, fault.get("position"))  # a byte of the query


class RowChange(NamedTuple):
    """A row that came (``old`` is None), changed, or left (``row`` is None) for a reason."""
    old: Row | None
    row: Row | None
    reason: str


class Change(NamedTuple):
    """What a live query shows now, what has changed since the last time, and who changed it."""
    rows: list[Row]
    changes: list[RowChange]
    state: str
    v: int
    total: int | None
    authors: list[Row]


def _key(row: Row) -> str:
    key = row.get("@key", row.get("key"))
    return f"{row.get('@class') or row.get('class')} {json.dumps([row.get('@id')] if key is None else key)}"


class Live:
    """The results of a query as they change, for one reader. ``Sluice.live`` makes it."""
    def __init__(self, db: Sluice, request: Row) -> None:
        self.state = "waiting"  # loading, complete, offline (the rows are the last known), failed, stopped
        self.v, self.total, self.authors = 0, cast(int | None, None), cast(list[Row], [])
        self._db, self._request, self._news, self.error = db, request, asyncio.Event(), cast(SluiceError | None, None)
        self._base, self._seen, self._id = cast(dict[str, Row], {}), cast(dict[str, Row], {}), 0
        self._next, self._dirty, self._is_whole = self._base, cast(dict[str, str], {}), False

    @property
    def rows(self) -> list[Row]:
        return sorted((row for row in self._base.values() if "@linked" not in row), key=lambda row: str(row["@sort"]))

    def get(self, name: str, key: Any) -> Row | None:
        """A row by its class and key, also one that rows link to."""
        return self._base.get(f"{name} {json.dumps(key)}") or self._base.get(f"{name} {json.dumps([key])}")

    def stop(self) -> None:
        self._db._drop(self, "stopped")

    async def __aiter__(self) -> AsyncIterator[Change]:
        while True:
            await self._news.wait()
            self._news.clear()
            if self.error:
                raise self.error
            if self.state == "stopped":
                return
            changes = []
            for key, reason in self._dirty.items():
                old, row = self._seen.pop(key, None), self._base.get(key)
                if row is not None:
                    self._seen[key] = row
                if row is not old:
                    changes.append(RowChange(old, row, "" if row else reason))
            self._dirty.clear()
            yield Change(self.rows, changes, self.state, self.v, self.total, self.authors)

    def _become(self, state: str, error: SluiceError | None = None) -> None:
        self.state, self.error = state, error
        self._news.set()

    def _apply(self, message: Row) -> None:
        self._next, left = {} if message.get("reset") else self._next, cast(dict[str, Row], {})
        for key, gone in ((_key(gone), gone) for gone in message.get("gone", [])):
            if "@linked" not in gone or "@linked" in self._next.get(key, gone):  # else it stays a result
                left[key], _ = self._next.pop(key, {}), self._dirty.pop(key, None)
                if key in self._seen:
                    self._dirty[key] = gone.get("reason", "")
        for key, part in ((_key(part), part) for part in message.get("put", [])):
            known = self._next.get(key) or left.get(key, {})
            self._next[key] = {**{each: known[each] for each in known if each != "@linked"}, **part}
            self._dirty[key] = ""
        self._db._version, is_complete = message["v"], message["state"] == "complete"
        self._request["since"], self._is_whole = message["v"] if is_complete else None, self._is_whole or is_complete
        if self._is_whole and not is_complete:  # what was complete is shown until it is so again
            return self._become(message["state"])
        if self._next is not self._base:
            self._dirty = dict.fromkeys((*self._seen, *self._next), "reset")
            self._base = self._next
        self.v, self.total, self.authors = message["v"], message.get("total", self.total), message.get("authors", [])
        self._become(message["state"])


class _Outbox:
    """Writes that the server has not decided, in a file that one process has at a time."""
    def __init__(self, path: str | os.PathLike[str] | None) -> None:
        self.path, self.entries = path and os.fspath(path), cast(list[tuple[int, list[Row], Any]], [])
        self.head: Row = {"seq": 0, "sent": 0}
        self.lock: Any = open(self.path + ".lock", "w") if self.path else ExitStack()
        if self.path:
            fcntl.flock(self.lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError), open(self.path) as file:
                self.head = json.load(file)
                self.entries = [(seq, ops, None) for seq, ops in self.head.pop("outbox")]

    def save(self, entries: list[tuple[int, list[Row], Any]], **head: Any) -> None:
        """Replaces the file as a whole. It is on disk when this returns; nothing has changed when this raises."""
        head = {**self.head, **head}
        if self.path:
            with open(self.path + ".new", "w") as file:
                json.dump(head | {"outbox": [[seq, ops] for seq, ops, _ in entries]}, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(self.path + ".new", self.path)
        self.head, self.entries = head, entries


class Sluice:
    """A database at a URL. ``state`` names a file for what is written: that counts exactly once, over restarts, too."""
    def __init__(self, url: str, *, credentials: Credentials = None, state: str | os.PathLike[str] | None = None,
                 variables: Row | None = None, readonly: bool = False) -> None:
        self.url, self.state, self.session, self.error = url, "offline", cast(Row, {}), cast(SluiceError | None, None)
        self.on_rejected: Callable[[SluiceError, list[Row]], None] = lambda error, ops: None
        self._credentials, self._variables, self._readonly = credentials, variables, readonly
        self._lives, self._refused = cast(dict[int, Live], {}), cast(dict[int, Row], {})
        self._asks: dict[int, tuple[Row, asyncio.Future[Any]]] = {}
        self._outbox, self._last_id, self._attempt, self._version, self._at = _Outbox(state), 0, 0, 0, url

    async def __aenter__(self) -> Sluice:
        self._task = asyncio.create_task(self._run())
        return self

    async def __aexit__(self, *_: object) -> None:
        for live in list(self._lives.values()):
            live.stop()
        self._task.cancel()
        await asyncio.gather(self._task, return_exceptions=True)
        self._outbox.lock.close()

    def live(self, query: str, args: Sequence[Any] | None = None, links: bool | None = None) -> Live:
        """Follows a query; ``args`` stand for ``$0``, ``$1`` … in it. With ``links``, also what its rows link to."""
        return self._subscribe(Live(self, {"q": query, "args": args and list(args), "links": links}))

    async def write(self, operations: Row | list[Row]) -> int:
        """Writes one transaction. Returns its version once it is on the server's disk; raises where it is refused."""
        text = json.dumps([operations] if isinstance(operations, dict) else operations, allow_nan=False)
        if len(text) > 15_000_000:
            raise SluiceError({"code": "limitExceeded", "message": "the write is too long"})
        done: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        box, seq, ops = self._outbox, self._outbox.head["seq"] + 1, json.loads(text)
        box.save([*box.entries, (seq, ops, done)], seq=seq, **({"sent": seq} if self.state == "open" else {}))
        self._send({"type": "write", "seq": seq, "ops": ops})
        return await done

    async def ask(self, report: str, argument: Any = None) -> Any:
        self._last_id += 1
        answer: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        message = {"type": "ask", "id": self._last_id, "report": report, "argument": argument}
        self._send(self._asks.setdefault(self._last_id, (message, answer))[0])
        return await answer

    async def _run(self) -> None:
        while self.state != "refused":
            wait, at, self._at = 0.0, self._at, self.url
            with suppress(Exception):  # also where there are no credentials now
                async with connect(at, subprotocols=[cast(Any, "sluice.json.1")], max_size=64 << 20) as socket:
                    wait = await self._session(socket) or 0
            self.state = "refused" if self.state == "refused" else "offline"
            for live in filter(lambda live: live.v, self._lives.values()):
                live._become("offline")
            delay, self._attempt = 2.0 ** min(self._attempt - 2, 5) * random.uniform(0.5, 1), self._attempt + 1
            await asyncio.sleep(0 if self.state == "refused" else max(wait, delay))
        error = cast(SluiceError, self.error)
        for id in list(self._asks):
            self._answer(id, error=error)
        for live in list(self._lives.values()):
            self._drop(live, "failed", error)
        for done in (done for _, _, done in self._outbox.entries if done and not done.done()):
            done.set_exception(error)

    async def _session(self, socket: ClientConnection) -> float | None:
        box, proof = self._outbox, self._credentials
        self._outgoing: asyncio.Queue[Row] = asyncio.Queue()
        self._outgoing.put_nowait({
            "type": "open", "credentials": await proof() if callable(proof) else proof,
            "client": box.head.get("client"), "acknowledged": box.head["seq"] - len(box.entries),
            "v": self._version or None, "variables": self._variables, "readonly": self._readonly or None})
        sender = asyncio.create_task(self._sending(socket, self._outgoing))
        try:
            async for text in socket:
                if (wait := self._receive(json.loads(text))) is not None:
                    return wait
        finally:
            sender.cancel()
        return None

    async def _sending(self, socket: ClientConnection, outgoing: asyncio.Queue[Row]) -> None:
        with suppress(Exception):
            while True:
                await socket.send(json.dumps({k: v for k, v in (await outgoing.get()).items() if v is not None}))

    def _send(self, message: Row) -> None:
        if self.state == "open":
            self._outgoing.put_nowait(message)

    def _subscribe(self, live: Live) -> Live:
        self._last_id += 1
        live._id, self._lives[self._last_id] = self._last_id, live
        self._send({"type": "sub", "id": self._last_id, **live._request})
        return live

    def _drop(self, live: Live, state: str, error: SluiceError | None = None) -> None:
        if self._lives.pop(live._id, None) and error is None:
            self._send({"type": "unsub", "id": live._id})
        live._become(state, error)

    def _answer(self, id: int, value: Any = None, error: SluiceError | None = None) -> None:
        _, answer = self._asks.pop(id, (None, None))
        if answer and not answer.done():
            answer.set_exception(error) if error else answer.set_result(value)

    def _receive(self, message: Row) -> float | None:
        match message["type"]:
            case "opened":
                self._begin(message)
            case "change":
                for live in filter(None, map(self._lives.get, message["ids"])):
                    live._apply(message)
            case "rejected":
                self._refused[message["seq"]] = message
            case "ack":
                self._settle(message["seq"], message["v"])
            case "answer":
                self._answer(message["id"], message.get("value"))
            case "context":
                self._outbox.save(self._outbox.entries, client=message["client"])
            case "moved":  # five times and no less safely; then, or where that fails, its own server again
                there, home = urlsplit(message["url"]), urlsplit(self.url)
                if self._attempt < 5 and there.path == home.path and there.scheme >= home.scheme:
                    self._at = message["url"]
                return 0
            case "error" if "ask" in message:
                self._answer(message["ask"], error=SluiceError(message))
            case "error" if message.get("id") in self._lives:
                self._drop(self._lives[message["id"]], "failed", SluiceError(message))
            case "error" if "id" not in message and (action := message.get("action")) != "report":
                self.error = SluiceError(message)
                if action == "reset":
                    self._version, _ = 0, self._outbox.head.pop("client", None)
                if action == "stop" and self.state != "open":  # in an open session the login has ended: anew
                    self.state = "refused"
                return cast(float, message.get("wait", 0)) / 1000
        return None

    def _begin(self, message: Row) -> None:
        box, self.session, upto = self._outbox, message, message["acknowledged"]
        self._refused = {each["seq"]: each for each in message.get("rejected", [])}
        if message["outcome"] == "forgotten":
            upto, unknown = box.head["sent"], {"code": "forgotten", "message": "the server may have taken this write"}
            self._refused = {seq: unknown for seq, _, _ in box.entries}
        self._settle(upto, message["v"])
        box.save(box.entries, client=message["client"], sent=box.head["seq"])
        self.state = "open"
        for seq, ops, _ in box.entries:
            self._send({"type": "write", "seq": seq, "ops": ops})
        for id in list(self._lives):
            self._subscribe(self._lives.pop(id))
        for ask, _ in self._asks.values():
            self._send(ask)

    def _settle(self, upto: int, v: int) -> None:
        box, decided = self._outbox, [each for each in self._outbox.entries if each[0] <= upto]
        box.save(box.entries[len(decided):], seq=max(box.head["seq"], upto))
        self._attempt = self._attempt if box.entries and not decided else 0
        for seq, ops, done in decided:
            error = SluiceError(self._refused.pop(seq)) if seq in self._refused else None
            if error:
                self.on_rejected(error, ops)
            if done and not done.done():
                done.set_exception(error) if error else done.set_result(v)
