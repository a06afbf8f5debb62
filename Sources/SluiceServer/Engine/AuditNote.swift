/// What a database has to say for the audit log, by which the server finds out where it came from.
package struct AuditNote: Sendable {
    package var action: AuditEvent.Action
    /// The session that it was done in; nil for the server itself.
    package var session: SessionID?
    package var user: String?
    package var outcome = AuditEvent.Outcome.done
    package var reason: String?
}
