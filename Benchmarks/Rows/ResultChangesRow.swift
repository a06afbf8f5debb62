import Sluice
import SluiceModel
import SluiceQuery
import SluiceViews
import Synchronization

/// R13: one row of an observed, sorted result changes. The change set and the results that are delivered with it are
/// measured alone, and from a write until its event.
struct ResultChangesRow {
    private enum Kind: String, CaseIterable {
        case inPlace = "a change in place"
        case move = "a move"
        case deletion = "a deletion"
        case insertion = "an insertion"
    }

    private let workbench: Workbench
    private let large: Int
    private let small: Int

    init(_ workbench: Workbench) {
        self.workbench = workbench
        large = workbench.options.size(100_000, quick: 2_000)
        small = large / 100
    }

    func measure() async throws -> [Measurement] {
        var lists: [Kind: (large: [Double], small: [Double])] = [:]
        var events: [Kind: (large: [Double], small: [Double])] = [:]
        for _ in 0..<workbench.options.runCount {
            for kind in Kind.allCases {
                lists[kind, default: ([], [])].large.append(try change(kind, of: large))
                lists[kind, default: ([], [])].small.append(try change(kind, of: small))
            }
            try await observe(large) { events[$0, default: ([], [])].large.append($1) }
            try await observe(small) { events[$0, default: ([], [])].small.append($1) }
        }
        let sizes = "of \(Double(large).shown) results, beside \(Double(small).shown)"
        return Kind.allCases.map { kind in
            Measurement(
                .resultChanges, "change set of \(kind.rawValue) \(sizes)", ours: lists[kind]?.large.median ?? .nan,
                floor: lists[kind]?.small.median, unit: "µs", goal: .atMost(10),
                samples: ["ours": lists[kind]?.large ?? [], "floor": lists[kind]?.small ?? []])
        }
            + Kind.allCases.map { kind in
                Measurement(
                    .resultChanges, "from a write to the event of \(kind.rawValue) \(sizes)",
                    ours: events[kind]?.large ?? [], floor: events[kind]?.small ?? [], unit: "µs",
                    goal: .ratioAtMost(1.5))
            }
    }

    // MARK: The change set alone

    private func entry(_ number: Int, price: Double) -> ResultEntry {
        let key = ObjectKey.int(Int64(number))
        return ResultEntry(
            object: ObjectRef(0, key),
            position: SortPosition(values: [.double(price)], id: ObjectID(high: 1, low: UInt64(number))),
            row: SluiceModel.Row(key: key, values: [.int(Int64(number)), .double(price)]))
    }

    /// - Returns: the microseconds of one change while the results before it are held, as a consumer holds them.
    private func change(_ kind: Kind, of count: Int) throws -> Double {
        let schema = try Schema([
            ClassSchema(
                "Car", primaryKey: "number",
                properties: [Property("number", .scalar(.int)), Property("price", .scalar(.double))])
        ])
        let query = try Query.parse("TRUEPREDICATE SORT(price ASC)", className: "Car", schema: schema)
        let list = ResultList(
            schema: schema, order: SortOrder(query.sort), limit: nil,
            entries: (0..<count).map { entry($0, price: Double($0)) })
        var editor = ResultEditor(list)
        var delivered = editor.list
        let changeCount = min(workbench.options.size(1_000, quick: 100), count / 2)
        var edits: [ResultEdit] = []
        for step in 0..<changeCount {
            let number = step * (count / changeCount)
            switch kind {
            case .inPlace: edits.append(.upsert(entry(number, price: Double(number).nextUp)))
            case .insertion: edits.append(.upsert(entry(count + step, price: Double(number) + 0.5)))
            case .deletion: edits.append(.remove(entry(number, price: 0).object, .deleted))
            case .move: edits.append(.upsert(entry(number, price: Double(count - number) + 0.5)))
            }
        }
        // In place means that the position stays, so another property changes.
        if kind == .inPlace {
            edits = edits.map { edit in
                guard case .upsert(let entry) = edit, let old = editor.index(of: entry.object) else { return edit }
                let position = list.entries[old].position
                return .upsert(ResultEntry(object: entry.object, position: position, row: entry.row))
            }
        }
        var reported = 0
        let start = ContinuousClock.now
        for edit in edits {
            let change = withExtendedLifetime(delivered) { editor.apply([edit]) }
            delivered = editor.list
            reported +=
                change.insertions.count + change.deletions.count + max(change.moves.count, change.modifications.count)
        }
        let time = (ContinuousClock.now - start) / .microseconds(1) / Double(changeCount)
        try check(reported, is: changeCount, "the changes that were reported")
        let difference = kind == .insertion ? changeCount : kind == .deletion ? -changeCount : 0
        try check(delivered.visibleCount, is: count + difference, "the results after all changes")
        let prices = delivered.visible.map { entry -> Double in
            if case .double(let price) = entry.position.values[0] { price } else { .nan }
        }
        try check(prices, is: prices.sorted(), "the prices of the results")
        return time
    }

    // MARK: From a write to its event

    private func observe(_ count: Int, _ report: (Kind, Double) -> Void) async throws {
        let store = try await workbench.openStore("changes", models: [Car.self])
        try await store.insert(Car.numbered(0..<large), hasServer: false)
        let results = store.objects(Car.self).filter("vin < $0", Car.numbered(count).vin).sorted(by: \.price)
        let events = Progress()
        let last = LastResults()
        let token = try results.observe { change in events.report(last.set(change.results)) }
        var eventCount = 1
        _ = try await events.wait(for: eventCount)
        let changeCount = workbench.options.size(200, quick: 10)
        for kind in Kind.allCases {
            let seconds = try await workbench.seconds {
                for step in 0..<changeCount {
                    try await store.write { transaction in
                        let number = step * (count / changeCount)
                        let car = Car.numbered(number)
                        switch kind {
                        case .inPlace: try transaction.update(car) { $0.views += 1 }
                        case .move: try transaction.update(car) { $0.price = 41_000 - $0.price }
                        case .deletion: try transaction.delete(car)
                        case .insertion: try transaction.upsert(car)
                        }
                    }
                    eventCount += 1
                    _ = try await events.wait(for: eventCount)
                }
            }
            report(kind, seconds / Double(changeCount) * 1e6)
        }
        try check(
            last.results?.map(\.vin) ?? [], is: try results.fetch().map(\.vin),
            "the last event's results")
        token.stop()
        await store.close()
    }
}

/// The results of the last event, and how many events there were.
private final class LastResults: Sendable {
    private let state = Mutex<(results: ResultsSnapshot<Car>?, eventCount: Int)>((nil, 0))

    var results: ResultsSnapshot<Car>? { state.withLock { $0.results } }

    /// - Returns: the number of events.
    func set(_ results: ResultsSnapshot<Car>) -> Int {
        state.withLock { state in
            state = (results, state.eventCount + 1)
            return state.eventCount
        }
    }
}
