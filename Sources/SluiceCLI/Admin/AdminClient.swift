internal import Dispatch
internal import Glibc
internal import SluiceJSON
internal import SluiceServer
internal import SluiceTransport

/// Asks a server of this machine by its admin socket, which is a file in its data folder (HTTP/1.1, RFC 9112).
struct AdminClient: Sendable {
    /// The most bytes of an answer.
    private static let byteCountMax = 64 << 20

    static let options: [OptionDescription] = [
        .value(
            "data", "DIR", "the data folder of a server that runs on this machine, as you or as root",
            completion: .directories)
    ]

    let folder: String

    init(_ arguments: ParsedArguments) throws(CommandError) {
        guard let folder = arguments.value("data") else {
            throw .usage("--data=DIR is missing: the data folder of a server that runs on this machine")
        }
        self.folder = folder
    }

    /// Asks, and waits for the answer.
    ///
    /// - Parameter body: a JSON object; empty for none.
    /// - Returns: the answer, as JSON.
    /// - Throws: ``CommandError`` when no server answers, or with the server's reason if it refuses.
    func ask(_ method: String, _ path: String, _ body: String = "") async throws -> String {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async {
                continuation.resume(with: Swift.Result { try askBlocking(method, path, body) })
            }
        }
    }

    private func askBlocking(_ method: String, _ path: String, _ body: String) throws(CommandError) -> String {
        let socket: Int32
        do { socket = try LocalSocket.connect(inFolder: folder, name: AdminSocket.name) } catch {
            throw .failure(
                "no server answers at '\(folder)/\(AdminSocket.name)': \(error.message); name the data folder of one "
                    + "that runs, with 'sluice serve', as you or as root")
        }
        defer { close(socket) }
        let request =
            "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
            + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)"
        let code = Array(request.utf8).withUnsafeBytes { SystemCall.writeAll($0, to: socket) }
        guard code == 0 || code == EPIPE || code == ECONNRESET else { throw .system("asking the server", code: code) }
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while bytes.count <= Self.byteCountMax {
            let count = read(socket, &buffer, buffer.count)
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { break }
            bytes += buffer[..<count]
        }
        return try Self.answer(bytes)
    }

    /// The body of a response that says that all went well.
    static func answer(_ bytes: [UInt8]) throws(CommandError) -> String {
        guard !bytes.isEmpty else {
            throw .failure("the server ended the connection: only the user who runs it, and root, may ask")
        }
        let text = String(decoding: bytes, as: UTF8.self)
        let words = text.prefix { !$0.isNewline }.split(separator: " ")
        guard let end = text.firstRange(of: "\r\n\r\n"), words.count > 1, let status = Int(words[1]) else {
            throw .failure("the server's answer is not whole")
        }
        let body = String(text[end.upperBound...])
        guard status == 200 else {
            throw .failure(ReportPrinter.text("error", of: body) ?? "the server refuses, with status \(status)")
        }
        return body
    }
}
