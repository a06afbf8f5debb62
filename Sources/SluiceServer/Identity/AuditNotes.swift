/// What a database has to say for the audit log, by which the server finds out where it came from.
package struct AuditNote: Sendable {
    package var action: AuditEvent.Action
    /// The session that it was done in; nil for the server itself.
    package var session: SessionID?
    package var user: String?
    package var outcome = AuditEvent.Outcome.done
    package var reason: String?
}

/// What a database has to say for the audit log and has not been asked for.
final class AuditNotes {
    private var notes: [AuditNote] = []

    func note(
        _ action: AuditEvent.Action, in session: SessionID? = nil, user: String?,
        _ outcome: AuditEvent.Outcome = .done, because reason: String? = nil
    ) {
        notes.append(AuditNote(action: action, session: session, user: user, outcome: outcome, reason: reason))
    }

    /// Removes and returns all notes.
    func take() -> [AuditNote] {
        defer { notes = [] }
        return notes
    }
}
