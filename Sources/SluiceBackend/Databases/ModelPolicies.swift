public import Sluice
internal import SluiceModel
public import SluiceServer
internal import Synchronization

/// What a client's transaction does to one object of a model's class, for a validator to judge. As `ProposedWrite`, with
/// Swift values. Their links are not followed in a validator, which runs while the database waits.
public struct ModelWrite<Element: Model>: Sendable {
    /// The write by property names.
    public let write: ProposedWrite
    /// The object before the transaction; nil if the transaction creates it.
    public let old: Element?
    /// The object after it; nil if the transaction deletes it.
    public let new: Element?
    private let binding: ElementBinding

    fileprivate init(_ write: ProposedWrite, _ binding: ElementBinding) throws {
        self.write = write
        self.binding = binding
        old = try write.old.map { try Element.decode($0.row, binding) }
        new = try write.new.map { try Element.decode($0.row, binding) }
    }

    /// The user who writes; nil for an anonymous one.
    public var userID: String? { write.userID }

    /// The verdict that the write counts as `body` changes it: `write.amended { $0.delay = max(0, $0.delay) }`. A
    /// deletion is accepted.
    public func amended(_ body: (inout Element) throws -> Void) throws -> WriteVerdict {
        guard var value = new, let record = write.new else { return .accept }
        try body(&value)
        let values = try value.differences(from: record, binding)
        return values.isEmpty ? .accept : .amend(values)
    }
}

/// A conflict about an object of a model's class. As `WriteConflict`, with Swift values.
public struct ModelConflict<Element: Model>: Sendable {
    /// The conflict by property names.
    public let conflict: WriteConflict
    /// The object at the version that the client knew; nil if the server does not know it any more.
    public let base: Element?
    /// The object as the client's transaction left it, where nobody else wrote.
    public let local: Element
    /// The object as the server has it.
    public let remote: Element
    /// What the rules make of both: for each property the later assignment wins.
    public let merged: Element

    fileprivate init(_ conflict: WriteConflict, _ binding: ElementBinding) throws {
        self.conflict = conflict
        base = try conflict.base.map { try Element.decode($0.row, binding) }
        local = try Element.decode(conflict.local.row, binding)
        remote = try Element.decode(conflict.remote.row, binding)
        merged = try Element.decode(conflict.merged.row, binding)
    }
}

extension SyncServer {
    /// Has each client's write to objects of a model's class judged before it is stored. See
    /// ``onWrite(to:in:timeLimit:_:)`` for when and how a validator is called.
    ///
    /// ```swift
    /// server.onWrite(to: Flight.self) { write in
    ///     guard let flight = write.new else { return .refuse("flights are not deleted") }
    ///     return flight.delay < 0 ? try write.amended { $0.delay = 0 } : .accept
    /// }
    /// ```
    public func onWrite<Element: Model>(
        to type: Element.Type, in database: String? = nil, timeLimit: Duration = .seconds(1),
        _ validator: @escaping @Sendable (ModelWrite<Element>) throws -> WriteVerdict
    ) {
        let bindings = PolicyBindings<Element>()
        onWrite(to: Element.className, in: database, timeLimit: timeLimit) { write in
            try validator(ModelWrite(write, try bindings.binding(in: write.schema)))
        }
    }

    /// Sets what becomes of conflicting writes to objects of a model's class. See ``resolveConflicts(of:in:by:)``.
    public func resolveConflicts<Element: Model>(
        of type: Element.Type, in database: String? = nil, by resolver: ConflictResolver
    ) { resolveConflicts(of: Element.className, in: database, by: resolver) }

    /// Has a closure resolve conflicting writes to objects of a model's class.
    ///
    /// ```swift
    /// server.resolveConflicts(of: Flight.self) { conflict in
    ///     var flight = conflict.merged
    ///     flight.delay = max(conflict.local.delay, conflict.remote.delay)
    ///     return flight
    /// }
    /// ```
    ///
    /// - Parameters:
    ///   - database: the name of the database; nil for all that have none of their own.
    ///   - timeLimit: as for ``ConflictResolver/custom(timeLimit:_:)``.
    ///   - resolve: returns the object as it is to be; only what differs from ``ModelConflict/merged`` counts. It must
    ///     only compute, and is perhaps called more than once about one conflict.
    public func resolveConflicts<Element: Model>(
        of type: Element.Type, in database: String? = nil, timeLimit: Duration = .seconds(1),
        _ resolve: @escaping @Sendable (ModelConflict<Element>) throws -> Element
    ) {
        let bindings = PolicyBindings<Element>()
        resolveConflicts(
            of: Element.className, in: database,
            by: .custom(timeLimit: timeLimit) { conflict in
                let binding = try bindings.binding(in: conflict.schema)
                let resolved = try resolve(ModelConflict(conflict, binding))
                return try resolved.differences(from: conflict.merged, binding)
            })
    }
}

extension Model {
    /// The values in which this differs from a record, by property name.
    fileprivate func differences(from record: Record, _ binding: ElementBinding) throws -> [String: Value] {
        let row = try encoded(for: binding)
        var values: [String: Value] = [:]
        for (index, property) in binding.classSchema.properties.enumerated()
        where !row.absent.contains(index) && !row.values[index].isIdentical(to: record.row.values[index]) {
            values[property.name] = row.values[index]
        }
        return values
    }
}

/// The binding of a model's class, made again when the schema changes.
private final class PolicyBindings<Element: Model>: Sendable {
    private let known = Mutex<(schema: Schema, binding: ElementBinding)?>(nil)

    func binding(in schema: Schema) throws -> ElementBinding {
        if let known = known.withLock({ $0 }), known.schema == schema { return known.binding }
        let binding = try ElementBinding(Element.self, className: Element.className, schema: schema)
        known.withLock { $0 = (schema, binding) }
        return binding
    }
}
