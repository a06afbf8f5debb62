import SluiceModel
import SluiceStorage
import TestSupport
import Testing

@testable import SluiceServer

/// Several people delete one object, create it again and edit it, a list included, without knowing of each other. What
/// the server has in the end does not depend on the order in which their transactions arrive, on how they are grouped,
/// or on what the server remembers of its log.
@Suite(.ownThread) struct RecreationCommitTests {
    private static let object = ObjectRef(0, .string("x"))
    private static let schema = try! Schema([
        ClassSchema(
            "Thing", primaryKey: "id",
            properties: [
                Property("id", .scalar(.string)), Property("count", .scalar(.int)),
                Property("steps", PropertyType(.scalar(.string), container: .list)),
                Property("tags", PropertyType(.scalar(.string), container: .set)),
            ])
    ])

    /// Somebody with a store of their own.
    private struct Person {
        let client: UInt64
        let ids: ObjectIDGenerator
        var row: Row?

        init(client: UInt64, _ row: Row?) {
            self.client = client
            self.row = row
            ids = ObjectIDGenerator(origin: client)
        }

        mutating func actions(at time: Int64, _ generator: inout SeededGenerator) -> [ObjectOperation.Action] {
            var actions: [ObjectOperation.Action] = []
            for _ in 0..<generator.pick([1, 1, 2, 3]) {
                switch row {
                case nil where generator.chance(10): actions.append(.delete)
                case nil:
                    let fields = creation(&generator)
                    var made = Row(key: object.key, values: schema[0].defaultValues(for: object.key))
                    made.apply(fields)
                    row = made
                    actions.append(.create(fields))
                case let old? where !generator.chance(35):
                    guard let field = change(of: old, at: time, &generator) else { continue }
                    row?.apply(field)
                    record(field, &actions)
                default:
                    row = nil
                    actions.append(.delete)
                }
            }
            return actions
        }

        /// As a store records it: changes of a new object are part of its creation.
        private func record(_ field: FieldOperation, _ actions: inout [ObjectOperation.Action]) {
            switch actions.last {
            case .create(let fields)?: actions[actions.count - 1] = .create(fields.folding([field]))
            case .update(let fields)?: actions[actions.count - 1] = .update(fields.folding([field]))
            default: actions.append(.update([field]))
            }
        }

        private func creation(_ generator: inout SeededGenerator) -> [FieldOperation] {
            let number = Value.int(Int64.random(in: 0...3, using: &generator))
            let step = Value.string(generator.pick(["p", "q"]))
            return [
                FieldOperation(1, generator.chance(50) ? .setDefault(number) : .set(number)),
                FieldOperation(2, generator.chance(70) ? .setDefault(.list([])) : .set(.list([step]))),
                FieldOperation(3, generator.chance(70) ? .setDefault(.set([])) : .set(.set([step]))),
            ]
        }

        private func change(of row: Row, at time: Int64, _ generator: inout SeededGenerator) -> FieldOperation? {
            let number = Int64.random(in: 1...9, using: &generator)
            switch Int.random(in: 0...5, using: &generator) {
            case 0: return FieldOperation(1, .set(.int(number)))
            case 1, 2: return FieldOperation(1, .add(.int(number)))
            case 3:
                return FieldOperation(3, .edit(ElementEdits(inserting: [.string(generator.pick(["a", "b", "p"]))])))
            default:
                guard let list = row.list(of: 2) else { return nil }
                var values = list.values
                if !values.isEmpty, generator.chance(30) {
                    values.remove(at: Int.random(in: values.indices, using: &generator))
                } else {
                    let place = Int.random(in: 0...values.count, using: &generator)
                    values.insert(.string("\(client).\(number)"), at: place)
                }
                let author = ListEdits.Author(origin: client, time: time, ids: ids)
                return ListEdits.difference(from: list, to: values, by: author).map { FieldOperation(2, .editList($0)) }
            }
        }
    }

    private struct Write: Hashable {
        var client: UInt64
        var time: Int64
        var actions: [ObjectOperation.Action]
    }

    private struct History {
        var start: [FieldOperation]?
        var writes: [Write] = []

        init(_ writes: [Write]) { self.writes = writes }

        init(_ generator: inout SeededGenerator) {
            if generator.chance(60) {
                start = [FieldOperation(1, .set(.int(100))), FieldOperation(2, .set(.list([.string("s")])))]
            }
            var times = (10...60 as ClosedRange<Int64>).shuffled(using: &generator)
            for client in 1...UInt64(Int.random(in: 2...4, using: &generator)) {
                var known: Row?
                // A store need not have the object.
                if let start, generator.chance(70) {
                    var row = Row(key: object.key, values: schema[0].defaultValues(for: object.key))
                    row.apply(start)
                    known = row
                }
                var person = Person(client: client, known)
                let count = Int.random(in: 1...4, using: &generator)
                for time in times.prefix(count).sorted() {
                    writes.append(
                        Write(client: client, time: time, actions: person.actions(at: time, &generator)))
                }
                times.removeFirst(count)
            }
        }
    }

    private static func empty() throws -> SQLiteServerStorage {
        try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
    }

