/// Reads the body of an HTTP/1.1 message, by its length or in chunks (RFC 9112, sections 6 and 7). A machine without
/// input or output; it keeps no more bytes than its limit, and reserves none before they have come.
package struct HTTPBodyReader {
    /// How the end of a body is known.
    package enum Framing: Hashable, Sendable {
        case length(Int)
        case chunked
    }

    /// What is wrong with a body.
    package enum Failure: Error, Hashable {
        /// It is longer than its reader takes.
        case tooLong
        /// It is no body, and why.
        case malformed(String)
    }

    /// | state | event | next |
    /// |---|---|---|
    /// | length | the last of its bytes | whole |
    /// | chunkSize | a size above 0, at the end of its line | chunk |
    /// | chunkSize | the size 0 | trailer |
    /// | chunk | the last of its bytes | chunkEnd |
    /// | chunkEnd | a line end | chunkSize |
    /// | trailer | a line that is not empty | trailer |
    /// | trailer | an empty line | whole |
    private enum State {
        /// So many bytes are left.
        case length(Int)
        /// In the line with the size of a chunk.
        case chunkSize
        /// So many bytes of a chunk are left.
        case chunk(Int)
        /// In the line end after a chunk.
        case chunkEnd
        /// In a field after the last chunk, or in the empty line that ends the body. Such fields are dropped.
        case trailer
        case whole
    }

    /// The longest line with the size of a chunk, and the most bytes of fields after the last one.
    private static let lineByteCountMax = 1_024
    private static let trailerByteCountMax = HTTPHeadParser.byteCountMax

    /// The longest body taken.
    let byteCountMax: Int
    private var state: State
    /// What has come of the current line of a body in chunks.
    private var line: [UInt8] = []
    private var trailerByteCount = 0
    /// What has come of the body.
    package private(set) var bytes: [UInt8] = []

    /// - Parameter byteCountMax: the longest body taken.
    /// - Throws: ``Failure/tooLong`` if the body says that it is longer.
    package init(_ framing: Framing, byteCountMax: Int) throws(Failure) {
        self.byteCountMax = byteCountMax
        switch framing {
        case .chunked: state = .chunkSize
        case .length(let count):
            guard count <= byteCountMax else { throw .tooLong }
            state = count > 0 ? .length(count) : .whole
        }
    }

    /// Whether the body has ended.
    package var isWhole: Bool { if case .whole = state { true } else { false } }

    /// Takes bytes, up to the end of the body.
    ///
    /// - Returns: how many of them belong to the body.
    package mutating func receive(_ input: UnsafeRawBufferPointer) throws(Failure) -> Int {
        var rest = input[...]
        while !rest.isEmpty {
            switch state {
            case .whole: return input.count - rest.count
            case .length(let left):
                let piece = rest.prefix(left)
                bytes += piece
                rest = rest.dropFirst(piece.count)
                state = piece.count < left ? .length(left - piece.count) : .whole
            case .chunk(let left):
                let piece = rest.prefix(left)
                bytes += piece
                rest = rest.dropFirst(piece.count)
                state = piece.count < left ? .chunk(left - piece.count) : .chunkEnd
            case .chunkSize:
                guard let line = try takeLine(&rest, byteCountMax: Self.lineByteCountMax) else { break }
                let size = try Self.size(line)
                guard size <= byteCountMax - bytes.count else { throw .tooLong }
                state = size > 0 ? .chunk(size) : .trailer
            case .chunkEnd:
                guard let line = try takeLine(&rest, byteCountMax: 2) else { break }
                guard line.isEmpty else { throw .malformed("a chunk is longer than it says") }
                state = .chunkSize
            case .trailer:
                let count = rest.count
                let line = try takeLine(&rest, byteCountMax: Self.trailerByteCountMax)
                trailerByteCount += count - rest.count
                guard trailerByteCount <= Self.trailerByteCountMax else {
                    throw .malformed("the fields after its last chunk are too long")
                }
                if line?.isEmpty == true { state = .whole }
            }
        }
        return input.count
    }

    /// Takes what there is of a line.
    ///
    /// - Parameter byteCountMax: the longest line, with its end.
    /// - Returns: the line without its end; nil while it is not whole.
    private mutating func takeLine(
        _ rest: inout Slice<UnsafeRawBufferPointer>, byteCountMax: Int
    ) throws(Failure) -> [UInt8]? {
        let feed = rest.firstIndex(of: 0x0A)
        let piece = feed.map { rest[...$0] } ?? rest
        guard line.count + piece.count <= byteCountMax else { throw .malformed("a line of its chunks is too long") }
        line += piece
        rest = rest[piece.endIndex...]
        guard feed != nil else { return nil }
        guard line.suffix(2).elementsEqual([0x0D, 0x0A]) else {
            throw .malformed("a line of its chunks does not end in CR LF")
        }
        defer { line = [] }
        return line.dropLast(2)
    }

    /// The size of a chunk, in hexadecimal digits. Extensions after a semicolon are dropped.
    private static func size(_ line: [UInt8]) throws(Failure) -> Int {
        let digits = line.prefix { $0 != UInt8(ascii: ";") && $0 != 0x20 && $0 != 0x09 }
        let rest = line[digits.endIndex...].drop { $0 == 0x20 || $0 == 0x09 }
        guard 1...16 ~= digits.count, rest.isEmpty || rest.first == UInt8(ascii: ";"),
            rest.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }),
            digits.allSatisfy({ 0x30...0x39 ~= $0 || 0x41...0x46 ~= $0 || 0x61...0x66 ~= $0 }),
            let size = Int(String(decoding: digits, as: UTF8.self), radix: 16)
        else { throw .malformed("the size of a chunk is no hexadecimal number") }
        return size
    }
}

extension HTTPBodyReader.Framing {
    /// How the body of a message is delimited, by its head.
    ///
    /// A message that gives two answers is refused, since a proxy may have believed the other one (RFC 9112, section
    /// 11.2).
    ///
    /// - Returns: nil if the head does not say.
    /// - Throws: what is wrong with the head.
    package init?(_ headers: HTTPHeaders) throws(HTTPBodyReader.Failure) {
        let codings = headers.elements("Transfer-Encoding")
        let lengths = headers.elements("Content-Length")
        if !headers.values("Transfer-Encoding").isEmpty {
            guard codings.count == 1, ASCII.equalsIgnoringCase(codings[0], "chunked") else {
                throw .malformed("its Transfer-Encoding is not chunked")
            }
            guard headers.values("Content-Length").isEmpty else {
                throw .malformed("it has both Transfer-Encoding and Content-Length")
            }
            self = .chunked
            return
        }
        if headers.values("Content-Length").isEmpty { return nil }
        guard let first = lengths.first, lengths.allSatisfy({ $0 == first }), 1...18 ~= first.utf8.count,
            first.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), let count = Int(first)
        else { throw .malformed("its Content-Length is no number of bytes") }
        self = .length(count)
    }
}
