internal import SluiceStorage

/// What a server has while it runs the task of ``ServerDatabase/alone(_:_:)``.
public struct Lease: Sendable {
    /// The database, for what the task writes: a transaction is stored only if the server still has the lease when the
    /// journal takes it, and throws `ServerError.Code.dutyLost` otherwise.
    public let database: ServerDatabase
    /// A number that ascends each time that a server gets the lease (a fencing token): a system that is told it can refuse
    /// those that are lower than the highest it has seen.
    public let term: UInt64
    private let held: HeldDuty

    init(_ database: ServerDatabase, _ held: HeldDuty) {
        self.database = database
        self.held = held
        term = held.term
    }

    /// Whether no other server can have the lease yet, by this server's clock. It may be over a moment later.
    public var isHeld: Bool { held.isHeld }
}
