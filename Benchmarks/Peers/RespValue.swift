/// A value of Redis's protocol, RESP2.
enum RespValue {
    case text(String)
    case failure(String)
    case integer(Int)
    case bytes([UInt8])
    case array([RespValue])
    case null

    /// The text of a string of either kind; nil of other values.
    var string: String? {
        switch self {
        case .text(let text): text
        case .bytes(let bytes): String(decoding: bytes, as: UTF8.self)
        default: nil
        }
    }

    /// The elements of an array; none of other values.
    var elements: [RespValue] { if case .array(let elements) = self { elements } else { [] } }
}

/// Takes values out of bytes as they arrive.
struct RespParser {
    /// More bytes than any answer has that the benchmarks ask for.
    private static let byteCountMax = 1 << 20
    private static let depthMax = 8

    private var bytes: [UInt8] = []
    /// Where the next value begins.
    private var start = 0

    mutating func append(_ more: UnsafeRawBufferPointer) {
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            start = 0
        }
        bytes += more
    }

    /// The next value; nil if it has not come to its end.
    ///
    /// - Throws: ``BenchmarkError`` if the bytes are no value, or more than an answer may have.
    mutating func next() throws -> RespValue? {
        var place = start
        guard let value = try value(at: &place, depth: 0) else {
            guard bytes.count - start <= Self.byteCountMax else { throw BenchmarkError("Redis answers too much") }
            return nil
        }
        start = place
        return value
    }

    private func value(at place: inout Int, depth: Int) throws -> RespValue? {
        guard let line = line(at: &place) else { return nil }
        guard let kind = line.first, depth < Self.depthMax else { throw BenchmarkError("Redis answers no RESP2") }
        let text = String(decoding: line.dropFirst(), as: UTF8.self)
        switch kind {
        case UInt8(ascii: "+"): return .text(text)
        case UInt8(ascii: "-"): return .failure(text)
        case UInt8(ascii: ":"): return .integer(try number(text))
        case UInt8(ascii: "$"):
            let count = try number(text)
            if count == -1 { return .null }
            // The content ends with a line end of its own.
            guard bytes.count - place >= count + 2 else { return nil }
            defer { place += count + 2 }
            return .bytes(Array(bytes[place..<place + count]))
        case UInt8(ascii: "*"):
            let count = try number(text)
            if count == -1 { return .null }
            var elements: [RespValue] = []
            while elements.count < count {
                guard let element = try value(at: &place, depth: depth + 1) else { return nil }
                elements.append(element)
            }
            return .array(elements)
        default: throw BenchmarkError("Redis answers a value of the kind \(kind)")
        }
    }

    /// The bytes before the next line end, which `place` passes; nil if there is none.
    private func line(at place: inout Int) -> ArraySlice<UInt8>? {
        guard let end = bytes[place...].firstIndex(of: UInt8(ascii: "\r")), end + 1 < bytes.count else { return nil }
        defer { place = end + 2 }
        return bytes[place..<end]
    }

    private func number(_ text: String) throws -> Int {
        guard let number = Int(text), (-1...Self.byteCountMax).contains(number) else {
            throw BenchmarkError("Redis answers the length or number \(text)")
        }
        return number
    }
}
