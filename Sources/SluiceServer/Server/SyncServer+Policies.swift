extension SyncServer {
    /// Has each client's write to objects of a class judged before it is stored: accepted, refused with a reason, or
    /// amended.
    ///
    /// A validator is called once for each changed object of a transaction, after the rules have allowed the transaction
    /// and after merging. It is called on a thread of its own, while the database waits for it, and perhaps more than
    /// once about one write: so it must be quick, and only compute. What takes longer, or asks other services, belongs
    /// into a backend that observes. If it throws or takes too long, the transaction is refused, and the server logs why.
    /// One that hangs delays the database by its limit at most four times; then its class takes no writes until a call
    /// returns.
    ///
    /// Several validators of a class are called in the order in which they were added; each sees what those before it
    /// have amended. They are not asked about what this process writes itself, nor about rows that were stored before.
    /// Add them before ``start()``.
    ///
    /// - Parameters:
    ///   - className: the class; it need not exist yet.
    ///   - database: the name of the database; nil for all.
    ///   - timeLimit: the longest that one call may take; the calls for one transaction together take ten times that at
    ///     most. Default: 1 s.
    ///   - validator: judges one object's change.
    public func onWrite(
        to className: String, in database: String? = nil, timeLimit: Duration = .seconds(1),
        _ validator: @escaping @Sendable (ProposedWrite) throws -> WriteVerdict
    ) { policies.add(className, in: database, timeLimit: timeLimit, validator) }

    /// Sets what becomes of conflicting writes to objects of a class. Replaces what was set before; add it before
    /// ``start()``.
    ///
    /// - Parameters:
    ///   - className: the class; it need not exist yet.
    ///   - database: the name of the database; nil for all that have none of their own.
    ///   - resolver: decides.
    public func resolveConflicts(of className: String, in database: String? = nil, by resolver: ConflictResolver) {
        policies.set(resolver, for: className, in: database)
    }
}
