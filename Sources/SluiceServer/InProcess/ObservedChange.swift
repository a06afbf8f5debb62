package import SluiceModel
package import SluiceQuery
package import SluiceWire

/// What a query computes, as an observer in this process is told of it.
package enum ToldFigures: Sendable {
    /// All groups that the query shows, in no particular order: at the beginning, and for who had not taken what changed
    /// before.
    case whole([GroupFigures])
    /// What has changed since what was told before.
    case change(FigureChange)
}

/// What commits have changed in the results of a query that this process observes. Each object occurs once.
package struct ObservedChange: Sendable {
    /// What became of one object.
    package enum Outcome: Sendable {
        /// It is a result, and was none before.
        case inserted(Row)
        /// It stays a result; these properties changed.
        case modified(Row, PropertySet)
        /// It is no result any more.
        case removed(RemovalReason)
    }

    /// Whether this is the first event, which has every result there was when the observation began.
    package let isInitial: Bool
    /// Whether the observer's own handle made the commits.
    package let isOwn: Bool
    /// The classes as the rows have them.
    package private(set) var schema: Schema
    /// The version that this leads to.
    package private(set) var version: UInt64
    /// Who made the commits, in their order.
    package private(set) var authors: [CommitAuthor]
    /// How many objects match the query, whatever its limit, if it asks for that and it is another number than before.
    package var total: Int?
    /// What the query computes, if there is a change in it.
    package var figures: ToldFigures?
    /// The objects in the order of their first change, with nil for those of which nothing is to be told any more; those
    /// of the first event in the order of the query.
    private var order: [ObjectRef?] = []
    private var outcomes: [ObjectRef: (outcome: Outcome, place: Int)] = [:]

    package init(
        isInitial: Bool = false, isOwn: Bool = false, schema: Schema, version: UInt64, authors: [CommitAuthor] = []
    ) {
        self.isInitial = isInitial
        self.isOwn = isOwn
        self.schema = schema
        self.version = version
        self.authors = authors
    }

    /// Whether no result has changed, nor what is computed.
    package var isEmpty: Bool { outcomes.isEmpty && total == nil && figures == nil }

    /// The objects with what became of them, in order.
    package var objects: [(object: ObjectRef, outcome: Outcome)] {
        order.compactMap { object in object.flatMap { object in outcomes[object].map { (object, $0.outcome) } } }
    }

    /// Adds what became of an object after everything that is known of it so far. Amortised O(1).
    package mutating func add(_ outcome: Outcome, of object: ObjectRef) {
        guard let (earlier, place) = outcomes[object] else {
            outcomes[object] = (outcome, order.count)
            order.append(object)
            return
        }
        if let together = outcome.following(earlier) {
            outcomes[object] = (together, place)
        } else {
            _ = remove(object)
        }
    }

    /// Removes and returns what became of an object; nil if nothing is known of it.
    private mutating func remove(_ object: ObjectRef) -> Outcome? {
        guard let (outcome, place) = outcomes.removeValue(forKey: object) else { return nil }
        order[place] = nil
        // Objects that come and go must not fill the memory of an observer that is slow.
        if order.count > 2 * outcomes.count + 16 {
            order.removeAll { $0 == nil }
            for case (let place, let object?) in order.enumerated() { outcomes[object]?.place = place }
        }
        return outcome
    }

    /// Adds a change that follows this one. O(objects of the other); with those of this one where the schema has changed.
    package mutating func append(_ other: ObservedChange) {
        adapt(to: other.schema)
        for (object, outcome) in other.objects { add(outcome, of: object) }
        total = other.total ?? total
        figures = other.figures ?? figures
        version = other.version
        authors += other.authors
    }

    /// Brings the rows up to a later schema.
    mutating func adapt(to schema: Schema) {
        guard schema != self.schema else { return }
        self.schema = schema
        for object in Array(outcomes.keys) { outcomes[object]?.outcome.adapt(to: schema[object.classIndex]) }
    }

    /// Removes the objects of another change, which tells of them from now on.
    ///
    /// - Returns: what is known of them, for the other to begin with.
    mutating func giveUp(_ objects: [ObjectRef]) -> [(ObjectRef, Outcome)] {
        objects.compactMap { object in remove(object).map { (object, $0) } }
    }
}

extension ObservedChange.Outcome {
    fileprivate mutating func adapt(to declared: ClassSchema) {
        switch self {
        case .inserted(var row):
            row.adapt(to: declared)
            self = .inserted(row)
        case .modified(var row, let properties):
            row.adapt(to: declared)
            self = .modified(row, properties)
        case .removed: break
        }
    }

    /// What an earlier outcome and this one are together; nil if the observer need not hear of either.
    fileprivate func following(_ earlier: Self) -> Self? {
        switch (earlier, self) {
        case (.inserted, .modified(let row, _)), (.inserted, .inserted(let row)): .inserted(row)
        case (.inserted, .removed): nil
        case (.modified(_, let before), .modified(let row, let properties)): .modified(row, before.union(properties))
        case (.modified, .inserted(let row)), (.removed, .modified(let row, _)): .modified(row, [])
        // It left and came back: every property may have changed.
        case (.removed, .inserted(let row)): .modified(row, PropertySet(all: row.values.count))
        case (.modified, .removed), (.removed, .removed): self
        }
    }
}
