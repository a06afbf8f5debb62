import Testing

@testable import SluiceTransport

struct HTTPResponseReaderTests {
    /// Reads an answer that comes in pieces of some bytes.
    private func read(_ answer: String, by count: Int, takesAnyStatus: Bool) -> (status: Int?, body: String?) {
        var reader = HTTPResponseReader(byteCountMax: 100, takesAnyStatus: takesAnyStatus)
        var rest = Array(answer.utf8)[...]
        var result: Result<[UInt8], TransportError>?
        while result == nil, !rest.isEmpty {
            result = Array(rest.prefix(count)).withUnsafeBytes { reader.receive($0) }
            rest = rest.dropFirst(count)
        }
        let bytes = try? (result ?? reader.end()).get()
        return (reader.status, bytes.map { String(decoding: $0, as: UTF8.self) })
    }

    @Test(arguments: [1, 7, 1_000]) func aRefusalHasItsStatusAndItsBodyIsReadWhereThatIsWanted(count: Int) {
        for framing in [
            "Content-Length: 4\r\n\r\ngone", "Transfer-Encoding: chunked\r\n\r\n4\r\ngone\r\n0\r\n\r\n", "\r\ngone",
        ] {
            let answer = "HTTP/1.1 404 Not Found\r\nConnection: close\r\n" + framing
            #expect(read(answer, by: count, takesAnyStatus: true) == (404, "gone"), "\(framing)")
            #expect(read(answer, by: count, takesAnyStatus: false) == (404, nil), "\(framing)")
        }
        #expect(read("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", by: count, takesAnyStatus: false) == (200, "ok"))
        #expect(read("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nok", by: count, takesAnyStatus: true) == (200, nil))
        #expect(read("HTTP/1.1 200 OK\r\nContent-Length: 101\r\n\r\n", by: count, takesAnyStatus: true) == (200, nil))
    }
}
