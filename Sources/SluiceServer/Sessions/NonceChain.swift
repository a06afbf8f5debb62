internal import SluiceModel

/// The chain of nonces that detects copies of a client's file.
///
/// The server stores one link. At every opening it accepts that link or the next, stores the one presented, and offers
/// the link after it. The first message after the opening confirms that the client has stored the offer, and the server
/// stores it too. So a crash of either side at any point leaves the two at most one link apart. A copy of the file
/// falls behind as soon as the original connects, and is noticed.
enum NonceChain {
    /// The link after `nonce`: 128 bits of SHA-256 over the database's id, the client's id and the nonce.
    static func next(after nonce: ObjectID, clientID: UInt64, databaseID: ObjectID) -> ObjectID {
        var bytes: [UInt8] = []
        for word in [databaseID.high, databaseID.low, clientID, nonce.high, nonce.low] {
            withUnsafeBytes(of: word.bigEndian) { bytes.append(contentsOf: $0) }
        }
        return SHA256.truncatedID(of: bytes)
    }
}
