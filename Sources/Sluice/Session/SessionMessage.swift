public import FoundationEssentials

/// An ephemeral message that another store of the same database has sent to a topic.
public struct SessionMessage: Sendable, Hashable {
    /// The topic that it was sent to.
    public let topic: String
    /// What was sent.
    public let payload: [UInt8]
    /// The user whose store has sent it, as the server knows the user; nil for an anonymous one, and
    /// for one whom the server's rules hide from this store's user.
    public let userID: String?
    /// When the server passed it on, by the server's clock.
    public let sentAt: Date

    /// The payload as text; bytes that are no UTF-8 are replaced.
    public var text: String { String(decoding: payload, as: UTF8.self) }

    package init(topic: String, payload: [UInt8], userID: String?, sentAt: Date) {
        self.topic = topic
        self.payload = payload
        self.userID = userID
        self.sentAt = sentAt
    }
}

extension SessionMessage: CustomStringConvertible {
    /// The topic, who has sent the message, and its size; not what it says.
    public var description: String { "message to \(topic) from \(userID ?? "anonymous"), \(payload.count) bytes" }
}
