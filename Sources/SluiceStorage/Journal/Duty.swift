/// Something that one server of a cluster does at a time, such as making snapshots of a database.
package struct Duty: Hashable, Sendable {
    /// The database that it is about.
    package var database: String
    package var name: String

    package init(_ name: String, ofDatabase database: String) {
        self.database = database
        self.name = name
    }
}

/// A duty that a server has, for some seconds at a time.
package struct HeldDuty: Sendable {
    package let duty: Duty
    /// Ascends each time that the duty comes to a server, also to the same one again.
    package let term: UInt64
    private let check: @Sendable () -> Bool

    /// - Parameter check: see ``isHeld``.
    package init(_ duty: Duty, term: UInt64, check: @escaping @Sendable () -> Bool) {
        self.duty = duty
        self.term = term
        self.check = check
    }

    /// Whether no other server can have the duty yet, by this server's clock. A server that is stopped between this
    /// question and what it does next is late all the same: only what is checked where it takes effect is safe.
    package var isHeld: Bool { check() }
}

/// Grants duties by leases (Gray and Cheriton, "Leases", SOSP 1989): a server has a duty for ten seconds after it was
/// granted or renewed. Losing one loses no data.
package protocol DutyService: Sendable {
    /// Takes a duty that no server has. Blocks; any thread may call it.
    ///
    /// - Returns: nil if another server has it, or another caller of this one.
    /// - Throws: ``StorageError/Code/busy`` if the service does not answer.
    func take(_ duty: Duty) throws -> HeldDuty?

    /// Renews a duty that the server still has. Blocks; any thread may call it.
    ///
    /// - Returns: whether the server has it. If not, it never has it again in this term.
    /// - Throws: as ``take(_:)``.
    func renew(_ held: HeldDuty) throws -> Bool

    /// Gives a duty up before its time is over. Nothing happens if the server does not have it.
    func giveUp(_ held: HeldDuty)
}

/// What was to be done as the holder of a duty has no effect, since another server may have the duty.
package struct DutyLost: Error {
    package init() {}
}
