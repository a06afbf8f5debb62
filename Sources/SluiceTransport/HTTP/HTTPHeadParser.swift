/// Finds and parses the head of an HTTP/1.1 message (RFC 9112), strictly: lines end in CR LF, names are tokens,
/// nothing is folded.
package struct HTTPHeadParser {
    /// The longest head in bytes.
    package static let byteCountMax = 8_192
    /// The most header fields in a head.
    package static let fieldCountMax = 100

    private var head: [UInt8] = []

    package init() {}

    /// The bytes received so far.
    var received: [UInt8] { head }

    /// Parses bytes up to the end of the head.
    ///
    /// - Returns: how many bytes belong to the head and, once it is whole, its lines.
    /// - Throws: 431 when the head is too long.
    package mutating func parse(
        _ input: UnsafeRawBufferPointer
    ) throws(HTTPResponse) -> (consumed: Int, lines: [ArraySlice<UInt8>]?) {
        var position = 0
        for byte in input {
            guard head.count < HTTPHeadParser.byteCountMax else {
                throw HTTPResponse(
                    status: 431, text: "the request head is longer than \(HTTPHeadParser.byteCountMax) bytes")
            }
            head.append(byte)
            position += 1
            if byte == 0x0A, head.suffix(4).elementsEqual([0x0D, 0x0A, 0x0D, 0x0A]) {
                return (position, try splitLines())
            }
        }
        return (position, nil)
    }

    private func splitLines() throws(HTTPResponse) -> [ArraySlice<UInt8>] {
        var lines: [ArraySlice<UInt8>] = []
        var start = head.startIndex
        let end = head.endIndex - 2
        while start < end {
            guard let feed = head[start...].firstIndex(of: 0x0A), feed > start, head[feed - 1] == 0x0D else {
                throw HTTPResponse(status: 400, text: "a line of the head does not end in CR LF")
            }
            lines.append(head[start..<(feed - 1)])
            start = feed + 1
        }
        guard lines.count <= HTTPHeadParser.fieldCountMax + 1 else {
            throw HTTPResponse(
                status: 431, text: "the head has more than \(HTTPHeadParser.fieldCountMax) header fields")
        }
        return lines
    }

    /// Parses the lines after the first.
    static func headers(_ lines: ArraySlice<ArraySlice<UInt8>>) throws(HTTPResponse) -> HTTPHeaders {
        var headers = HTTPHeaders()
        for line in lines {
            guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
                line[..<colon].allSatisfy(ASCII.isToken)
            else {
                throw HTTPResponse(status: 400, text: "a header line is not of the form NAME: VALUE")
            }
            let value = line[(colon + 1)...]
            guard value.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }),
                let text = String(validating: value, as: UTF8.self)
            else {
                throw HTTPResponse(status: 400, text: "a header value has control characters or is not UTF-8")
            }
            headers.append(String(decoding: line[..<colon], as: UTF8.self), ASCII.trimmed(text[...].utf8))
        }
        return headers
    }
}

extension HTTPRequest {
    /// Parses the lines of a request head.
    ///
    /// - Throws: the response to send: 400, or 505 for another version of HTTP than 1.0 and 1.1.
    package init(parsing lines: [ArraySlice<UInt8>]) throws(HTTPResponse) {
        guard let first = lines.first else { throw HTTPResponse(status: 400, text: "the request line is empty") }
        let words = first.split(separator: 0x20, omittingEmptySubsequences: false)
        guard words.count == 3, !words[0].isEmpty, words[0].allSatisfy(ASCII.isToken),
            words[1].first == UInt8(ascii: "/"), words[1].allSatisfy({ $0 > 0x20 && $0 < 0x7F }),
            words[2].starts(with: Array("HTTP/".utf8))
        else {
            throw HTTPResponse(status: 400, text: "the request line is not of the form METHOD /PATH HTTP/1.1")
        }
        let version: HTTPVersion
        switch String(decoding: words[2], as: UTF8.self) {
        case "HTTP/1.1": version = .http11
        case "HTTP/1.0": version = .http10
        default: throw HTTPResponse(status: 505, text: "this server speaks HTTP/1.1 only")
        }
        let headers = try HTTPHeadParser.headers(lines.dropFirst())
        let hostCount = headers.values("Host").count
        guard hostCount == 1 || version == .http10 && hostCount == 0 else {
            throw HTTPResponse(status: 400, text: "a request needs exactly one Host header")
        }
        self.init(
            method: String(decoding: words[0], as: UTF8.self), target: String(decoding: words[1], as: UTF8.self),
            headers: headers, version: version)
    }
}
