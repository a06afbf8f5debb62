/// Reads the answer to a request of ``HTTPFetch`` (RFC 9112): a head, and a body by its length, in chunks, or to the end
/// of the connection. A machine without input or output.
package struct HTTPResponseReader {
    private enum Body {
        case head
        case length(Int)
        case untilEnd
        /// Before the size of a chunk, of which these characters have come.
        case chunkSize([UInt8])
        case chunk(Int)
        /// After a chunk, before its line feed.
        case chunkEnd
    }

    private let byteCountMax: Int
    private var parser = HTTPHeadParser()
    private var body = Body.head
    private var bytes: [UInt8] = []

    package init(byteCountMax: Int) { self.byteCountMax = byteCountMax }

    /// Takes bytes of the answer.
    ///
    /// - Returns: nil while more has to come; else the body of an answer with status 200, or why there is none.
    package mutating func receive(_ input: UnsafeRawBufferPointer) -> Result<[UInt8], TransportError>? {
        do throws(TransportError) {
            return try take(input) ? .success(bytes) : nil
        } catch {
            return .failure(error)
        }
    }

    /// The connection has ended.
    package func end() -> Result<[UInt8], TransportError> {
        if case .untilEnd = body { return .success(bytes) }
        return .failure(TransportError(.connectionLost, "the answer ends in the middle", outlook: .passing))
    }

    private mutating func take(_ input: UnsafeRawBufferPointer) throws(TransportError) -> Bool {
        var rest = input[...]
        while true {
            switch body {
            case .head:
                guard let (consumed, lines) = try? parser.parse(UnsafeRawBufferPointer(rebasing: rest)) else {
                    throw malformed("its head is too long or malformed")
                }
                rest = rest.dropFirst(consumed)
                guard let lines else { return false }
                try begin(lines)
            case .length(let count):
                try append(rest.prefix(count - bytes.count))
                return bytes.count == count
            case .untilEnd:
                try append(rest)
                return false
            case .chunkSize(var digits):
                guard let end = rest.firstIndex(of: 0x0A) else {
                    digits += rest
                    guard digits.count <= 1_024 else { throw malformed("a chunk has no size") }
                    body = .chunkSize(digits)
                    return false
                }
                digits += rest[..<end]
                rest = rest[(end + 1)...]
                let text = String(decoding: digits.prefix { $0 != UInt8(ascii: ";") && $0 != 0x0D }, as: UTF8.self)
                guard text.utf8.count <= 8,
                    text.utf8.allSatisfy({ $0 != UInt8(ascii: "+") && $0 != UInt8(ascii: "-") }),
                    let size = Int(text, radix: 16)
                else { throw malformed("a chunk has no size") }
                // What may come after the last chunk is not needed.
                if size == 0 { return true }
                body = .chunk(size)
            case .chunk(let size):
                let piece = rest.prefix(size)
                try append(piece)
                rest = rest.dropFirst(piece.count)
                body = piece.count == size ? .chunkEnd : .chunk(size - piece.count)
                if piece.count < size { return false }
            case .chunkEnd:
                guard let byte = rest.first else { return false }
                guard byte == 0x0D || byte == 0x0A else { throw malformed("a chunk is longer than it says") }
                rest = rest.dropFirst()
                if byte == 0x0A { body = .chunkSize([]) }
            }
        }
    }

    private mutating func begin(_ lines: [ArraySlice<UInt8>]) throws(TransportError) {
        let words = (lines.first ?? []).split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[0].starts(with: Array("HTTP/1.".utf8)), words[1].count == 3,
            let status = Int(String(decoding: words[1], as: UTF8.self)),
            let headers = try? HTTPHeadParser.headers(lines.dropFirst())
        else { throw malformed("its head is malformed") }
        guard status == 200 else {
            throw TransportError(.upgradeRefused, "the answer is status \(status), and right would be 200")
        }
        if let coding = headers["Transfer-Encoding"] {
            guard ASCII.equalsIgnoringCase(coding, "chunked") else { throw malformed("its coding is unknown") }
            body = .chunkSize([])
        } else if let text = headers["Content-Length"] {
            guard let length = Int(text), length >= 0 else { throw malformed("its length is none") }
            guard length <= byteCountMax else { throw tooLong }
            body = .length(length)
        } else {
            body = .untilEnd
        }
    }

    private mutating func append(_ piece: Slice<UnsafeRawBufferPointer>) throws(TransportError) {
        guard bytes.count + piece.count <= byteCountMax else { throw tooLong }
        bytes += piece
    }

    private var tooLong: TransportError {
        TransportError(.messageTooLarge, "the answer is longer than \(byteCountMax) bytes")
    }

    private func malformed(_ what: String) -> TransportError {
        TransportError(.protocolViolation, "the answer is no HTTP: \(what)")
    }
}
