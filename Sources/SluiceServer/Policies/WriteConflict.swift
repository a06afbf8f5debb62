public import SluiceModel

/// An object to which a client's transaction assigns what others have assigned since the version that the client knew.
public struct WriteConflict: Sendable {
    /// The database's name.
    public let database: String
    /// The class and key of the object.
    public let identity: Identity
    /// The user who writes; nil for an anonymous one.
    public let userID: String?
    /// The object at the version that the client knew; nil if the server does not know it any more, since its log does
    /// not reach back or too much was changed.
    public let base: Record?
    /// The object as the client's transaction left it, where nobody else wrote.
    public let local: Record
    /// The object as the server has it.
    public let remote: Record
    /// What the rules make of both: for each property the later assignment wins.
    public let merged: Record
    /// The properties that both sides assigned, with different values; never empty.
    public let properties: Set<String>
    package let schema: Schema
}

/// Decides what becomes of an object that two sides have changed without knowing of each other.
///
/// It is asked only where both assigned the same property and the values differ. Additions add up and edits of sets and
/// maps merge by element without it, and a deletion wins over changes.
public struct ConflictResolver: Sendable {
    enum Kind: Sendable {
        case lastWriterWins, serverWins, clientWins
        case custom(Duration, @Sendable (WriteConflict) throws -> [String: Value])
    }

    let kind: Kind

    /// For each property the later assignment wins, by the hybrid clocks of the writers. This is what happens without a
    /// resolver.
    public static let lastWriterWins = ConflictResolver(kind: .lastWriterWins)
    /// What the server has stays, whatever the clocks say: the first write that arrives wins.
    public static let serverWins = ConflictResolver(kind: .serverWins)
    /// What arrives counts, whatever the clocks say: the last write that arrives wins.
    public static let clientWins = ConflictResolver(kind: .clientWins)

    /// Asks a closure.
    ///
    /// - Parameters:
    ///   - timeLimit: the longest that one call may take; the calls for one transaction together take ten times that at
    ///     most. Default: 1 s.
    ///   - resolve: returns values by property name, which need not be those in conflict; of the other properties counts
    ///     what the rules make of them. It is called on a thread of its own, while the database waits, and perhaps more
    ///     than once about one conflict: it must only compute. If it throws, takes too long or returns a value that
    ///     does not fit, the rules decide, and the server logs why.
    public static func custom(
        timeLimit: Duration = .seconds(1), _ resolve: @escaping @Sendable (WriteConflict) throws -> [String: Value]
    ) -> ConflictResolver { ConflictResolver(kind: .custom(timeLimit, resolve)) }
}
