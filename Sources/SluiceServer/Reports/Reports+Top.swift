internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// What views cost.
extension Reports {
    /// The most views that a report of costs names.
    static let topCountMax = 100
    /// The most steps for counting the rows of those views.
    private static let countingStepMax = 400_000

    /// The costliest views, by the time that commits have taken for them; then by what was sent for them.
    func top(_ facts: Facts) throws -> JSONText {
        let ordered = facts.views.map { (cost: $0.cost, view: $0) }
            .sorted { ($0.cost.applyingTime, $0.cost.sentByteCount) > ($1.cost.applyingTime, $1.cost.sentByteCount) }
            .prefix(Self.topCountMax)
        // Each attempt has a limit of its own: it may go beyond it by a little, which must not end the report.
        let counts = try database.limitingWork(for: nil) { work in
            try ordered.map { entry in
                let left = (Self.countingStepMax - work.stepCount) / 2
                return left > 0 ? try work.attempting(left) { try rowCount(of: entry.view.live) } : nil
            }
        }
        return .object([
            ("database", .string(database.name)), ("version", .number(storage.version)),
            ("views", .number(UInt64(facts.views.count))),
            (
                "queries",
                .array(
                    zip(ordered, counts).map { entry, count in
                        let identity: [(String, JSONText)] = [
                            ("query", .string(entry.view.query.canonicalText)),
                            ("hash", .string(entry.view.query.hash.description)),
                            ("rows", count.map { .number(UInt64($0)) } ?? .null),
                        ]
                        return .object(identity + Self.members(of: entry.view))
                    })
            ),
        ])
    }

    /// The results of a view, and about what is linked to them.
    private func rowCount(of live: LiveView) throws -> Int {
        let rootCount = try live.currentRoots(in: storage)?.count ?? storage.count(matching: live.query)
        return rootCount + live.linkedCount
    }

    /// What a view has cost, as reports say it.
    static func members(of view: SharedView) -> [(String, JSONText)] {
        let subscriptions = view.subscriptions
        return [
            ("subscribers", .number(UInt64(subscriptions.count))),
            ("bootstrapping", .number(UInt64(subscriptions.count { !$0.isComplete }))),
            ("found", .number(view.cost.foundCount)), ("changed", .number(UInt64(view.changeCount))),
            ("sentBytes", .number(view.cost.sentByteCount)), ("sentPages", .number(view.cost.sentPageCount)),
            ("applyingMicroseconds", .number(view.cost.applyingTime / 1_000)),
            ("bootstraps", .number(view.cost.bootstrapCount)),
            ("bootstrapMicroseconds", .number(view.cost.bootstrapTime)),
        ]
    }
}
