/// How many messages of each kind a ``TestServer`` has sent to a store, and how large they were: what something has
/// cost on the wire. See ``TestServer/messages(to:)``.
///
/// ```swift
/// let before = server.messages(to: tablet)
/// server.restore(tablet)
/// try await server.settled()
/// let resumed = server.messages(to: tablet) - before
/// #expect(resumed.count(of: .page) == 0)
/// ```
public struct MessageTally: Hashable, Sendable, CustomStringConvertible {
    private struct Entry: Hashable {
        var count = 0
        var byteCount = 0
    }

    private var entries: [ServerMessageKind: Entry] = [:]
    /// How many frames the messages came in. One frame has one message or more.
    public private(set) var frameCount = 0
    /// What the frames took on the wire, compressed, in bytes, without the few of WebSocket and TLS.
    public private(set) var frameByteCount = 0

    init() {}

    /// How many messages of a kind there were.
    public func count(of kind: ServerMessageKind) -> Int { entries[kind]?.count ?? 0 }

    /// How large the messages of a kind were, before compression, in bytes.
    public func byteCount(of kind: ServerMessageKind) -> Int { entries[kind]?.byteCount ?? 0 }

    /// How many messages there were.
    public var count: Int { entries.values.reduce(0) { $0 + $1.count } }

    /// The kinds that there were, in the order of ``ServerMessageKind``.
    public var kinds: [ServerMessageKind] { ServerMessageKind.allCases.filter { count(of: $0) > 0 } }

    /// The counts as text, such as `1 session, 2 page, 1 complete`.
    public var description: String {
        kinds.isEmpty ? "none" : kinds.map { "\(count(of: $0)) \($0)" }.joined(separator: ", ")
    }

    /// What came after an earlier tally of the same store.
    public static func - (later: MessageTally, earlier: MessageTally) -> MessageTally {
        var rest = MessageTally()
        rest.frameCount = later.frameCount - earlier.frameCount
        rest.frameByteCount = later.frameByteCount - earlier.frameByteCount
        for (kind, entry) in later.entries {
            let before = earlier.entries[kind] ?? Entry()
            guard entry != before else { continue }
            rest.entries[kind] = Entry(
                count: entry.count - before.count, byteCount: entry.byteCount - before.byteCount)
        }
        return rest
    }

    mutating func note(frameOf byteCount: Int, _ messages: [(kind: ServerMessageKind, byteCount: Int)]) {
        frameCount += 1
        frameByteCount += byteCount
        for message in messages {
            entries[message.kind, default: Entry()].count += 1
            entries[message.kind, default: Entry()].byteCount += message.byteCount
        }
    }
}
