internal import SluiceModel

/// Why a text is not JSON.
package struct JSONError: Error, Hashable {
    /// The byte at fault, counting from 1.
    package let position: Int
    package let message: String

    package init(position: Int, message: String) {
        self.position = position
        self.message = message
    }
}

/// A strict parser of RFC 8259: UTF-8 only, no duplicate members, no trailing commas or comments, no lone surrogates.
/// It keeps every number exactly.
package struct JSONParser {
    private static let depthMax = 100

    private let bytes: UnsafeBufferPointer<UInt8>
    private var position = 0
    private var depth = 0
    private var shape: JSONShape?

    private init(_ bytes: UnsafeBufferPointer<UInt8>, shape: JSONShape? = nil) {
        self.bytes = bytes
        self.shape = shape
    }

    /// Parses a whole text.
    ///
    /// - Parameter shape: the names in earlier texts of the same kind, so that they need not be decoded again.
    package static func parse(
        _ bytes: UnsafeBufferPointer<UInt8>, shape: JSONShape? = nil
    ) throws(JSONError) -> JSONValue {
        var parser = JSONParser(bytes, shape: shape)
        let value = try parser.value()
        parser.skipBlanks()
        guard parser.position == bytes.count else { throw parser.fault("something follows the value") }
        return value
    }

    package static func parse(_ text: String) throws(JSONError) -> JSONValue {
        let bytes = Array(text.utf8)
        return try bytes.withUnsafeBufferPointer { (bytes) throws(JSONError) in try parse(bytes) }
    }

    /// The members of the outermost object that come before the first fault of a text, such as those that say what a
    /// message that cannot be read is about. All of them where there is no fault; none where the text is no object.
    package static func leadingMembers(_ bytes: UnsafeBufferPointer<UInt8>) -> [JSONValue.Member] {
        var parser = JSONParser(bytes)
        var members: [JSONValue.Member] = []
        guard parser.skip("{") else { return [] }
        parser.depth = 1
        repeat {
            parser.skipBlanks()
            guard parser.current == UInt8(ascii: "\""), let name = try? parser.string(), parser.skip(":"),
                let value = try? parser.value()
            else { break }
            members.append(JSONValue.Member(name: name, value: value))
        } while parser.skip(",")
        return members
    }

    private var current: UInt8? { position < bytes.count ? bytes[position] : nil }

    private func fault(_ message: String) -> JSONError { JSONError(position: position + 1, message: message) }

    private mutating func skipBlanks() {
        while let byte = current, byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D { position += 1 }
    }

    private mutating func skip(_ character: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard current == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    private mutating func value() throws(JSONError) -> JSONValue {
        skipBlanks()
        guard let byte = current else { throw fault("the text ends where a value is expected") }
        switch byte {
        case UInt8(ascii: "{"): return try nested { (parser) throws(JSONError) in try parser.object() }
        case UInt8(ascii: "["): return try nested { (parser) throws(JSONError) in try parser.array() }
        case UInt8(ascii: "\""): return .string(try string())
        case UInt8(ascii: "t"): return try word("true", .bool(true))
        case UInt8(ascii: "f"): return try word("false", .bool(false))
        case UInt8(ascii: "n"): return try word("null", .null)
        case UInt8(ascii: "-"), 0x30...0x39: return try number()
        default: throw fault("a value is expected here")
        }
    }

    private mutating func nested(
        _ body: (inout JSONParser) throws(JSONError) -> JSONValue
    ) throws(JSONError) -> JSONValue {
        guard depth < Self.depthMax else { throw fault("values are nested deeper than \(Self.depthMax) levels") }
        depth += 1
        defer { depth -= 1 }
        position += 1
        return try body(&self)
    }

    private mutating func object() throws(JSONError) -> JSONValue {
        var members: [JSONValue.Member] = []
        if skip("}") { return .object(members) }
        let shape = depth == 1 ? shape : nil
        if let shape { members.reserveCapacity(shape.count) }
        var names: Set<[UInt8]> = []
        var isKnown = shape != nil
        repeat {
            skipBlanks()
            let start = position
            guard current == UInt8(ascii: "\"") else { throw fault("a member's name in quotes is expected here") }
            let known = isKnown ? shape?.name(members.count, at: position, in: bytes) : nil
            isKnown = known != nil
            if let known {
                position += known.length
                guard skip(":") else { throw fault("a colon is expected here") }
                members.append(JSONValue.Member(name: known.name, value: try value()))
                continue
            }
            let name = try string()
            if names.isEmpty, members.count >= 32 { names = Set(members.map { Array($0.name.utf8) }) }
            let isNew =
                members.count < 32
                ? !members.contains { UTF8Order.equal($0.name, name) } : names.insert(Array(name.utf8)).inserted
            guard isNew else { throw JSONError(position: start + 1, message: "the member '\(name)' is here twice") }
            guard skip(":") else { throw fault("a colon is expected here") }
            members.append(JSONValue.Member(name: name, value: try value()))
        } while skip(",")
        guard skip("}") else { throw fault("a comma or '}' is expected here") }
        if !isKnown { shape?.learn(members) }
        return .object(members)
    }

    private mutating func array() throws(JSONError) -> JSONValue {
        var elements: [JSONValue] = []
        if skip("]") { return .array(elements) }
        repeat { elements.append(try value()) } while skip(",")
        guard skip("]") else { throw fault("a comma or ']' is expected here") }
        return .array(elements)
    }

    private mutating func word(_ text: StaticString, _ value: JSONValue) throws(JSONError) -> JSONValue {
        let end = position + text.utf8CodeUnitCount
        guard end <= bytes.count,
            bytes[position..<end].elementsEqual(
                UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
        else { throw fault("a value is expected here") }
        position = end
        return value
    }

    private mutating func number() throws(JSONError) -> JSONValue {
        let start = position
        if current == UInt8(ascii: "-") { position += 1 }
        let firstDigit = current
        var isInteger = true
        try digits()
        if firstDigit == UInt8(ascii: "0"), position - start > (bytes[start] == UInt8(ascii: "-") ? 2 : 1) {
            throw fault("a number does not begin with 0 followed by digits")
        }
        if current == UInt8(ascii: ".") {
            isInteger = false
            position += 1
            try digits()
        }
        if current == UInt8(ascii: "e") || current == UInt8(ascii: "E") {
            isInteger = false
            position += 1
            if current == UInt8(ascii: "+") || current == UInt8(ascii: "-") { position += 1 }
            try digits()
        }
        let literal = UnsafeBufferPointer(rebasing: bytes[start..<position])
        if isInteger, let integer = NumberText.integer(literal) { return .integer(integer) }
        return .number(String(decoding: literal, as: UTF8.self))
    }

    private mutating func digits() throws(JSONError) {
        let start = position
        while let byte = current, byte >= 0x30, byte <= 0x39 { position += 1 }
        guard position > start else { throw fault("a digit is expected here") }
    }

    private mutating func string() throws(JSONError) -> String {
        position += 1
        let start = position
        var allBits: UInt8 = 0
        while let byte = current, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\"), byte >= 0x20 {
            allBits |= byte
            position += 1
        }
        if current == UInt8(ascii: "\"") {
            defer { position += 1 }
            let plain = UnsafeBufferPointer(rebasing: bytes[start..<position])
            return allBits < 0x80 ? String(decoding: plain, as: UTF8.self) : try text(plain)
        }
        var unescaped = Array(bytes[start..<position])
        while let byte = current {
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return try unescaped.withUnsafeBufferPointer { (bytes) throws(JSONError) in try text(bytes) }
            case UInt8(ascii: "\\"): try escape(into: &unescaped)
            case 0..<0x20: throw fault("a control character within a string must be escaped")
            default:
                unescaped.append(byte)
                position += 1
            }
        }
        throw fault("a string that never ends")
    }

    private func text(_ bytes: UnsafeBufferPointer<UInt8>) throws(JSONError) -> String {
        guard let text = String(validating: bytes, as: UTF8.self) else { throw fault("a string that is not UTF-8") }
        return text
    }

    private mutating func escape(into bytes: inout [UInt8]) throws(JSONError) {
        position += 1
        guard let kind = current else { throw fault("a string that never ends") }
        position += 1
        switch kind {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): bytes.append(kind)
        case UInt8(ascii: "b"): bytes.append(0x08)
        case UInt8(ascii: "f"): bytes.append(0x0C)
        case UInt8(ascii: "n"): bytes.append(0x0A)
        case UInt8(ascii: "r"): bytes.append(0x0D)
        case UInt8(ascii: "t"): bytes.append(0x09)
        case UInt8(ascii: "u"): bytes.append(contentsOf: String(Character(try escapedScalar())).utf8)
        default: throw fault("an unknown escape in a string")
        }
    }

    private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
        let unit = try codeUnit()
        if let scalar = Unicode.Scalar(unit) { return scalar }
        guard unit < 0xDC00, current == UInt8(ascii: "\\"), position + 1 < bytes.count,
            bytes[position + 1] == UInt8(ascii: "u")
        else { throw fault("half of a surrogate pair") }
        position += 2
        let low = try codeUnit()
        guard (0xDC00...0xDFFF).contains(low),
            let scalar = Unicode.Scalar(0x10000 + (UInt32(unit - 0xD800) << 10 | UInt32(low - 0xDC00)))
        else { throw fault("half of a surrogate pair") }
        return scalar
    }

    private mutating func codeUnit() throws(JSONError) -> UInt16 {
        var unit: UInt16 = 0
        for _ in 0..<4 {
            guard let byte = current, let digit = Hexadecimal.value(of: byte) else {
                throw fault("four hexadecimal digits are expected here")
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }
}
