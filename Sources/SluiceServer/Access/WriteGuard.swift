internal import SluiceModel
internal import SluiceQuery
internal import SluiceRules
internal import SluiceWire

/// Why a transaction is rejected: its author may not do what it does, or validators refuse it.
struct TransactionRejection: Error {
    let reasons: [ServerMessage.Rejection.Reason]
}

/// Judges the uploads of a group by what their authors may do.
///
/// Authority comes from the state before a transaction, and the result is judged after it, all of its operations
/// together. What an author may not read does not exist for the author's updates and deletes.
final class WriteGuard {
    private let schema: Schema
    private let state: PreparedState
    private let binding: (SessionID) -> AccessBinding

    /// - Parameters:
    ///   - source: the state before the group.
    ///   - binding: what holds for the user of a session, as the state before the group says.
    init(over source: any ObjectSource, schema: Schema, binding: @escaping (SessionID) -> AccessBinding) {
        self.schema = schema
        self.binding = binding
        state = PreparedState(over: source, schema: schema)
    }

    /// Whether an object does not exist for the author of an upload.
    func hides(_ row: Row, of object: ObjectRef, from session: SessionID) throws -> Bool {
        try !binding(session).reads.allows(row, ofClass: object.classIndex, in: state)
    }

    /// Whether a property has a rule of its own that does not let the author of an upload write it.
    func closes(_ property: Int, of object: ObjectRef, _ row: Row, to session: SessionID) throws -> Bool {
        guard
            let condition = binding(session).rules?.writeCondition(
                ofProperty: property, ofClass: object.classIndex)
        else { return false }
        return try !condition.allows(row, in: state)
    }

    /// The list that a property is, if the author of an upload is shown it without its true elements.
    func veiledList(_ property: Int, of object: ObjectRef, from session: SessionID) -> VeiledLink? {
        binding(session).reads.veiledLinks(ofClass: object.classIndex).first { $0.property == property }
    }

    /// Edits of such a list, as edits of its true elements.
    ///
    /// - Parameter rows: the object in states that the author may have known; the first that the edits fit counts.
    func revealing(_ edits: ListEdits, of list: VeiledLink, in rows: [Row], by session: SessionID) throws -> ListEdits {
        for row in rows {
            if let revealed = try binding(session).reads.revealing(edits, of: list, row, in: state) { return revealed }
        }
        return edits
    }

    /// The rejection of a creation whose key an object has that the author may not read.
    func rejection(ofCreating object: ObjectRef) -> TransactionRejection { rejection("create", object) }

    /// The rejection of what would make an object too large, where the author does not see all of it: the size would tell
    /// that of the hidden values.
    ///
    /// - Returns: nil if the author sees all of the object.
    func rejection(of object: ObjectRef, for excess: LimitExcess, by session: SessionID) -> TransactionRejection? {
        let reads = binding(session).reads
        let classIndex = object.classIndex
        guard !reads.veil(ofClass: classIndex).properties.isEmpty || !reads.veiledLinks(ofClass: classIndex).isEmpty
        else { return nil }
        let message = "\(schema[classIndex].name): more \(excess.limitName) than the \(excess.limit) allowed"
        return TransactionRejection(reasons: [.init(object: object, code: .limitExceeded, message: message)])
    }

    /// Judges a transaction, which then counts for those that follow it in the group.
    ///
    /// - Throws: ``TransactionRejection``; nothing of the transaction counts then.
    func judge(_ changes: [ChangedObject], by session: SessionID) throws {
        let rows: [(object: ObjectRef, row: Row?)] = changes.map { ($0.object, $0.new) }
        guard let rules = binding(session).rules else { return try state.attempt(rows) {} }
        let judgement = WriteJudgement(changes, by: rules)
        if let denied = try judgement.denial(before: state) { throw rejection(denied) }
        try state.attempt(rows) {
            if let denied = try judgement.denial(after: state) { throw rejection(denied) }
        }
    }

    /// Notes what became of the objects of a transaction after it was judged, which counts for those that follow it.
    func note(_ changes: [(object: ObjectRef, row: Row?)]) {
        // Nothing that is attempted here fails.
        try? state.attempt(changes) {}
    }

    private func rejection(_ denied: RejectedOperation) -> TransactionRejection {
        let what =
            switch denied.denial.cause {
            case .property(let property): "write '\(property)' of"
            case .links: "link what it may not read from"
            case .permissions: "give these permissions by"
            case .action(.create): "create"
            case .action(.read): "read"
            case .action(.update), .action(.updateAfter): "update"
            case .action(.delete): "delete"
            }
        return rejection(what, denied.object)
    }

    private func rejection(_ action: String, _ object: ObjectRef) -> TransactionRejection {
        let message = "the server's rules do not let this user \(action) this \(schema[object.classIndex].name)"
        return TransactionRejection(reasons: [.init(object: object, code: .permissionDenied, message: message)])
    }
}
