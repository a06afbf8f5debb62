#!/usr/bin/env python3
"""A small Sluice client, written from PROTOCOL.md alone.

    sluice_client.py ws://host:port/database "Car WHERE price < 9000" [--watch]

opens the database anonymously, subscribes to the query and prints its objects as JSON lines once the subscription is
complete; with --watch it goes on with a line for every change. Needs the package `websockets` (PyPI).

    sluice_client.py --self-check FILE

decodes the frames in FILE (a line each: hexadecimal frame, tab, expected rendering) and needs nothing but Python.
"""

import argparse
import asyncio
import base64
import datetime
import hashlib
import json
import struct
import sys

FRAME_LIMIT = 64 << 20
MASK64 = (1 << 64) - 1


class WireError(Exception):
    pass


# Primitives


def to_signed(value):
    return value - (1 << 64) if value >> 63 else value


class Writer:
    def __init__(self):
        self.data = bytearray()

    def byte(self, value):
        self.data.append(value)

    def varint(self, value):
        while value >= 0x80:
            self.data.append(value & 0x7F | 0x80)
            value >>= 7
        self.data.append(value)

    def bytes(self, value):
        self.varint(len(value))
        self.data += value

    def string(self, value):
        self.bytes(value.encode())


class Reader:
    def __init__(self, data):
        self.data = data
        self.offset = 0

    def at_end(self):
        return self.offset == len(self.data)

    def raw(self, count):
        if count > len(self.data) - self.offset:
            raise WireError(f"{count} bytes announced at byte {self.offset}, fewer are here")
        self.offset += count
        return bytes(self.data[self.offset - count : self.offset])

    def byte(self):
        return self.raw(1)[0]

    def bool(self):
        return self.byte() == 1

    def varint(self):
        value = shift = 0
        while True:
            byte = self.byte()
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def zigzag(self):
        value = self.varint()
        return (value >> 1) ^ -(value & 1)

    def bytes(self):
        return self.raw(self.varint())

    def string(self):
        return self.bytes().decode()

    def optional(self, read):
        return read() if self.bool() else None

    def array(self, read):
        return [read() for _ in range(self.varint())]


# Envelopes


def lz4_decompress(data, size):
    """Expands one LZ4 block (lz4_Block_format.md)."""
    out = bytearray()
    position = 0

    def extended(length):
        nonlocal position
        while length >= 15:
            byte = data[position]
            position += 1
            length += byte
            if byte < 255:
                break
        return length

    while True:
        token = data[position]
        position += 1
        literals = extended(token >> 4)
        out += data[position : position + literals]
        position += literals
        if position >= len(data):
            break
        distance = data[position] | data[position + 1] << 8
        position += 2
        start = len(out) - distance
        if distance == 0 or start < 0:
            raise WireError("an LZ4 match before the start")
        length = extended(token & 15) + 4
        for index in range(start, start + length):
            out.append(out[index])
        if len(out) > size:
            raise WireError("an LZ4 block that expands to more than it announces")
    if len(out) != size:
        raise WireError(f"an LZ4 block of {len(out)} bytes instead of {size}")
    return bytes(out)


def open_envelope(data):
    reader = Reader(data)
    flags = reader.byte()
    if flags == 0:
        return data[1:]
    if flags != 1:
        raise WireError(f"the flags {flags}")
    size = reader.varint()
    if size > FRAME_LIMIT:
        raise WireError(f"a frame of {size} bytes")
    return lz4_decompress(data[reader.offset :], size)


# Values: (kind, content) pairs, so that nothing is lost


def read_key(reader):
    kind = reader.byte()
    if kind == 0:
        return ("objectId", reader.raw(16))
    if kind == 1:
        return ("int", reader.zigzag())
    if kind == 2:
        return ("string", reader.string())
    if kind == 3:
        return ("uuid", reader.raw(16))
    raise WireError(f"{kind} is no kind of key")


NULL = ("null", None)


