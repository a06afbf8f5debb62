"""The package against a server: SLUICE names the program. Tools/python-test builds the wheel, installs it and runs this."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import tempfile
import unittest
from collections.abc import Callable
from pathlib import Path
from typing import cast

import sluice
from sluice import Live, Sluice, SluiceError

PROGRAM = os.environ.get("SLUICE", ".build/debug/sluice")


class Server:
    """A server with a class Counter of ten objects, C0 … C9."""

    def __init__(self, folder: Path) -> None:
        self.process = subprocess.Popen([PROGRAM, "serve", f"--data={folder}/data", "--listen=127.0.0.1:0", "--dev",
                                         "--log-level=error"], stdout=subprocess.PIPE, text=True)
        assert self.process.stdout
        self.port = int(self.process.stdout.readline().rsplit(":", 1)[1].split("/")[0].split()[0].rstrip("."))
        self.url = f"ws://127.0.0.1:{self.port}/test"
        table = folder / "counters.csv"
        table.write_text("id,value,note\n" + "".join(f"C{index},{index},n\n" for index in range(10)))
        subprocess.run([PROGRAM, "import", self.url, "Counter", table, "--key=id"], check=True, capture_output=True)
        parts = folder / "parts.csv"
        parts.write_text("id,counter\nQ,C0\n")
        subprocess.run([PROGRAM, "import", self.url, "Part", parts, "--key=id", "--link=counter:Counter"], check=True,
                       capture_output=True)

    def stop(self) -> None:
        self.process.kill()
        self.process.communicate()


class Proxy:
    """Passes bytes on, and loses connections when it is told to."""

    def __init__(self, port: int) -> None:
        self.target, self.writers, self.is_down = port, set[asyncio.StreamWriter](), False

    async def __aenter__(self) -> Proxy:
        self.server = await asyncio.start_server(self.accept, "127.0.0.1", 0)
        self.port = self.server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self.cut()
        self.server.close()

    def cut(self) -> None:
        for writer in self.writers:
            writer.transport.abort()

    async def accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self.is_down:
            writer.transport.abort()
            return
        there, back = await asyncio.open_connection("127.0.0.1", self.target)
        self.writers |= {writer, back}
        try:
            await asyncio.gather(self.copy(reader, back), self.copy(there, writer))
        except OSError:
            pass
        finally:
            self.writers -= {writer, back}
            writer.transport.abort()
            back.transport.abort()

    async def copy(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
            await writer.drain()
        raise ConnectionResetError


async def until(live: Live, holds: Callable[[sluice.Change], bool]) -> sluice.Change:
    async for change in live:
        if holds(change):
            return change
    raise AssertionError("the query has ended")


class ClientTest(unittest.IsolatedAsyncioTestCase):
    def setUp(self) -> None:
        self.folder = tempfile.TemporaryDirectory()
        self.server = Server(Path(self.folder.name))

    def tearDown(self) -> None:
        self.server.stop()
        self.folder.cleanup()

    async def test_rows_come_in_order_and_follow_what_is_written(self) -> None:
        async with Sluice(self.server.url) as db:
            live = db.live("Counter WHERE value >= $0 SORT(value DESC) LIMIT(3) TOTAL", [2])
            change = await until(live, lambda change: change.state == "complete")
            self.assertEqual([row["id"] for row in change.rows], ["C9", "C8", "C7"])
            self.assertEqual(change.total, 8)
            version = await db.write({"op": "update", "class": "Counter", "key": "C1", "set": {"value": 100}})
            change = await until(live, lambda change: change.v >= version)
            self.assertEqual([row["id"] for row in change.rows], ["C1", "C9", "C8"])
            self.assertTrue(any(each.old is None and each.row for each in change.changes))
            self.assertIn("Counter", [each["name"] for each in (await db.ask("status"))["classes"]])

    async def test_groups_are_rows_in_their_order(self) -> None:
        async with Sluice(self.server.url) as db:
            live = db.live("Counter WHERE value < $0 GROUP(note) AGGREGATE(@count, @max.value) SORT(@count DESC)", [10])
            change = await until(live, lambda change: change.state == "complete")
            self.assertEqual([(row["note"], row["@count"], row["@max.value"]) for row in change.rows], [("n", 10, 9)])
            version = await db.write([{"op": "update", "class": "Counter", "key": f"C{index}", "set": {"note": "m"}}
                                      for index in range(4)])
            change = await until(live, lambda change: change.v >= version)
            self.assertEqual([(row["note"], row["@count"], row["@max.value"]) for row in change.rows],
                             [("n", 6, 9), ("m", 4, 3)])
            version = await db.write([{"op": "delete", "class": "Counter", "key": f"C{index}"} for index in range(4)])
            change = await until(live, lambda change: change.v >= version)
            self.assertEqual([(each.old and each.old["note"], each.row) for each in change.changes], [("m", None)])
            whole = await until(db.live("Counter TOTAL"), lambda change: change.state == "complete")
            self.assertEqual((whole.total, len(whole.rows)), (6, 6))

    async def test_what_rows_link_to_is_found_by_its_key(self) -> None:
        async with Sluice(self.server.url) as db:
            await db.write([{"op": "insert", "class": "Part", "key": "P", "set": {"counter": "C3"}}])
            live = db.live("Part WHERE id == 'P'", links=True)
            change = await until(live, lambda change: change.state == "complete")
            self.assertEqual([row["id"] for row in change.rows], ["P"])
            self.assertEqual(cast(sluice.Row, live.get("Counter", "C3"))["value"], 3)
            version = await db.write({"op": "update", "class": "Counter", "key": "C3", "add": {"value": 1}})
            await until(live, lambda change: change.v >= version)
            self.assertEqual(cast(sluice.Row, live.get("Counter", "C3"))["value"], 4)
            self.assertIsNone(live.get("Counter", "C4"))

    async def test_errors_say_what_is_wrong(self) -> None:
        async with Sluice(self.server.url) as db:
            with self.assertRaises(SluiceError) as caught:
                await until(db.live("Counter WHERE valu > 3"), lambda change: change.state == "complete")
            self.assertEqual(caught.exception.position, 14)
            with self.assertRaises(SluiceError):
                await db.write({"op": "update", "class": "Counter", "key": "none", "set": {"value": 1}})
            await db.write({"op": "update", "class": "Counter", "key": "C1", "set": {"value": 1}})

    async def test_writes_count_once_whatever_is_lost(self) -> None:
        seed = int(os.environ.get("SLUICE_SEED", random.randrange(1 << 30)))
        draw = random.Random(seed)
        async with Proxy(self.server.port) as proxy, Sluice(
                f"ws://127.0.0.1:{proxy.port}/test", state=Path(self.folder.name) / "state.json") as db:
            live = db.live("Counter SORT(id) LIMIT(1)")
            writes = []
            for index in range(60):
                writes.append(asyncio.create_task(db.write({"op": "update", "class": "Counter", "key": "C0", "add": {"value": 1}})))
                for _ in range(draw.randrange(12)):
                    await asyncio.sleep(0)
                if index % 3 == 0:
                    proxy.cut()
                    await until(live, lambda change: change.state != "complete") if live.state == "complete" else None
                    await until(live, lambda change: change.state == "complete")
            await asyncio.gather(*writes)
            change = await until(live, lambda change: change.state == "complete")
            self.assertEqual(change.rows[0]["value"], 60, f"SLUICE_SEED={seed}")

    async def test_what_was_written_offline_is_sent_by_the_next_process_once(self) -> None:
        path = Path(self.folder.name) / "state.json"
        async with Proxy(self.server.port) as proxy:
            url = f"ws://127.0.0.1:{proxy.port}/test"
            async with Sluice(url, state=path) as db:
                await db.write({"op": "update", "class": "Counter", "key": "C0", "add": {"value": 1}})
                proxy.is_down = True
                proxy.cut()
                tasks = [asyncio.create_task(db.write({"op": "update", "class": "Counter", "key": "C0", "add": {"value": 10}})) for _ in range(3)]
                await asyncio.sleep(0)
                with self.assertRaises(BlockingIOError):
                    Sluice(url, state=path)
            for task in tasks:
                task.cancel()
            proxy.is_down = False
            async with Sluice(url, state=path) as db:
                await db.write({"op": "update", "class": "Counter", "key": "C0", "add": {"value": 100}})
                change = await until(db.live("Counter WHERE id == 'C0'"), lambda change: change.state == "complete")
                self.assertEqual(change.rows[0]["value"], 131)

    async def test_what_was_cut_while_it_loaded_is_asked_for_anew(self) -> None:
        db = Sluice(self.server.url)
        live = db.live("Counter")

        def change(state: str, *keys: str, **more: object) -> None:
            db._receive({"type": "change", "ids": [1], "v": 3, "state": state, **more,
                         "put": [{"@class": "Counter", "@key": key, "@sort": key, "id": key} for key in keys]})

        change("complete", "A", "B", reset=True)
        self.assertEqual(live._request["since"], 3)
        change("loading", "A", reset=True)
        self.assertEqual((live._request["since"], live.state), (None, "loading"))
        self.assertEqual([row["id"] for row in live.rows], ["A", "B"])
        change("complete", "A", reset=True)
        self.assertEqual([row["id"] for row in live.rows], ["A"])
        change("loading", "C")
        self.assertIsNone(live._request["since"])

    async def test_a_server_is_followed_to_where_it_is_as_safe(self) -> None:
        for url, at in [("wss://other/nyc", "wss://other/nyc"), ("ws://other/nyc", "wss://home/nyc"),
                        ("wss://other/boston", "wss://home/nyc")]:
            db = Sluice("wss://home/nyc")
            self.assertEqual(db._receive({"type": "moved", "url": url}), 0)
            self.assertEqual((db._at, db.url), (at, "wss://home/nyc"))

    async def test_what_is_no_json_is_refused_before_it_is_kept(self) -> None:
        async with Sluice(self.server.url) as db:
            with self.assertRaises(ValueError):
                await db.write({"op": "update", "class": "Counter", "key": "C1", "set": {"value": float("nan")}})
            with self.assertRaises(SluiceError):
                await db.write({"op": "update", "class": "Counter", "key": "C1", "set": {"note": "\ud83d"}})
            await db.write({"op": "update", "class": "Counter", "key": "C1", "set": {"value": 1}})
            with self.assertRaises(SluiceError):
                await db.ask("weather")

    def test_the_package_has_at_most_300_lines(self) -> None:
        self.assertLessEqual(len(Path(sluice.__file__).read_text().splitlines()), 300)


if __name__ == "__main__":
    unittest.main()
