package import SluiceModel

/// The clients of a database: their ids, nonces and visits. They follow from the journal like its objects, so that every
/// engine of the database knows them, and two engines never give two clients one id.
///
/// A method that changes something makes a step of the transaction's own group.
package protocol ClientRecords {
    /// Creates a client, with an id that no client has had before: the greatest so far and one more.
    ///
    /// - Parameter sequence: the sequence of the last transaction that counts as acknowledged.
    func makeClient(userID: String?, nonce: ObjectID, sequence: UInt64, createdAt: Timestamp) throws -> ClientRecord

    /// A client by id; nil if there is none.
    func client(_ id: UInt64) throws -> ClientRecord?

    /// Records that a known client opens a session.
    ///
    /// - Throws: ``StorageError/Code/notFound`` for an unknown client.
    func noteVisit(_ visit: ClientVisit) throws

    /// Removes clients with their sequences and rejections.
    func removeClients(_ ids: [UInt64]) throws

    /// Whether a client has ever had an id in this history, known or removed.
    func hasGivenID(_ id: UInt64) throws -> Bool

    /// The number of clients. O(n).
    var clientCount: Int { get throws }

    /// Records that clients are connected and up to date.
    func noteSeen(_ clients: [UInt64], at time: Timestamp) throws

    /// Removes clients that were last connected before a time, if the log no longer reaches back to their version or
    /// they never uploaded anything. One call looks at some clients, in the order of their ids.
    ///
    /// - Parameters:
    ///   - id: where the last call stopped; 0 to begin.
    ///   - countMax: the most clients to look at.
    /// - Returns: how many were removed, and where to continue; nil after the last client.
    func forgetClients(lastSeenBefore time: Timestamp, after id: UInt64, countMax: Int) throws -> (
        count: Int, next: UInt64?
    )
}

extension ClientRecords {
    /// Creates a client that has uploaded nothing.
    package func makeClient(userID: String?, nonce: ObjectID, createdAt: Timestamp) throws -> ClientRecord {
        try makeClient(userID: userID, nonce: nonce, sequence: 0, createdAt: createdAt)
    }
}
