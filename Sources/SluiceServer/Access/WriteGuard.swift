internal import SluiceModel
internal import SluiceQuery
internal import SluiceRules
internal import SluiceWire

/// Why a transaction is refused: its author may not do what it does to an object.
struct WriteRefusal: Error {
    let object: ObjectRef
    var code = ErrorCode.permissionDenied
    let message: String

    var reason: ServerMessage.Rejection.Reason { .init(object: object, code: code, message: message) }
}

/// Judges the uploads of a group by what their authors may do.
///
/// Authority comes from the state before a transaction, and the result is judged after it, all of its operations
/// together. What an author may not read does not exist for the author's updates and deletes.
final class WriteGuard {
    /// An object that a transaction changes.
    struct Change {
        let object: ObjectRef
        let old: Row?
        let new: Row?
        /// Whether one of the operations deletes the object.
        var deletes = false
        /// The properties that the operations name.
        var named: PropertySet = []
    }

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

    /// The refusal of a creation whose key an object has that the author may not read.
    func refusal(ofCreating object: ObjectRef) -> WriteRefusal { refusal("create", object) }

    /// The refusal of what would make an object too large, where the author does not see all of it: the size would tell
    /// that of the hidden values.
    ///
    /// - Returns: nil if the author sees all of the object.
    func refusal(of object: ObjectRef, for excess: LimitExcess, by session: SessionID) -> WriteRefusal? {
        let reads = binding(session).reads
        guard !reads.veil(ofClass: object.classIndex).properties.isEmpty else { return nil }
        return WriteRefusal(
            object: object, code: .limitExceeded,
            message: "\(schema[object.classIndex].name): more \(excess.limitName) than the \(excess.limit) allowed")
    }

    /// Judges a transaction, which then counts for those that follow it in the group.
    ///
    /// - Throws: ``WriteRefusal``; nothing of the transaction counts then.
    func judge(_ changes: [Change], by session: SessionID) throws {
        let binding = binding(session)
        guard let rules = binding.rules else {
            return try state.attempt(changes.map { ($0.object, $0.new) }) {}
        }
        for change in changes { try judgeBefore(change, binding) }
        try judgeGrants(changes, rules)
        try judgeLinks(changes, rules)
        try state.attempt(changes.map { ($0.object, $0.new) }) {
            for change in changes { try judgeAfter(change, binding) }
        }
    }

    private func judgeBefore(_ change: Change, _ binding: AccessBinding) throws {
        guard let old = change.old else { return }
        let object = change.object
        if change.deletes, try !allows(.delete, old, of: object, binding) { throw refusal("delete", object) }
        guard change.new != nil, !change.deletes else { return }
        guard try allows(.update, old, of: object, binding) else { throw refusal("update", object) }
        try judgeFields(change.named, on: old, of: object, binding)
    }

    private func judgeAfter(_ change: Change, _ binding: AccessBinding) throws {
        guard let new = change.new else { return }
        let object = change.object
        guard change.old == nil || change.deletes else {
            guard try allows(.updateAfter, new, of: object, binding) else { throw refusal("update", object) }
            return
        }
        guard try allows(.create, new, of: object, binding) else { throw refusal("create", object) }
        // A creation names all properties, also those that have their defaults.
        let defaults = schema[object.classIndex].defaultValues
        let named = PropertySet(change.named.filter { !new.values[$0].isIdentical(to: defaults[$0]) })
        try judgeFields(named, on: new, of: object, binding)
    }

    /// Nobody gives in a permission list what he has not.
    private func judgeGrants(_ changes: [Change], _ rules: Binding) throws {
        guard rules.hasPermissionLists else { return }
        let changed = changes.map { ChangedObject($0.object, old: $0.old, new: $0.new) }
        let rows = Dictionary(changes.map { ($0.object, $0.new) }) { _, last in last }
        let refused = try rules.refusedGrant(changed, before: state) { object in
            if let known = rows[object] { return known }
            return try state.row(object)
        }
        if let refused { throw refusal("give these permissions by", refused) }
    }

    /// Nobody makes readable, by a link, what he may not read.
    private func judgeLinks(_ changes: [Change], _ rules: Binding) throws {
        guard rules.hasTransitiveLinks else { return }
        let changed = changes.map { ChangedObject($0.object, old: $0.old, new: $0.new) }
        guard let refused = try rules.refusedLink(changed, before: state) else { return }
        throw refusal("link what it may not read from", refused)
    }

    private func judgeFields(
        _ properties: PropertySet, on row: Row, of object: ObjectRef, _ binding: AccessBinding
    ) throws {
        for property in properties {
            guard let condition = binding.rules?.writeCondition(ofProperty: property, ofClass: object.classIndex),
                try !condition.allows(row, in: state)
            else { continue }
            throw refusal("write '\(schema[object.classIndex].properties[property].name)' of", object)
        }
    }

    private func refusal(_ action: String, _ object: ObjectRef) -> WriteRefusal {
        WriteRefusal(
            object: object,
            message: "the server's rules do not let this user \(action) this \(schema[object.classIndex].name)")
    }

    private func allows(
        _ action: RuleAction, _ row: Row, of object: ObjectRef, _ binding: AccessBinding
    ) throws -> Bool {
        try binding.allows(action, row, ofClass: object.classIndex, in: state)
    }
}
