package import SluiceModel

/// What a server stores about a client.
package struct ClientRecord: Hashable, Sendable {
    /// Assigned by the server, ascending from 1.
    package var id: UInt64
    package var userID: String?
    /// Renewed at every connect. An unexpected nonce means that the client's file was copied.
    package var nonce: ObjectID
    /// The sequence of the last transaction acknowledged to the client.
    package var sequence: UInt64
    /// The last version that the client is known to have.
    package var version: UInt64
    package var createdAt: Timestamp
    /// When the client was last known to be connected.
    package var seenAt: Timestamp

    package init(
        id: UInt64, userID: String?, nonce: ObjectID, sequence: UInt64 = 0, version: UInt64 = 0, createdAt: Timestamp,
        seenAt: Timestamp? = nil
    ) {
        self.id = id
        self.userID = userID
        self.nonce = nonce
        self.sequence = sequence
        self.version = version
        self.createdAt = createdAt
        self.seenAt = seenAt ?? createdAt
    }
}
