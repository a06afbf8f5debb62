package import SluiceModel
package import SluiceQuery
package import SluiceRules
internal import SluiceViews
internal import SluiceWire
internal import Synchronization

/// What a user may read and do at one state of the database. Users for whom the same holds share one.
package final class AccessBinding: Sendable {
    /// Everything is allowed, as far as the login allows it.
    package static let everything = AccessBinding(reads: .everything)

    private enum Source {
        case context(ReadContext)
        case rules(Binding)
    }

    private let source: Source
    /// What queries were read in: ``reads``, narrowed.
    private let narrowed = Mutex<[ReadContext]>([])

    /// Everything that is readable in a context may be written.
    package init(reads: ReadContext) { source = .context(reads) }

    package init(_ rules: Binding) { source = .rules(rules) }

    /// What the user may read.
    package var reads: ReadContext {
        switch source {
        case .context(let context): context
        case .rules(let rules): rules.reads
        }
    }

    /// What may be done; nil if everything that the login allows.
    package var rules: Binding? { if case .rules(let rules) = source { rules } else { nil } }

    /// Equal for equal bindings.
    package var id: ObjectID {
        switch source {
        case .context(let context): context.id
        case .rules(let rules): rules.id
        }
    }

    /// A query as the user may read it. This is the one way in which a user's query comes to a view or to SQL.
    ///
    /// - Throws: ``HiddenPropertyError`` if the query names what the user may not read.
    package func query(_ query: Query) throws(HiddenPropertyError) -> Query {
        try query.checkIsReadable(in: reads)
        let context = context(for: query)
        return query.context === context ? query : query.read(in: context)
    }

    /// What may be read by a query: the context narrowed to what the query can reach, so that readers whose rights
    /// differ only elsewhere share its view.
    private func context(for query: Query) -> ReadContext {
        let reads = reads
        guard case .rules = source, let classes = reads.classes(reachedBy: query) else { return reads }
        return narrowed.withLock { known in
            if let context = known.first(where: { $0.isNarrowed(from: reads, to: classes) }) { return context }
            let context = reads.narrowed(to: classes)
            known.append(context)
            return context
        }
    }

    /// Whether the user has a right that concerns no class.
    func has(_ right: DatabaseRight) -> Bool { rules?.rights.contains(right) ?? true }

    /// Whether some users' ids may have to be kept from the user.
    var hidesUsers: Bool { rules?.hidesUsers ?? false }

    /// Whether the id of another user must not reach the user. What cannot be found out is hidden.
    ///
    /// - Parameter source: the objects as they are, whoever asks.
    func hides(userID: String, in source: any ObjectSource) -> Bool {
        guard let rules, rules.hidesUsers else { return false }
        return (try? rules.hides(userID: userID, in: source)) ?? true
    }

    /// Whether an object allows an action.
    ///
    /// - Parameter source: the objects as they are, whoever asks.
    func allows(
        _ action: RuleAction, _ row: Row, ofClass classIndex: Int, in source: any ObjectSource
    ) throws -> Bool {
        try rules?.allows(action, row, ofClass: classIndex, in: source) ?? true
    }

    /// What the client of a session is told of what its user may read: nothing of it, but whether it is the same.
    func notice(to session: SessionID) -> ServerMessage {
        let hidden = reads.hiddenProperties.sorted { $0.key < $1.key }
        return .context(
            .init(
                session: session.session, context: reads.id, fields: fieldsID,
                hidden: hidden.map { .init(classIndex: $0.key, properties: $0.value) }))
    }

    /// Whether the same properties are hidden from the user of another binding.
    func hidesSameFields(as other: AccessBinding) -> Bool { fieldsID == other.fieldsID }

    /// Equal where the same properties are hidden.
    private var fieldsID: ObjectID {
        var text = ""
        for (index, declared) in reads.schema.classes.enumerated() {
            let veil = reads.veil(ofClass: index)
            if !veil.isEmpty { text += "\(declared.name) \(veil.hidesIdentity) \(Array(veil.properties)) " }
        }
        return text.isEmpty ? ObjectID(high: 0, low: 0) : SHA256.truncatedID(of: Array(text.utf8))
    }
}
