import SluiceModel
import TestSupport
import Testing

@testable import SluiceTransport

@Suite struct HTTPBodyReaderTests {
    private struct Read: Equatable {
        var body: String
        var rest: String
        var isWhole: Bool
    }

    /// Reads a body whose bytes arrive in pieces.
    private func read(
        _ text: String, _ framing: HTTPBodyReader.Framing, byteCountMax: Int = 100, pieceSize: Int = .max
    ) throws -> Read {
        var reader = try HTTPBodyReader(framing, byteCountMax: byteCountMax)
        var rest = Array(text.utf8)[...]
        while !rest.isEmpty, !reader.isWhole {
            let piece = Array(rest.prefix(pieceSize))
            let count = try piece.withUnsafeBytes { try reader.receive($0) }
            rest = rest.dropFirst(count)
        }
        return Read(
            body: String(decoding: reader.bytes, as: UTF8.self), rest: String(decoding: rest, as: UTF8.self),
            isWhole: reader.isWhole)
    }

    @Test(arguments: 1...40)
    func chunksBecomeABodyWhereverTheyAreCut(pieceSize: Int) throws {
        let text = "5;name=\"value\"\r\nhello\r\nb  ;x\r\n, the world\r\n000\r\nX-Sum: 7\r\nX-Other: 8\r\n\r\nGET /"
        #expect(
            try read(text, .chunked, pieceSize: pieceSize)
                == Read(body: "hello, the world", rest: "GET /", isWhole: true))
    }

    @Test(arguments: 1...8)
    func lengthEndsTheBody(pieceSize: Int) throws {
        #expect(
            try read("helloGET /", .length(5), pieceSize: pieceSize)
                == Read(body: "hello", rest: "GET /", isWhole: true))
        #expect(try read("hel", .length(5), pieceSize: pieceSize) == Read(body: "hel", rest: "", isWhole: false))
        #expect(try read("GET /", .length(0), pieceSize: pieceSize) == Read(body: "", rest: "GET /", isWhole: true))
    }

    @Test(arguments: [
        "5\nhello\r\n0\r\n\r\n", "5\r\nhello0\r\n\r\n", "5\r\nhelloX\r\n0\r\n\r\n", "\r\nhello", "-5\r\nhello",
        "+5\r\nhello",
        "0x5\r\nhello", "5 5\r\nhello", "g\r\n", "5;\u{1}\r\nhello", "00000000000000005\r\nhello",
        "5;" + String(repeating: "x", count: 1_024) + "\r\nhello",
        "0\r\n" + String(repeating: "X: y\r\n", count: 1_366) + "\r\n",
    ])
    func malformedChunksAreRefused(text: String) {
        #expect(throws: HTTPBodyReader.Failure.self) { try read(text, .chunked) }
        #expect(throws: HTTPBodyReader.Failure.self) { try read(text, .chunked, pieceSize: 1) }
    }

    @Test func bodyThatIsTooLongIsRefusedBeforeItArrives() {
        #expect(throws: HTTPBodyReader.Failure.tooLong) { try read("", .length(101)) }
        // The size of the chunk is enough.
        #expect(throws: HTTPBodyReader.Failure.tooLong) { try read("65\r\n", .chunked) }
        #expect(throws: HTTPBodyReader.Failure.tooLong) { try read("7fffffffffffffff\r\n", .chunked) }
        #expect(throws: HTTPBodyReader.Failure.tooLong) {
            try read("64\r\n" + String(repeating: "x", count: 100) + "\r\n1\r\n", .chunked)
        }
    }

    private static let heads: [(HTTPHeaders, HTTPBodyReader.Framing?)] = [
        (["Content-Length": "5"], .length(5)), (["Content-Length": "5, 5"], .length(5)),
        (["Content-Length": "0"], .length(0)), (["Transfer-Encoding": "Chunked"], .chunked), ([:], nil),
    ]

    @Test func headSaysHowTheBodyEnds() throws {
        for (headers, framing) in Self.heads { #expect(try HTTPBodyReader.Framing(headers) == framing) }
    }

    /// Each of these is a way to have a proxy and a server see different ends of one request.
    private static let ambiguous: [HTTPHeaders] = [
        ["Content-Length": "5", "Transfer-Encoding": "chunked"], ["Content-Length": "5", "Content-Length": "6"],
        ["Content-Length": "5, 6"], ["Content-Length": "-5"], ["Content-Length": "+5"], ["Content-Length": "0x5"],
        ["Content-Length": ""], ["Content-Length": "99999999999999999999"], ["Transfer-Encoding": "gzip"],
        ["Transfer-Encoding": "gzip, chunked"], ["Transfer-Encoding": "chunked, chunked"], ["Transfer-Encoding": ""],
        ["Transfer-Encoding": "chunked", "Transfer-Encoding": "identity"],
    ]

    @Test(arguments: ambiguous) func headThatGivesTwoAnswersIsRefused(headers: HTTPHeaders) {
        #expect(throws: HTTPBodyReader.Failure.self) { try HTTPBodyReader.Framing(headers) }
    }

    /// Mutated chunks are a body or are refused, and however they are cut the outcome is the same.
    @Test(arguments: 0..<300 as Range<UInt64>)
    func mutatedChunksHaveOneOutcome(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var bytes = Array("5\r\nhello\r\nA;x=y\r\n0123456789\r\n0\r\nX: y\r\n\r\nrest".utf8)
        for _ in 0..<Int.random(in: 1...4, using: &generator) {
            let position = Int.random(in: 0..<bytes.count, using: &generator)
            switch Int.random(in: 0..<3, using: &generator) {
            case 0: bytes[position] = UInt8.random(in: 0x20...0x7E, using: &generator)
            case 1: bytes.remove(at: position)
            default: bytes.insert([0x0A, 0x0D, 0x30, 0x3B].randomElement(using: &generator) ?? 0, at: position)
            }
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let whole = try? read(text, .chunked)
        for pieceSize in [1, 2, 7] { #expect(whole == (try? read(text, .chunked, pieceSize: pieceSize))) }
    }
}
