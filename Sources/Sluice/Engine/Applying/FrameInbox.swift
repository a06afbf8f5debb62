internal import SluiceModel
internal import SluiceWire

/// Gathers the content of frames into what is applied in one transaction.
///
/// The content of a frame is applied as a whole. Consecutive frames that have only pages, or only commits, share a
/// transaction, and a commit that continues in the next frame waits for the rest.
struct FrameInbox {
    /// The maximum number of pages, or of commits, from several frames that share a transaction. The number of pages is
    /// below the credit, so that the server can make the next ones meanwhile.
    private static let sharedPageCountMax = 4
    private static let sharedCommitCountMax = 64

    private let limits: WireLimits
    /// The content that has arrived since the last ``takeContent()``.
    private var content: [ServerContent] = []
    /// The parts of a commit that continues in the next frame.
    private var parts: [ServerContent] = []

    init(_ limits: DataLimits) { self.limits = WireLimits(downloadsOf: limits) }

    /// Whether the rest of a commit is still to come.
    var awaitsParts: Bool { !parts.isEmpty }

    func messages(of frame: [UInt8]) throws -> [ServerMessage] {
        try Frame.decode(frame, as: ServerMessage.self, limits: limits)
    }

    /// Adds a message if it is content.
    ///
    /// - Returns: false if the message is something else.
    mutating func add(_ message: ServerMessage) -> Bool {
        guard let content = ServerContent(message) else { return false }
        self.content.append(content)
        return true
    }

    /// Whether the content of earlier frames can share a transaction with that of the next.
    func canShare(with next: [ServerMessage]) -> Bool {
        let found = next.compactMap { ServerContent($0) }
        guard found.count == next.count else { return false }
        let all = content + found
        if all.allSatisfy(\.endsCommit) { return all.count <= Self.sharedCommitCountMax }
        return all.allSatisfy(\.isPage) && all.count <= Self.sharedPageCountMax
    }

    /// The content to apply now; empty if there is none, or if it continues in the next frame.
    mutating func takeContent() -> [ServerContent] {
        defer { content = [] }
        if case .commit = content.last, content.last?.endsCommit == false {
            parts += content
            return []
        }
        guard !content.isEmpty else { return [] }
        defer { parts = [] }
        return parts + content
    }

    /// Drops what has arrived, because the connection has ended.
    mutating func removeAll() {
        content = []
        parts = []
    }
}
