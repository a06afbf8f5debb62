package import SluiceModel

/// What a server stores about a client.
package struct ClientRecord: Hashable, Sendable {
    /// Assigned by the server, ascending from 1.
    package var id: UInt64
    package var userID: String?
    /// The nonce that the client has shown last, or is known to have stored.
    package var nonce: ObjectID
    /// The nonce that the client was offered last, at random. It shows this one or ``nonce``; any other means that the
    /// client's file was copied.
    package var offer: ObjectID
    /// The sequence of the last transaction acknowledged to the client.
    package var sequence: UInt64
    /// The last version that the client is known to have.
    package var version: UInt64
    package var createdAt: Timestamp
    /// When the client was last known to be connected.
    package var seenAt: Timestamp

    package init(
        id: UInt64, userID: String?, nonce: ObjectID, offer: ObjectID? = nil, sequence: UInt64 = 0, version: UInt64 = 0,
        createdAt: Timestamp, seenAt: Timestamp? = nil
    ) {
        self.offer = offer ?? nonce
        self.id = id
        self.userID = userID
        self.nonce = nonce
        self.sequence = sequence
        self.version = version
        self.createdAt = createdAt
        self.seenAt = seenAt ?? createdAt
    }
}
