/// Reads the answer to a request (RFC 9112): a head, and a body by its length, in chunks, or to the end
/// of the connection. A machine without input or output.
package struct HTTPResponseReader {
    /// | state | event | next |
    /// |---|---|---|
    /// | head | the end of the head | body or untilEnd |
    /// | body | its end | the answer is whole |
    /// | untilEnd | the end of the connection | the answer is whole |
    private enum State {
        case head
        case body(HTTPBodyReader)
        case untilEnd
    }

    private let byteCountMax: Int
    private let takesAnyStatus: Bool
    /// The status of the answer; nil before its head has come.
    package private(set) var status: Int?
    private var parser = HTTPHeadParser()
    private var state = State.head
    private var bytes: [UInt8] = []

    /// - Parameters:
    ///   - byteCountMax: the longest body that is taken.
    ///   - takesAnyStatus: whether the body of an answer with another status than 200 is read, too; otherwise such an
    ///     answer is an error.
    package init(byteCountMax: Int, takesAnyStatus: Bool = false) {
        self.byteCountMax = byteCountMax
        self.takesAnyStatus = takesAnyStatus
    }

    /// Takes bytes of the answer.
    ///
    /// - Returns: nil while more has to come; else the body, or why there is none.
    package mutating func receive(_ input: UnsafeRawBufferPointer) -> Result<[UInt8], TransportError>? {
        do throws(TransportError) {
            return try take(input) ? .success(bytes) : nil
        } catch {
            return .failure(error)
        }
    }

    /// The connection has ended.
    package func end() -> Result<[UInt8], TransportError> {
        if case .untilEnd = state { return .success(bytes) }
        return .failure(TransportError(.connectionLost, "the answer ends in the middle", outlook: .passing))
    }

    private mutating func take(_ input: UnsafeRawBufferPointer) throws(TransportError) -> Bool {
        var rest = input[...]
        while true {
            switch state {
            case .head:
                guard let (consumed, lines) = try? parser.parse(UnsafeRawBufferPointer(rebasing: rest)) else {
                    throw malformed("its head is too long or malformed")
                }
                rest = rest.dropFirst(consumed)
                guard let lines else { return false }
                try begin(lines)
            case .body(var reader):
                // Nothing else holds the reader's bytes now, so that more are appended in place.
                state = .head
                do { _ = try reader.receive(UnsafeRawBufferPointer(rebasing: rest)) } catch { throw failure(error) }
                state = .body(reader)
                if reader.isWhole { bytes = reader.bytes }
                return reader.isWhole
            case .untilEnd:
                guard bytes.count + rest.count <= byteCountMax else { throw tooLong }
                bytes += rest
                return false
            }
        }
    }

    private mutating func begin(_ lines: [ArraySlice<UInt8>]) throws(TransportError) {
        let words = (lines.first ?? []).split(separator: 0x20, maxSplits: 2, omittingEmptySubsequences: false)
        guard words.count >= 2, words[0].starts(with: Array("HTTP/1.".utf8)), words[1].count == 3,
            let status = Int(String(decoding: words[1], as: UTF8.self)),
            let headers = try? HTTPHeadParser.headers(lines.dropFirst())
        else { throw malformed("its head is malformed") }
        self.status = status
        guard status == 200 || takesAnyStatus else {
            throw TransportError(.upgradeRefused, "the answer is status \(status), and right would be 200")
        }
        do throws(HTTPBodyReader.Failure) {
            if let framing = try HTTPBodyReader.Framing(headers) {
                state = .body(try HTTPBodyReader(framing, byteCountMax: byteCountMax))
            } else {
                state = .untilEnd
            }
        } catch { throw failure(error) }
    }

    private func failure(_ failure: HTTPBodyReader.Failure) -> TransportError {
        switch failure {
        case .tooLong: tooLong
        case .malformed(let reason): malformed(reason)
        }
    }

    private var tooLong: TransportError {
        TransportError(.messageTooLarge, "the answer is longer than \(byteCountMax) bytes")
    }

    private func malformed(_ what: String) -> TransportError {
        TransportError(.protocolViolation, "the answer is no HTTP: \(what)")
    }
}
