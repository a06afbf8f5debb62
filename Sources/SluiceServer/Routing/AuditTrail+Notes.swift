extension AuditTrail {
    /// Hands on what a database has to say.
    ///
    /// - Parameter connections: where the sessions are that it was done in.
    func note(_ notes: [AuditNote], ofDatabase database: String, _ connections: OpenConnections) {
        for note in notes {
            self.note(
                note.action, user: note.user, database: database,
                address: note.session.flatMap { connections[$0.connection]?.login.address }, outcome: note.outcome,
                reason: note.reason)
        }
    }
}
