internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// What an observed query with AGGREGATE computes.
///
/// As for ``ObservedTotal``, it is what the server has said last and what pending writes make of that, object by object.
/// Where this store decides alone, and until the server has said something, it is computed of what is here, and what comes
/// and goes is added and taken away.
struct ObservedAggregate: ObservedFigure {
    let subscription: Subscription
    var observerCount = 1
    private(set) var value = ShownGroups(groups: [], isExact: false)
    /// What pending writes change of what the server has said, for each object because of which they do.
    private var effects: [ObjectRef: FigureEffect] = [:]
    /// Whether pending writes may change what is computed because of objects that are not here.
    private var concernsUnseen = false
    /// What is computed of what is here; nil where the server has said something.
    private var table: FigureTable?
    var isStale = true

    init?(_ subscription: Subscription) {
        guard subscription.query.aggregates != nil else { return nil }
        self.subscription = subscription
    }

    var dependencies: QueryDependencies { subscription.query.dependencies }

    /// Whether the server has said something.
    private var isSaid: Bool {
        !subscription.judge.isAlone && !subscription.isCached && subscription.record.figures != nil
    }

    private func reader(in storage: SQLiteClientStorage) -> ResultReader {
        ResultReader(subscription.judge, in: storage, subscription: subscription.record)
    }

    func shown(in storage: SQLiteClientStorage) -> ShownGroups {
        value.exact(subscription.judge.isAlone ? !subscription.isCached : subscription.isServed(in: storage))
    }

    mutating func renew(from storage: SQLiteClientStorage) throws {
        isStale = false
        guard let aggregates = subscription.query.aggregates else { return }
        guard isSaid else {
            effects = [:]
            concernsUnseen = false
            do {
                let table = try reader(in: storage).figureTable(aggregates)
                self.table = table
                value = ShownGroups(of: table, isAll: subscription.judge.isAlone)
            } catch let error as QueryError where error.code == .limitExceeded {
                // The server refuses it as well; other observers go on.
                table = nil
                value = ShownGroups(groups: [], isExact: false)
            }
            return
        }
        table = nil
        try readEffects(in: storage)
        noteSaid()
    }

    mutating func follow(
        _ outcome: TransactionOutcome, _ objects: Set<ObjectRef>, in storage: SQLiteClientStorage
    ) throws {
        if isSaid != (table == nil) {
            try renew(from: storage)
        } else if isSaid {
            try followPending(objects, outcome, in: storage)
        } else {
            try add(outcome, in: storage)
        }
    }

    /// Puts the figures together of what the server has said and what pending writes make of it.
    private mutating func noteSaid() {
        guard let aggregates = subscription.query.aggregates, let said = subscription.saidGroups() else { return }
        guard !effects.isEmpty else {
            value = ShownGroups(groups: said, isExact: !concernsUnseen)
            return
        }
        value = ShownGroups(aggregates, said: said, changedBy: effects.values, isCurrent: !concernsUnseen)
    }

    /// Finds what pending writes change.
    private mutating func readEffects(in storage: SQLiteClientStorage) throws {
        let reader = reader(in: storage)
        effects = try reader.figureEffects()
        concernsUnseen = try !reader.judge.concerningUnseen(reader.pendingObjects(), in: reader.state).isEmpty
    }

    /// Follows the pending writes of the objects that a transaction has changed or settled.
    private mutating func followPending(
        _ objects: Set<ObjectRef>, _ outcome: TransactionOutcome, in storage: SQLiteClientStorage
    ) throws {
        let query = subscription.query
        defer { noteSaid() }
        guard outcome.hasPendingObjects || !effects.isEmpty || concernsUnseen else { return }
        guard query.dependencies.linkPaths.isEmpty, !query.readsTime else { return try readEffects(in: storage) }
        for object in objects where object.classIndex == query.classIndex {
            effects[object] =
                try outcome.hasPending(object)
                ? subscription.judge.effectOnFigures(object, of: subscription.record, in: outcome) : nil
        }
    }

    /// Adds what a transaction brings to the matches of a query among what is here, and takes away what it takes from them.
    private mutating func add(_ outcome: TransactionOutcome, in storage: SQLiteClientStorage) throws {
        let query = subscription.query
        let judge = subscription.judge
        // Links, and what a server has named, may matter beyond the objects that have changed.
        guard query.dependencies.linkPaths.isEmpty, !subscription.isCached, !query.readsTime, var table
        else { return try renew(from: storage) }
        self.table = nil
        table.beginChange()
        for change in outcome.delta.changes where change.object.classIndex == query.classIndex {
            if let was = try judge.matchedValues(of: change.old, in: outcome.before) { table.remove(was) }
            if let now = try judge.matchedValues(of: change.new, in: outcome) {
                do throws(FigureError) { try table.add(now) } catch { return try renew(from: storage) }
            }
        }
        guard table.unknownExtremes.isEmpty else { return try renew(from: storage) }
        _ = table.endChange()
        value = ShownGroups(of: table, isAll: judge.isAlone)
        self.table = table
    }
}
