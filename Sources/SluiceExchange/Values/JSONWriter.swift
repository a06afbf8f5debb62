internal import FoundationEssentials
package import SluiceJSON
package import SluiceModel

/// Writes compact JSON into bytes.
///
/// An integer is written exactly, and a floating-point number with the fewest digits that read back the same. NaN and
/// the infinities are the strings "NaN", "Infinity" and "-Infinity". Data is base64, dates are ISO 8601, decimals are
/// strings. Slashes are not escaped; characters that could steer a terminal are.
package struct JSONWriter {
    package private(set) var bytes: [UInt8] = []
    /// Whether integers beyond ±(2^53 − 1) are strings, for readers whose numbers are doubles.
    private let quotesLargeIntegers: Bool

    package init(quotesLargeIntegers: Bool = false) { self.quotesLargeIntegers = quotesLargeIntegers }

    /// The line of JSON, with its line feed, that says how many objects match, whatever the limit.
    package static func line(ofTotal total: some BinaryInteger) -> [UInt8] {
        var writer = JSONWriter()
        writer.raw("{\"@total\":")
        writer.integer(total)
        writer.raw("}")
        writer.endLine()
        return writer.bytes
    }

    /// A line of JSON, with its line feed: an object with these members.
    package static func line(of names: [String], _ values: [Value]) -> [UInt8] {
        var writer = JSONWriter()
        writer.object(of: names, values)
        writer.endLine()
        return writer.bytes
    }

    package mutating func raw(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    /// Writes what is JSON already.
    package mutating func json(_ text: [UInt8]) { bytes.append(contentsOf: text) }

    /// Ends a line of output with a line feed.
    package mutating func endLine() { bytes.append(0x0A) }

    /// Writes a member's name and the colon.
    package mutating func name(_ name: String, isFirst: Bool) {
        if !isFirst { raw(",") }
        string(name)
        raw(":")
    }

    /// Writes an object with these members.
    package mutating func object(of names: [String], _ values: [Value]) {
        raw("{")
        members(names, values, isFirst: true)
        raw("}")
    }

    /// Writes members, as many as there are names.
    package mutating func members(_ names: [String], _ values: [Value], isFirst: Bool) {
        for (position, (name, value)) in zip(names, values).enumerated() {
            self.name(name, isFirst: isFirst && position == 0)
            write(value)
        }
    }

    package mutating func string(_ text: String) {
        raw("\"")
        var text = text
        text.withUTF8 { utf8 in
            var start = 0
            var index = 0
            while index < utf8.count {
                let byte = utf8[index]
                if byte < 0x20 || byte == 0x22 || byte == 0x5C {
                    bytes.append(contentsOf: utf8[start..<index])
                    escape(byte)
                    start = index + 1
                } else if byte >= 0x7F, let (scalar, length) = Self.control(at: index, in: utf8) {
                    bytes.append(contentsOf: utf8[start..<index])
                    escape(scalar)
                    start = index + length
                    index = start - 1
                }
                index += 1
            }
            bytes.append(contentsOf: utf8[start...])
        }
        raw("\"")
    }

    /// The character beyond ASCII at a position, if it could steer a terminal. All such characters have one to three
    /// bytes.
    private static func control(
        at index: Int, in utf8: UnsafeBufferPointer<UInt8>
    ) -> (scalar: Unicode.Scalar, length: Int)? {
        let length =
            switch utf8[index] {
            case 0x7F: 1
            case 0xC2, 0xD8: 2
            case 0xE2: 3
            default: 0
            }
        guard length > 0, index + length <= utf8.count,
            let scalar = String(decoding: utf8[index..<index + length], as: UTF8.self).unicodeScalars.first,
            scalar.steersDisplay
        else { return nil }
        return (scalar, length)
    }

    private mutating func escape(_ scalar: Unicode.Scalar) {
        raw("\\u")
        for shift in [12, 8, 4, 0] { bytes.append(Hexadecimal.digit(UInt8(scalar.value >> UInt32(shift) & 0xF))) }
    }

    private mutating func escape(_ byte: UInt8) {
        switch byte {
        case 0x22: raw("\\\"")
        case 0x5C: raw("\\\\")
        case 0x08: raw("\\b")
        case 0x09: raw("\\t")
        case 0x0A: raw("\\n")
        case 0x0C: raw("\\f")
        case 0x0D: raw("\\r")
        default:
            raw("\\u00")
            bytes.append(Hexadecimal.digit(byte >> 4))
            bytes.append(Hexadecimal.digit(byte & 0xF))
        }
    }

    private mutating func ascii(_ text: String) { bytes.append(contentsOf: text.utf8) }

    package mutating func integer(_ value: some BinaryInteger) { ascii(String(value)) }

    /// Writes an integer that is data.
    private mutating func number(_ value: Int64) {
        if quotesLargeIntegers, value.magnitude >= 1 << 53 { string(String(value)) } else { integer(value) }
    }

    package mutating func write(_ value: Value) {
        switch value {
        case .null: raw("null")
        case .bool(let value): value ? raw("true") : raw("false")
        case .int(let value): number(value)
        case .float(let value): value.isFinite ? ascii(value.description) : string(PlainText.text(ofNumber: value))
        case .double(let value): value.isFinite ? ascii(value.description) : string(PlainText.text(ofNumber: value))
        case .string(let value): string(value)
        case .data, .date, .uuid, .objectID, .decimal: string(PlainText.text(of: value))
        case .link(let key): write(key)
        case .list(let elements), .set(let elements): array(elements) { $0.write($1) }
        case .map(let map): object(map.entries.map { ($0.key, $0.value) }) { $0.write($1) }
        }
    }

    /// Writes a key as links show it: the primary key, or the object id.
    package mutating func write(_ key: ObjectKey) {
        if case .int(let key) = key { number(key) } else { string(key.description) }
    }

    package mutating func write(_ value: JSONValue) {
        switch value {
        case .null: raw("null")
        case .bool(let value): value ? raw("true") : raw("false")
        case .integer(let value): integer(value)
        case .number(let literal): ascii(literal)
        case .string(let text): string(text)
        case .array(let elements): array(elements) { $0.write($1) }
        case .object(let members): object(members.map { ($0.name, $0.value) }) { $0.write($1) }
        }
    }

    package mutating func array<Element>(
        _ elements: some Sequence<Element>, _ body: (inout JSONWriter, Element) -> Void
    ) {
        raw("[")
        var isFirst = true
        for element in elements {
            if !isFirst { raw(",") }
            isFirst = false
            body(&self, element)
        }
        raw("]")
    }

    package mutating func object<Element>(_ members: [(String, Element)], _ body: (inout JSONWriter, Element) -> Void) {
        raw("{")
        for (index, member) in members.enumerated() {
            name(member.0, isFirst: index == 0)
            body(&self, member.1)
        }
        raw("}")
    }
}
