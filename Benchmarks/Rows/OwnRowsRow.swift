import CAllocationCounter
import SluiceAccess
import SluiceModel
import SluiceQuery
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceViews

/// A2: many users who each read what is theirs: the views that a write finds, how long that takes, and the memory of a
/// user's binding and its view.
struct OwnRowsRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    private struct Run {
        var find = 0.0
        var found = 0
        var byteCount = 0.0
    }

    func measure() throws -> [Measurement] {
        let count = workbench.options.size(100_000, quick: 80)
        let (few, many) = (try run(count / 4), try run(count))
        let title = "\(Double(count).shown) users who read what is theirs"
        return [
            Measurement(
                .ownRows, "\(title): found by a write", ours: Double(many.found), unit: "views", goal: .atMost(2)),
            Measurement(.ownRows, "\(title): to find", ours: many.find, floor: few.find, unit: "µs", goal: .atMost(10)),
            Measurement(
                .ownRows, "\(title): memory of a binding and its view", ours: many.byteCount, floor: few.byteCount,
                unit: "bytes", goal: .atMost(1_024)),
        ]
    }

    private func run(_ count: Int) throws -> Run {
        let schema = try AccessWorld.schema()
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 7, low: 7))
        func row(_ owner: Int) -> SluiceModel.Row {
            SluiceModel.Row(key: .int(1), values: [.int(1), .string("a text"), .string("u\(owner)"), .int(1), .null])
        }
        try storage.transaction {
            _ = try storage.merge(schema, sides: ("the server", "the benchmark"))
            try storage.insert(row(0), ofClass: AccessWorld.document)
        }
        let rules = AccessRules(try RulesFile(AccessWorld.rules(reading: "owner == $user.id")))
        let query = try Query.parse("Document EXCLUDE(team)", schema: schema)
        var shapes = ViewShapes(schema: schema)
        let index = ViewIndex(schema: schema)
        var bindings: [AccessBinding] = []
        bindings.reserveCapacity(count)
        let before = held_byte_count()
        for number in 0..<count {
            let user = User(id: "u\(number)", mayExtendSchema: false)
            let binding = rules.bind(user, schema: schema) { _ in [] }
            let own = try binding.query(query)
            let view = LiveView(own, shape: shapes.shape(of: own))
            try view.activate(in: storage)
            index.insert(view)
            bindings.append(binding)
        }
        var run = Run(byteCount: Double(held_byte_count() - before) / Double(count))
        var times: [Double] = []
        for round in 1...workbench.options.size(300, quick: 5) {
            let (old, new) = (row((round - 1) * 7_919 % count), row(round * 7_919 % count))
            try storage.transaction {
                try storage.update(new, ofClass: AccessWorld.document, changed: [AccessWorld.Field.owner])
            }
            let change = ObjectDelta(object: ObjectRef(AccessWorld.document, .int(1)), old: old, new: new, authors: [0])
            let commit = CommitDelta(changes: [change], version: UInt64(round))
            let state = OldStateSource(commit, over: storage, schema: schema)
            let start = ContinuousClock.now
            let found = try index.candidates(for: commit, in: storage, before: state)
            times.append((ContinuousClock.now - start) / .microseconds(1))
            run.found = max(run.found, found.count)
        }
        run.find = times.median
        try check(bindings.count, is: count, "the bindings")
        return run
    }
}
