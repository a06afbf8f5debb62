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
        dataOption, .value("timeout", "TIME", "how long to wait for the server's answer", default: "60s"),
    ]

    static let dataOption = OptionDescription.value(
        "data", "DIR", "the data folder of a server that runs on this machine, as you or as root",
        completion: .directories)

    let folder: String
    private let timeout: Duration
    private let mayWait: Bool

    /// - Parameters:
    ///   - folder: the data folder of the server.
    ///   - timeout: how long to wait for the server's answer.
    ///   - mayWait: whether the command has the option that lets it wait longer.
    init(_ folder: String, timeout: Duration, mayWait: Bool = true) {
        self.folder = folder
        self.timeout = timeout
        self.mayWait = mayWait
    }

    /// Whether a server listens at the socket, or may do so: not everybody may ask.
    var isServed: Bool {
        do throws(TransportError) {
            close(try LocalSocket.connect(inFolder: folder, name: AdminSocket.name))
            return true
        } catch { return error.code == .permissionDenied }
    }

    init(_ arguments: ParsedArguments) throws(CommandError) {
        guard let folder = arguments.value("data") else {
            throw .usage("--data=DIR is missing: the data folder of a server that runs on this machine")
        }
        self.init(folder, timeout: try arguments.duration("timeout") ?? .seconds(60))
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
        let end = ContinuousClock.now + timeout
        guard let (status, body) = try Self.answer({ buffer in Self.read(socket, into: buffer, until: end) }) else {
            throw .failure(
                "the server with the data folder '\(folder)' has not answered within \(timeout): it is busy, or was "
                    + "stopped\(method == "GET" ? "" : ", and may do later what it was asked")"
                    + (mayWait ? "; --timeout=TIME waits longer" : ""))
        }
        guard status == 200 else {
            throw .failure(ReportPrinter.text("error", of: body) ?? "the server refuses, with status \(status)")
        }
        return body
    }

    /// Reads what comes next; nil if nothing does in time.
    private static func read(
        _ socket: Int32, into buffer: UnsafeMutableRawBufferPointer, until end: ContinuousClock.Instant
    ) -> Int? {
        while true {
            var waiting = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
            let left = max(.zero, end - .now) / .milliseconds(1)
            guard poll(&waiting, 1, Int32(left.rounded(.up))) != 0 else { return nil }
            let count = Glibc.read(socket, buffer.baseAddress, buffer.count)
            if count >= 0 || errno != EINTR { return max(0, count) }
        }
    }

    /// Reads an answer.
    ///
    /// - Parameter read: fills the buffer with what comes next, and returns how much that is; 0 at the end, and nil if it
    ///   waits no longer.
    /// - Returns: nil if the answer was not waited for.
    static func answer(
        _ read: (UnsafeMutableRawBufferPointer) -> Int?
    ) throws(CommandError) -> (status: Int, body: String)? {
        var reader = HTTPResponseReader(byteCountMax: byteCountMax, takesAnyStatus: true)
        var hasBegun = false
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        while true {
            guard let count = buffer.withUnsafeMutableBytes(read) else { return nil }
            hasBegun = hasBegun || count > 0
            let result: Swift.Result<[UInt8], TransportError>? =
                count > 0
                ? buffer.withUnsafeBytes { reader.receive(UnsafeRawBufferPointer(rebasing: $0[..<count])) }
                : reader.end()
            switch result {
            case nil: continue
            case .success(let bytes)?: return (reader.status ?? 0, String(decoding: bytes, as: UTF8.self))
            case .failure(let error)? where hasBegun:
                throw .failure("the server's answer cannot be read: \(error.message)")
            case .failure?:
                throw .failure("the server ended the connection: only the user who runs it, and root, may ask")
            }
        }
    }
}
