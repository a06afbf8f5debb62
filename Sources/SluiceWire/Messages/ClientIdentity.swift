package import SluiceModel

/// Who a client file is to a database. The server gives it at the first open and renews the nonce at every one.
package struct ClientIdentity: Hashable, Sendable {
    /// The database that gave the identity.
    package var databaseID: ObjectID
    /// Changes when the database is restored from a backup.
    package var epoch: UInt64
    package var clientID: UInt64
    /// 128 random bits, remembered by both sides; one that the server does not expect means the client's file was
    /// copied.
    package var nonce: ObjectID

    package init(databaseID: ObjectID, epoch: UInt64, clientID: UInt64, nonce: ObjectID) {
        self.databaseID = databaseID
        self.epoch = epoch
        self.clientID = clientID
        self.nonce = nonce
    }
}
