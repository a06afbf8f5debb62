#!/usr/bin/env python3
"""A client of Sluice's JSON form, written from section 14 of PROTOCOL.md and nothing else.

    sluice_json.py URL QUERY                 prints the results in their order
    sluice_json.py URL QUERY --watch=N       prints them again after each of N further changes
    sluice_json.py URL --write               sends the lines of standard input as one transaction
"""
import asyncio
import json
import sys

import websockets


class Results:
    """The rows of one subscription."""

    def __init__(self):
        self.rows = {}
        self.total = None

    @staticmethod
    def name(row, prefix=""):
        key = row.get(prefix + "key", row.get("@id") if prefix == "" else None)
        return (row[prefix + "class"], json.dumps(row["@id"] if key is None else key))

    def apply(self, change):
        if change.get("reset"):
            self.rows = {}
        for gone in change.get("gone", []):
            if not gone.get("@linked"):
                self.rows.pop(self.name(gone), None)
        for row in change.get("put", []):
            if not row.get("@linked"):
                self.rows.setdefault(self.name(row, "@"), {}).update(row)
        self.total = change.get("total", self.total)

    def ordered(self):
        return sorted(self.rows.values(), key=lambda row: row["@sort"].encode())


def shown(row):
    """A row as the command line prints it."""
    members = {"@id": row["@id"]}
    members.update({name: value for name, value in row.items() if not name.startswith("@")})
    return json.dumps(members, ensure_ascii=False)


async def messages(socket):
    async for text in socket:
        message = json.loads(text)
        if message["type"] == "error":
            raise SystemExit(f"{message['code']}: {message['message']}")
        yield message


async def watch(socket, query, count):
    await socket.send(json.dumps({"type": "open", "readonly": True}))
    await socket.send(json.dumps({"type": "sub", "id": 1, "q": query}))
    results = Results()
    async for message in messages(socket):
        if message["type"] != "change" or 1 not in message["ids"]:
            continue
        results.apply(message)
        if message["state"] != "complete":
            continue
        for row in results.ordered():
            print(shown(row))
        if results.total is not None:
            print(json.dumps({"@total": results.total}))
        if count == 0:
            return
        print("---", flush=True)
        count -= 1


async def write(socket, lines):
    await socket.send(json.dumps({"type": "open"}))
    await socket.send(json.dumps({"type": "write", "seq": 1, "ops": [json.loads(line) for line in lines]}))
    rejected = None
    async for message in messages(socket):
        if message["type"] == "rejected":
            rejected = message
        if message["type"] == "ack":
            if rejected:
                raise SystemExit(f"{rejected['code']}: {rejected['message']}")
            return


async def main(arguments):
    options = [argument for argument in arguments if argument.startswith("--")]
    url, *query = [argument for argument in arguments if not argument.startswith("--")]
    async with websockets.connect(url, subprotocols=["sluice.json.1"], max_size=None) as socket:
        if "--write" in options:
            await write(socket, [line for line in sys.stdin if line.strip()])
        else:
            count = next((int(option[8:]) for option in options if option.startswith("--watch=")), 0)
            await watch(socket, query[0], count)


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1:]))