def read_value(reader):
    tag = reader.byte()
    if tag == 0:
        return NULL
    if tag in (1, 2):
        return ("bool", tag == 2)
    if tag == 3:
        return ("int", reader.zigzag())
    if tag == 4:
        return ("float", struct.unpack("<f", reader.raw(4))[0])
    if tag == 5:
        return ("double", struct.unpack("<d", reader.raw(8))[0])
    if tag == 6:
        return ("string", reader.string())
    if tag == 7:
        return ("data", reader.bytes())
    if tag == 8:
        return ("date", reader.zigzag())
    if tag == 9:
        return ("uuid", reader.raw(16))
    if tag == 10:
        return ("objectId", reader.raw(16))
    if tag == 11:
        return ("decimal", reader.string())
    if tag == 12:
        return ("link", read_key(reader))
    if tag in (13, 14):
        return ("list" if tag == 13 else "set", reader.array(lambda: read_value(reader)))
    if tag == 15:
        return ("map", reader.array(lambda: (reader.string(), read_value(reader))))
    raise WireError(f"{tag} is no tag of a value")


# Columns


def unpack_bits(data, count, width):
    bits = int.from_bytes(data, "little")
    mask = (1 << width) - 1
    return [bits >> index * width & mask for index in range(count)]


def read_packed(reader, count):
    width = reader.byte()
    if width > 64:
        raise WireError(f"integers of {width} bits")
    return unpack_bits(reader.raw((count * width + 7) // 8), count, width)


def read_integers(reader, count):
    if count == 0:
        return []
    form = reader.byte()
    if form == 0:
        return [reader.zigzag()] * count
    if form == 1:
        return [reader.zigzag() for _ in range(count)]
    if form == 2:
        values, last = [], 0
        for _ in range(count):
            last += reader.zigzag()
            values.append(to_signed(last & MASK64))
        return values
    if form == 3:
        minimum = reader.zigzag()
        return [to_signed((minimum + value) & MASK64) for value in read_packed(reader, count)]
    if form == 4:
        first = reader.zigzag()
        least = reader.zigzag()
        values = [first]
        for value in read_packed(reader, count - 1):
            values.append(to_signed((values[-1] + least + value) & MASK64))
        return values
    if form == 5:
        return read_coded(reader, count)
    if form == 6:
        values = [reader.zigzag()]
        for step in read_coded(reader, count - 1):
            values.append(to_signed((values[-1] + step) & MASK64))
        return values
    if form == 7:
        factor = reader.varint()
        offset = reader.zigzag()
        if reader.data[reader.offset] == 7:
            raise WireError("multiples of multiples")
        return [to_signed((value * factor + offset) & MASK64) for value in read_integers(reader, count)]
    raise WireError(f"{form} is no form of integers")


def read_coded(reader, count):
    centre = reader.zigzag()
    order = reader.byte()
    data = reader.data[reader.offset :]
    values, position = [], 0
    for _ in range(count):
        # A code has at most 63 bits.
        word = int.from_bytes(data[position // 8 : position // 8 + 9], "little") >> position % 8
        zeros = (word & -word).bit_length() - 1
        top = zeros + order
        position += top + zeros + 1
        if zeros < 0 or top > 31 or position > 8 * len(data):
            raise WireError(f"a code of {zeros} zeros and the order {order}")
        number = (1 << top | word >> zeros + 1 & (1 << top) - 1) - (1 << order)
        values.append(to_signed((centre + (number >> 1 ^ -(number & 1))) & MASK64))
    reader.raw((position + 7) // 8)
    return values


def read_indexed(reader, count, read_distinct):
    distinct = read_distinct(reader.varint())
    return [distinct[index] for index in read_integers(reader, count)]


def read_byte_strings(reader, count):
    def plain(count):
        return [reader.raw(length) for length in read_integers(reader, count)]

    def sharing(count):
        shared = read_integers(reader, count)
        lengths = read_integers(reader, count)
        entries = [b""]
        for start, length in zip(shared, lengths):
            if not 0 <= start <= len(entries[-1]):
                raise WireError(f"{start} bytes shared with an entry of {len(entries[-1])}")
            entries.append(entries[-1][:start] + reader.raw(length))
        return entries[1:]

    form = reader.byte()
    if form == 0:
        return plain(count)
    if form == 1:
        return read_indexed(reader, count, plain)
    if form == 2:
        return read_indexed(reader, count, sharing)
    if form == 3:
        prefix = reader.raw(reader.varint())
        width = reader.byte()
        numbers = read_integers(reader, count)
        if any(not 0 <= number < 10 ** (width or 18) for number in numbers):
            raise WireError(f"a number beyond {width} digits")
        return [prefix + f"{number:0{width}d}".encode() for number in numbers]
    raise WireError(f"{form} is no form of byte strings")


def read_identifiers(reader, count):
    if count == 0:
        return []
    form = reader.byte()
    if form == 0:
        return [reader.raw(16) for _ in range(count)]
    if form == 1:
        return read_indexed(reader, count, lambda distinct: [reader.raw(16) for _ in range(distinct)])
    if form == 2:
        upper = read_indexed(reader, count, lambda distinct: [reader.raw(8) for _ in range(distinct)])
        lower = read_integers(reader, count)
        return [high + (low & MASK64).to_bytes(8, "big") for high, low in zip(upper, lower)]
    raise WireError(f"{form} is no form of identifiers")


def read_floating(reader, count, is_single):
    form = reader.byte()
    if form == 0:
        size, code = (4, "<f") if is_single else (8, "<d")
        return [struct.unpack(code, reader.raw(size))[0] for _ in range(count)]
    if form == 1:
        power = 10 ** reader.byte()
        return [value / power for value in read_integers(reader, count)]
    raise WireError(f"{form} is no form of floating-point numbers")


def read_column(reader, count, keys=None):
    header = reader.byte()
    kind = header & 0x7F
    if kind == 0:
        return [NULL] * count
    if kind == 30:
        return list(keys)
    if kind == 31:
        return [read_value(reader) for _ in range(count)]
    nulls = [0] * count
    if header & 0x80:
        nulls = unpack_bits(reader.raw((count + 7) // 8), count, 1)
    present = read_present(reader, kind, nulls.count(0))
    values = iter(present)
    return [NULL if is_null else next(values) for is_null in nulls]


def read_present(reader, kind, count):
    if kind == 1:
        return [("bool", value == 1) for value in read_integers(reader, count)]
    if kind == 2:
        return [("int", value) for value in read_integers(reader, count)]
    if kind == 3:
        return [("float", value) for value in read_floating(reader, count, True)]
    if kind == 4:
        return [("double", value) for value in read_floating(reader, count, False)]
    if kind == 5:
        return [("string", value.decode()) for value in read_byte_strings(reader, count)]
    if kind == 6:
        return [("data", value) for value in read_byte_strings(reader, count)]
    if kind == 7:
        return [("date", value) for value in read_integers(reader, count)]
    if kind == 8:
        return [("uuid", value) for value in read_identifiers(reader, count)]
    if kind == 9:
        return [("objectId", value) for value in read_identifiers(reader, count)]
    if kind == 10:
        return [("decimal", value.decode()) for value in read_byte_strings(reader, count)]
    if kind == 11:
        return [("link", ("objectId", value)) for value in read_identifiers(reader, count)]
    if kind == 12:
        return [("link", ("int", value)) for value in read_integers(reader, count)]
    if kind == 13:
        return [("link", ("string", value.decode())) for value in read_byte_strings(reader, count)]
    if kind == 14:
        return [("link", ("uuid", value)) for value in read_identifiers(reader, count)]
    if kind in (15, 16, 17):
        counts = read_integers(reader, count)
        names = [name.decode() for name in read_byte_strings(reader, sum(counts))] if kind == 17 else None
        elements = read_column(reader, sum(counts))
        collections, start = [], 0
        for size in counts:
            part = elements[start : start + size]
            if kind == 17:
                part = list(zip(names[start : start + size], part))
            collections.append(({15: "list", 16: "set", 17: "map"}[kind], part))
            start += size
        return collections
    raise WireError(f"{kind} is no kind of column")


# Blocks


def read_properties(reader):
    words = reader.array(reader.varint)
    return [64 * index + bit for index, word in enumerate(words) for bit in range(64) if word >> bit & 1]


def skip_element_id(reader):
    reader.varint()
    reader.zigzag()


def skip_place(reader):
    reader.varint()
    for _ in range(reader.varint()):
        reader.zigzag()
        if reader.varint():
            reader.zigzag()


def skip_run_of_elements(reader):
    skip_element_id(reader)
    skip_place(reader)
    if reader.varint() > 1:
        reader.zigzag()


def skip_edit_of_element(reader):
    skip_element_id(reader)
    kind = reader.byte()
    if kind > 4:
        raise WireError(f"{kind} is nothing that is done to an element")
    if kind in (1, 2, 4):
        skip_place(reader)
    if kind in (1, 3, 4):
        read_value(reader)


def read_note(reader):
    """The row of a note on a list if it has edits, else None. What the elements are matters to who edits them."""
    row = reader.varint()
    reader.varint()
    has_edits = reader.bool()
    reader.raw(8 * reader.varint())
    reader.array(lambda: skip_edit_of_element(reader) if has_edits else skip_run_of_elements(reader))
    return row if has_edits else None


def read_group(reader):
    class_index = reader.varint()
    flags = reader.byte()
    role = ("root", "linked", "member")[flags & 0x0F]
    properties = read_properties(reader)
    count = reader.varint()
    if count == 0:
        return []
    keys = read_column(reader, count)
    versions = [value & MASK64 for value in read_integers(reader, count)]
    columns = [read_column(reader, count, keys) for _ in properties]
    edited = set(reader.array(lambda: read_note(reader))) if flags & 0x10 else set()
    return [
        {
            "class": class_index,
            "key": keys[row],
            "version": versions[row],
            "role": role,
            "values": {position: column[row] for position, column in zip(properties, columns)},
            "hasEdits": row in edited,
        }
        for row in range(count)
    ]


def read_block(reader):
    return [row for group in reader.array(lambda: read_group(reader)) for row in group]


REASONS = ("unknown", "deleted", "filter", "window", "permission", "expired")


def read_departures(reader):
    class_index = reader.varint()
    role = ("root", "linked", "member")[reader.byte()]
    reason = reader.byte()
    count = reader.varint()
    name = REASONS[reason] if reason < len(REASONS) else "unknown"
    return [
        {"class": class_index, "key": key, "role": role, "reason": name} for key in read_column(reader, count)
    ]


def read_author(reader):
    return {
        "version": reader.varint(),
        "user": reader.optional(reader.string),
        "client": reader.varint(),
        "operations": reader.varint(),
        "acceptedAt": reader.zigzag(),
        "worker": reader.optional(reader.string),
    }


def read_view_block(reader):
    inner = Reader(open_envelope(reader.bytes()))
    block = {
        "authors": inner.array(lambda: read_author(inner)),
        "departures": [left for run in inner.array(lambda: read_departures(inner)) for left in run],
        "rows": read_block(inner),
    }
    if not inner.at_end():
        raise WireError("bytes after a block")
    return block


# Schemas

SCALARS = ("bool", "int", "float", "double", "string", "data", "date", "uuid", "objectId", "decimal")


def read_property(reader):
    name = reader.string()
    element = reader.byte()
    target = reader.string() if element == 32 else None
    container = ("single", "list", "set", "map")[reader.byte()]
    flags = reader.byte()
    default = read_value(reader) if flags & 4 else None
    former = reader.array(reader.string) if flags & 8 else []
    kind = SCALARS[element] if target is None else "link"
    return {"name": name, "type": kind, "target": target, "container": container, "flags": flags, "default": default, "was": former}


def read_class(reader):
    return {
        "name": reader.string(),
        "primaryKey": reader.varint() - 1,
        "properties": reader.array(lambda: read_property(reader)),
    }


def read_schema(reader):
    return reader.array(lambda: read_class(reader))


def object_id(class_name, key):
    """The global id of an object, 16 bytes."""
    kind, content = key
    if kind == "objectId":
        return content
    tail = {"int": lambda: content.to_bytes(8, "big", signed=True), "string": lambda: content.encode()}
    data = class_name.encode() + b"\0" + kind[0].encode() + tail.get(kind, lambda: content)()
    return hashlib.sha256(data).digest()[:16]


# Messages


def read_identity(reader):
    return {
        "database": reader.raw(16),
        "epoch": reader.varint(),
        "client": reader.varint(),
        "nonce": reader.raw(16),
    }


def read_rejection(reader):
    def read_reason():
        target = reader.optional(lambda: (reader.varint(), read_key(reader)))
        return (target, reader.string(), reader.string())

    return {"sequence": reader.varint(), "reasons": reader.array(read_reason)}


def read_message(reader):
    code = reader.byte()
    message = {"session": reader.varint()}
    if code == 0x81:
        message |= {"type": "hello", "version": reader.varint(), "features": reader.varint()}
        message |= {"time": reader.zigzag()}
        message |= {"limits": dict(reader.array(lambda: (reader.varint(), reader.varint())))}
        message |= {"agent": reader.string()}
    elif code == 0x82:
        message |= {"type": "opened", "identity": read_identity(reader)}
        outcome = reader.byte()
        message |= {"outcome": outcome & 0x7F, "version": reader.varint(), "acknowledged": reader.varint()}
        message |= {"rejections": reader.array(lambda: read_rejection(reader))}
        message |= {"user": reader.optional(reader.string)}
        message |= {"schema": None if outcome & 0x80 else read_schema(reader)}
    elif code == 0x83:
        message |= {"type": "schema", "schema": read_schema(reader)}
    elif code == 0x84:
        message |= {"type": "page", "subscriptions": reader.array(reader.varint)}
        message |= {"version": reader.varint(), "progress": reader.varint(), "kind": reader.byte()}
        message |= {"content": read_view_block(reader)}
    elif code == 0x85:
        message |= {"type": "commit", "version": reader.varint(), "acceptedAt": reader.zigzag()}
        message |= {"acknowledged": reader.optional(reader.varint)}
        flags = reader.byte()
        message |= {"continued": flags & 1 != 0}
        message |= {"blocks": reader.array(lambda: (reader.array(reader.varint), read_view_block(reader)))}
        read_figures = lambda: (reader.array(reader.varint), reader.array(lambda: read_value(reader)))
        message |= {"figures": reader.array(read_figures) if flags & 2 else []}
    elif code == 0x86:
        message |= {"type": "complete", "subscription": reader.varint(), "version": reader.varint()}
        message |= {"acceptedAt": reader.zigzag()}
        kind = reader.byte()
        message |= {"kind": kind & 0x7F, "digest": reader.optional(lambda: reader.raw(16))}
        message |= {"figures": reader.array(lambda: read_value(reader)) if kind & 0x80 else None}
    elif code == 0x87:
        message |= {"type": "subscriptionError", "subscription": reader.varint(), "code": reader.string()}
        message |= {"message": reader.string(), "position": reader.optional(reader.varint)}
    elif code == 0x88:
        message |= {"type": "rejected", "rejection": read_rejection(reader)}
    elif code == 0x89:
        message |= {"type": "error", "code": reader.string(), "message": reader.string()}
        message |= {"action": reader.byte(), "retryAfter": reader.varint()}
    elif code == 0x8A:
        message |= {"type": "report", "request": reader.varint(), "json": reader.bytes()}
    elif code == 0x8B:
        message |= {"type": "listMembers", "subscription": reader.varint()}
    elif code == 0x8C:
        message |= {"type": "reportError", "request": reader.varint(), "code": reader.string()}
        message |= {"message": reader.string(), "position": reader.optional(reader.varint)}
    elif code == 0x8D:
        message |= {"type": "withdrawn", "request": reader.varint(), "rows": read_block(reader)}
    elif code == 0x8E:
        message |= {"type": "moved", "url": reader.string()}
    elif code == 0x8F:
        message |= {"type": "message", "topic": reader.string(), "user": reader.optional(reader.string)}
        message |= {"sentAt": reader.zigzag(), "payload": reader.bytes()}
    elif code == 0xCD:
        message |= {"type": "digest", "subscription": reader.varint(), "version": reader.varint()}
        message |= {"digest": reader.raw(16)}
    elif code == 0xCE:
        message |= {"type": "login", "expiresAt": reader.optional(reader.zigzag)}
        message |= {"credential": reader.optional(lambda: (reader.byte(), reader.bytes()))}
    elif code == 0xCF:
        message |= {"type": "context", "context": reader.raw(16), "fields": reader.raw(16)}
        message |= {"hidden": reader.array(lambda: (reader.varint(), read_properties(reader)))}
    elif code & 0x40:
        reader.offset = len(reader.data)
        return None
    else:
        raise WireError(f"no message has the type {code}")
    if not reader.at_end():
        raise WireError(f"bytes after the message {message['type']}")
    return message


def read_frame(data):
    reader = Reader(open_envelope(data))
    messages = []
    while not reader.at_end():
        message = read_message(Reader(reader.bytes()))
        if message is not None:
            messages.append(message)
    return messages


def frame(code, session, fields):
    message = Writer()
    message.byte(code)
    message.varint(session)
    message.data += fields.data
    whole = Writer()
    whole.byte(0)
    whole.bytes(message.data)
    return bytes(whole.data)


def hello_frame(agent):
    fields = Writer()
    fields.varint(1)
    fields.varint(1)
    # Bit 1: queries may ask for their total.
    fields.varint(2)
    fields.string(agent)
    return frame(0x01, 0, fields)


def write_variable(fields, value):
    """A string, an int, a bool, or a list of such."""
    if isinstance(value, list):
        fields.byte(13)
        fields.varint(len(value))
        for element in value:
            write_variable(fields, element)
    elif isinstance(value, bool):
        fields.byte(2 if value else 1)
    elif isinstance(value, int):
        fields.byte(3)
        fields.varint(value << 1 if value >= 0 else (-value << 1) - 1)
    else:
        fields.byte(6)
        fields.string(value)


def write_variables(fields, variables):
    fields.varint(len(variables))
    for name in sorted(variables, key=str.encode):
        fields.string(name)
        write_variable(fields, variables[name])


def variables_frame(session, variables):
    fields = Writer()
    write_variables(fields, variables)
    return frame(0x0F, session, fields)


def open_frame(session, database, variables={}):
    fields = Writer()
    fields.string(database)
    fields.varint(0)  # no credentials: anonymous
    fields.byte(0)  # no identity
    fields.varint(0)  # no version
    fields.varint(0)  # nothing acknowledged
    fields.varint(1)  # read-only
    write_variables(fields, variables)
    fields.varint(0)  # no classes of our own
    return frame(0x02, session, fields)


def subscribe_frame(session, subscription, query):
    fields = Writer()
    fields.varint(subscription)
    fields.string(query)
    fields.byte(0)  # nothing to resume
    return frame(0x04, session, fields)


def unsubscribe_frame(session, subscription):
    fields = Writer()
    fields.varint(subscription)
    return frame(0x05, session, fields)


def credit_frame(session, pages):
    fields = Writer()
    fields.varint(pages)
    return frame(0x07, session, fields)


# JSON


def json_key(key):
    kind, content = key
    if kind == "uuid":
        text = content.hex()
        return "-".join((text[:8], text[8:12], text[12:16], text[16:20], text[20:]))
    return content.hex() if kind == "objectId" else content


def json_value(value):
    kind, content = value
    if kind in ("uuid", "objectId"):
        return json_key(value)
    if kind == "link":
        return json_key(content)
    if kind == "date":
        point = datetime.datetime(1970, 1, 1) + datetime.timedelta(microseconds=content)
        return point.isoformat() + "Z"
    if kind == "data":
        return base64.b64encode(content).decode()
    if kind in ("list", "set"):
        return [json_value(element) for element in content]
    if kind == "map":
        return {name: json_value(element) for name, element in content}
    return content


class Subscription:
    """The objects of one subscription, as pages and commits leave them."""

    def __init__(self):
        self.schema = []
        self.rows = {}
        # The role of each member: root or linked. An object that is both is a root.
        self.roles = {}

    def apply(self, content):
        changed, left = [], []
        for departure in content["departures"]:
            name = (departure["class"], departure["key"])
            role = self.roles.get(name)
            if role is None or departure["role"] not in (role, "member"):
                continue
            del self.roles[name]
            if role == "root":
                left.append({"@id": self.id(name).hex(), "reason": departure["reason"]})
        for row in content["rows"]:
            name = (row["class"], row["key"])
            known = self.rows.setdefault(name, {"version": 0, "values": {}})
            if row["role"] != "member":
                self.roles[name] = row["role"]
            if row["version"] >= known["version"]:
                known["version"] = row["version"]
                known["values"].update(row["values"])
            if self.roles.get(name) == "root":
                changed.append(name)
        for name in [name for name in self.rows if name not in self.roles]:
            del self.rows[name]
        return changed, left

    def roots(self):
        return [name for name, role in self.roles.items() if role == "root"]

    def id(self, name):
        return object_id(self.schema[name[0]]["name"], name[1])

    def json(self, name):
        properties = self.schema[name[0]]["properties"]
        values = self.rows[name]["values"]
        row = {"@id": self.id(name).hex()}
        return row | {properties[position]["name"]: json_value(values[position]) for position in sorted(values)}


async def run(url, query, watch, variables={}, then=None, authorization=None, ca_file=None):
    """Prints the results, and with `watch` what changes. `then` are variables that are chosen after the results."""
    import ssl

    import websockets

    extra = {}
    if authorization:
        extra["additional_headers"] = {"Authorization": authorization}
    if ca_file:
        extra["ssl"] = ssl.create_default_context(cafile=ca_file)

    database = url.rstrip("/").rsplit("/", 1)[1]
    state = Subscription()
    complete = False
    number = 1
    async with websockets.connect(url, subprotocols=["sluice.1"], max_size=FRAME_LIMIT, compression=None, **extra) as socket:
        await socket.send(hello_frame("sluice_client.py"))
        await socket.send(open_frame(1, database, variables))
        async for data in socket:
            for message in read_frame(data):
                kind = message["type"]
                if kind == "opened":
                    # Without one, it is the empty schema that was declared.
                    state.schema = message["schema"] or []
                    await socket.send(subscribe_frame(1, number, query))
                elif kind == "schema":
                    state.schema = message["schema"]
                elif kind == "page":
                    if number in message["subscriptions"]:
                        state.apply(message["content"])
                    await socket.send(credit_frame(1, 1))
                elif kind == "complete" and message["subscription"] == number:
                    complete = True
                    for name in state.roots():
                        print(json.dumps(state.json(name), ensure_ascii=False), flush=True)
                    if message["figures"]:
                        print(json.dumps({"@total": message["figures"][0][1]}), flush=True)
                    if not watch:
                        return 0
                    if then is not None:
                        await socket.send(variables_frame(1, then))
                        then = None
                elif kind == "commit":
                    blocks = [content for subscriptions, content in message["blocks"] if number in subscriptions]
                    if any(row["hasEdits"] for content in blocks for row in content["rows"]):
                        # Edits lead on from a list with the identity of its elements, which is not kept here.
                        await socket.send(unsubscribe_frame(1, number))
                        number += 1
                        complete = False
                        state.rows, state.roles = {}, {}
                        await socket.send(subscribe_frame(1, number, query))
                        continue
                    totals = [values[0][1] for subscriptions, values in message["figures"] if number in subscriptions]
                    for content in blocks:
                        changed, left = state.apply(content)
                        if complete and (changed or left or totals):
                            line = {"version": message["version"], "removed": left}
                            line["changed"] = [state.json(name) for name in changed]
                            line["held"] = len(state.rows)
                            if totals:
                                line["total"] = totals[0]
                            print(json.dumps(line, ensure_ascii=False), flush=True)
                elif kind == "subscriptionError" or kind == "error" and message["action"] != 0:
                    print(f"{message['code']}: {message['message']}", file=sys.stderr)
                    return 1
    return 1


# Self-check


def render(value):
    kind, content = value
    if kind in ("list", "set"):
        return kind + "(" + ",".join(render(element) for element in content) + ")"
    if kind == "map":
        return "map(" + ",".join(name.encode().hex() + "=" + render(element) for name, element in content) + ")"
    if kind == "link":
        return "link:" + render(content)
    if kind == "float":
        return "float:" + ("nan" if content != content else struct.pack(">f", content).hex())
    if kind == "double":
        return "double:" + ("nan" if content != content else struct.pack(">d", content).hex())
    if kind == "string":
        content = content.encode()
    if isinstance(content, bytes):
        content = content.hex()
    return kind if kind == "null" else f"{kind}:{str(content).lower() if kind == 'bool' else content}"


def render_content(content):
    authors = ",".join(f"{a['version']}/{a['client']}/{a['operations']}/{a['acceptedAt']}" for a in content["authors"])
    rows = ";".join(
        f"{row['class']} {render(row['key'])} {row['version']} {row['role']} "
        + " ".join(f"{position}={render(row['values'][position])}" for position in sorted(row["values"]))
        for row in content["rows"]
    )
    left = ";".join(
        f"{gone['class']} {render(gone['key'])} {gone['role']} {gone['reason']}" for gone in content["departures"]
    )
    return f"authors[{authors}] rows[{rows}] left[{left}]"


def render_figures(values):
    return "figures[" + ",".join(render(value) for value in values) + "]"


def render_message(message):
    kind = message["type"]
    text = f"{kind} {message['session']}"
    if kind == "page":
        return f"{text} {message['subscriptions']} {message['version']} {message['progress']} {message['kind']} " + render_content(
            message["content"]
        )
    if kind == "commit":
        blocks = " ".join(f"{subscriptions} {render_content(content)}" for subscriptions, content in message["blocks"])
        acknowledged = "none" if message["acknowledged"] is None else message["acknowledged"]
        figures = "".join(f" {subscriptions} {render_figures(values)}" for subscriptions, values in message["figures"])
        return f"{text} {message['version']} {message['acceptedAt']} {acknowledged} {blocks}{figures}"
    if kind == "complete":
        figures = "" if message["figures"] is None else " " + render_figures(message["figures"])
        return f"{text} {message['subscription']} {message['version']} {message['acceptedAt']} {message['kind']}{figures}"
    if kind == "digest":
        return f"{text} {message['subscription']} {message['version']} {message['digest'].hex()}"
    if kind == "withdrawn":
        keys = ";".join(f"{row['class']} {render(row['key'])}" for row in message["rows"])
        return f"{text} {message['request']} {keys}"
    if kind == "moved":
        return f"{text} {message['url'].encode().hex()}"
    if kind == "message":
        user = "none" if message["user"] is None else message["user"].encode().hex()
        return f"{text} {message['topic'].encode().hex()} {user} {message['sentAt']} {bytes(message['payload']).hex()}"
    if kind == "listMembers":
        return f"{text} {message['subscription']}"
    if kind in ("opened", "schema"):
        if message["schema"] is None:
            return f"{text} as declared"
        classes = ",".join(
            f"{c['name']}/{c['primaryKey']}(" + ",".join(f"{p['name']}:{p['type']}" for p in c["properties"]) + ")"
            for c in message["schema"]
        )
        return f"{text} {classes}"
    return text


def self_check(path):
    count = 0
    for line in open(path, encoding="utf-8"):
        data, expected = line.rstrip("\n").split("\t")
        rendered = " | ".join(render_message(message) for message in read_frame(bytes.fromhex(data)))
        if rendered != expected:
            print(f"frame {count}\nexpected {expected}\ndecoded  {rendered}")
            return 1
        count += 1
    print(f"{count} frames decoded")
    print(hello_frame("stranger").hex())
    print(open_frame(1, "cars").hex())
    chosen = {"region": "north", "fruits": ["apple", "fig"], "from": -3, "isNew": True}
    print(open_frame(1, "cars", chosen).hex())
    print(variables_frame(1, chosen).hex())
    print(subscribe_frame(1, 2, "Car WHERE price < 9000").hex())
    print(credit_frame(1, 3).hex())
    print(object_id("Car", ("string", "JT2")).hex(), object_id("Car", ("int", -7)).hex())
    return 0


def main():
    parser = argparse.ArgumentParser(description="Prints the objects of a Sluice query as JSON lines.")
    parser.add_argument("url", nargs="?", help="ws://host:port/database")
    parser.add_argument("query", nargs="?", help="for example: Car WHERE price < 9000")
    parser.add_argument("--watch", action="store_true", help="go on after the first complete result")
    parser.add_argument("--variables", type=json.loads, default={}, metavar="JSON", help="what $client has in rules")
    parser.add_argument("--then", type=json.loads, metavar="JSON", help="with --watch: other variables, after the results")
    parser.add_argument("--authorization-file", metavar="FILE", help="what the request's header Authorization says")
    parser.add_argument("--ca-file", metavar="FILE", help="the authority to trust, for wss")
    parser.add_argument("--self-check", metavar="FILE", help="decode the frames in FILE instead")
    options = parser.parse_args()
    if options.self_check:
        sys.exit(self_check(options.self_check))
    if not options.query:
        parser.error("a URL and a query are needed")
    authorization = None
    if options.authorization_file:
        authorization = open(options.authorization_file, encoding="ascii").read().strip()
    sys.exit(
        asyncio.run(
            run(
                options.url, options.query, options.watch, options.variables, options.then, authorization,
                options.ca_file,
            )
        )
    )


if __name__ == "__main__":
    main()