    /// What the server has when the transactions of a history come in an order that a seed picks.
    private static func outcome(_ history: History, seed: UInt64) throws -> Row? {
        var generator = SeededGenerator(seed: seed)
        let (storage, follower) = (try empty(), try empty())
        try storage.transaction {
            _ = try storage.merge(schema, sides: ("the server", "the test"))
            for _ in 0..<9 {
                _ = try storage.makeClient(
                    userID: nil, nonce: ObjectID(high: 0, low: 0), createdAt: Timestamp(microseconds: 1))
            }
        }
        let pipeline = CommitPipeline(storage: storage, workerID: nil)
        func upload(_ write: Write, _ sequence: Int, base: UInt64) -> Upload {
            Upload(
                session: SessionID(connection: write.client, session: 1), clientID: write.client, userID: nil,
                changeset: Changeset(
                    sequence: UInt64(sequence), baseVersion: base,
                    timestamp: HybridTimestamp(microseconds: write.time),
                    operations: write.actions.map { ObjectOperation(object, $0) }))
        }
        let now = Timestamp(microseconds: 1_000_000)
        if let start = history.start {
            _ = try pipeline.commit(
                [upload(Write(client: 9, time: 1, actions: [.create(start)]), 1, base: 0)], now: now)
        }
        let base = storage.version
        var waiting = Dictionary(grouping: history.writes, by: \.client)
        var sequences: [UInt64: Int] = [:]
        var group: [Upload] = []
        while let client = waiting.keys.sorted().randomElement(using: &generator) {
            let write = waiting[client]!.removeFirst()
            if waiting[client]!.isEmpty { waiting[client] = nil }
            sequences[client, default: 0] += 1
            group.append(upload(write, sequences[client]!, base: base))
            guard waiting.isEmpty || generator.chance(50) else { continue }
            _ = try pipeline.commit(group, now: now)
            group = []
            // A change of the schema drops what is remembered of the log.
            if generator.chance(30) {
                let other = try Schema([ClassSchema("Other\(storage.version)", properties: [])])
                _ = try storage.transaction { try storage.merge(other, sides: ("the server", "the test")) }
            }
        }
        for record in try storage.records(after: 0, countMax: .max) {
            _ = try follower.transaction { try follower.apply(record) }
        }
        #expect(try follower.row(object) == storage.row(object))
        var row = try storage.row(object)
        row?.version = 0
        return row
    }

    /// What property 1 of an object is that nobody knew when the transactions were made.
    private static func count(_ writes: [Write]) throws -> Set<Value> {
        let history = History(writes)
        return Set(try (0..<12 as Range<UInt64>).compactMap { try outcome(history, seed: $0)?.values[1] })
    }

    @Test func aChangeDoesNotBelongToWhatWasCreatedAfterADeletionOfNothing() throws {
        let add = ObjectOperation.Action.update([FieldOperation(1, .add(.int(69)))])
        let counts = try Self.count([
            Write(client: 1, time: 18, actions: [.delete, .create([])]), Write(client: 2, time: 4, actions: [add]),
        ])
        #expect(counts == [Self.schema[0].defaultValues[1]])
    }

    @Test func theDefaultOfAListLeavesItsElementsWhatTheyAre() throws {
        let list = [FieldOperation(2, .setDefault(.list([])))]
        var edits: [FieldOperation] = []
        for (value, time) in [("a", 5), ("b", 6)] as [(String, Int64)] {
            let author = ListEdits.Author(origin: 1, time: time, ids: ObjectIDGenerator(origin: UInt64(time)))
            let empty = try #require(Row(key: Self.object.key, values: Self.schema[0].defaultValues).list(of: 2))
            let difference = try #require(ListEdits.difference(from: empty, to: [.string(value)], by: author))
            edits.append(FieldOperation(2, .editList(difference)))
        }
        let history = History([
            Write(client: 1, time: 5, actions: [.create(list + [edits[0]])]),
            Write(client: 1, time: 6, actions: [.update([edits[1]])]),
            Write(client: 2, time: 7, actions: [.create(list)]),
        ])
        let first = try #require(try Self.outcome(history, seed: 0))
        #expect(first.list(of: 2)?.count == 2)
        for order in 1..<12 as Range<UInt64> {
            #expect(try Self.outcome(history, seed: order)?.isIdentical(to: first) == true)
        }
    }

    @Test func onlyTheFirstCreationOfATransactionHasDefaults() throws {
        let later = [FieldOperation(1, .setDefault(.int(2)))]
        for action in [.create(later), .update(later)] as [ObjectOperation.Action] {
            let counts = try Self.count([
                Write(client: 1, time: 20, actions: [.create([]), action]),
                Write(client: 2, time: 10, actions: [.create([])]),
            ])
            #expect(counts == [Self.schema[0].defaultValues[1]])
        }
    }

    @Test(arguments: 0..<50 as Range<UInt64>)
    func theOrderOfArrivalDecidesNothing(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let history = History(&generator)
        let first = try Self.outcome(history, seed: 0)
        for order in 1..<12 as Range<UInt64> {
            let other = try Self.outcome(history, seed: order)
            if let first, let other, first.isIdentical(to: other) { continue }
            if first == nil, other == nil { continue }
            let text = history.writes.map { "client \($0.client) at \($0.time): \($0.actions)" }
            Issue.record(
                """
                seed \(seed), order \(order): \(other.map { "\($0.values)" } ?? "nothing") and \
                \(first.map { "\($0.values)" } ?? "nothing"), from \(history.start.map { "\($0)" } ?? "nothing")
                \(text.joined(separator: "\n"))
                """)
            return
        }
    }
}
