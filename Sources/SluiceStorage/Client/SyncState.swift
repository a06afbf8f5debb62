package import SluiceModel

/// A client's identity at its server, and how far it has synced.
package struct SyncState: Hashable, Sendable {
    package var databaseID: ObjectID
    package var epoch: UInt64
    package var clientID: UInt64
    package var nonce: ObjectID
    /// The server version of the data in this store.
    package var version: UInt64

    package init(databaseID: ObjectID, epoch: UInt64, clientID: UInt64, nonce: ObjectID, version: UInt64) {
        self.databaseID = databaseID
        self.epoch = epoch
        self.clientID = clientID
        self.nonce = nonce
        self.version = version
    }
}
