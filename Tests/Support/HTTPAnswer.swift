import Foundation
import Glibc

/// The answer of a server of this machine to one request over a connection of its own.
package struct HTTPAnswer: Sendable {
    package let status: Int
    /// The lines of the head after the first.
    package let headers: [String]
    package let body: String

    /// Asks, and reads to the end of the connection. Blocks a thread that runs no tests.
    ///
    /// - Parameter lines: more lines of the request's head.
    package static func get(
        _ target: String, port: UInt16, method: String = "GET", host: String = "localhost", _ lines: String...
    ) async throws -> HTTPAnswer {
        try await ask(method, target, port: port, host: host, lines)
    }

    /// Sends a body, and reads the answer to the end of the connection.
    ///
    /// - Parameter lines: more lines of the request's head, among them the length of the body.
    package static func post(
        _ target: String, _ body: String, port: UInt16, _ lines: [String]
    ) async throws -> HTTPAnswer {
        try await ask("POST", target, port: port, host: "localhost", lines, body: body)
    }

    /// As ``get(_:port:method:host:_:)``, with lines that were made elsewhere.
    package static func ask(
        _ method: String, _ target: String, port: UInt16, host: String, _ lines: [String], body: String = ""
    ) async throws -> HTTPAnswer {
        let head = (["\(method) \(target) HTTP/1.1", "Host: \(host)"] + lines).joined(separator: "\r\n")
        return try await blocking { try HTTPAnswer(to: head + "\r\n\r\n" + body, port: port) }
    }

    /// The body without the lengths of its chunks.
    package var unchunked: String {
        guard headers.contains("Transfer-Encoding: chunked") else { return body }
        var rest = Array(body.utf8)[...]
        var whole: [UInt8] = []
        while let end = rest.firstIndex(of: 0x0D),
            let count = Int(String(decoding: rest[..<end], as: UTF8.self), radix: 16), count > 0
        {
            whole += rest.dropFirst(end - rest.startIndex + 2).prefix(count)
            rest = rest.dropFirst(end - rest.startIndex + 2 + count + 2)
        }
        return String(decoding: whole, as: UTF8.self)
    }

    private init(to request: String, port: UInt16) throws {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_CLOEXEC.rawValue), 0)
        defer { close(descriptor) }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
        let isConnected = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { throw Failure("no connection to port \(port): \(String(cString: strerror(errno)))") }
        let bytes = Array(request.utf8)
        _ = send(descriptor, bytes, bytes.count, Int32(MSG_NOSIGNAL))
        var all: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            let count = recv(descriptor, &buffer, buffer.count, 0)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            all += buffer[..<count]
        }
        let text = String(decoding: all, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { throw Failure("no answer to \(request): '\(text)'") }
        let lines = text[..<end.lowerBound].components(separatedBy: "\r\n")
        guard let first = lines.first, let status = Int(first.split(separator: " ").dropFirst().first ?? "") else {
            throw Failure("no answer to \(request): '\(text)'")
        }
        self.status = status
        headers = Array(lines.dropFirst())
        body = String(text[end.upperBound...])
    }
}
