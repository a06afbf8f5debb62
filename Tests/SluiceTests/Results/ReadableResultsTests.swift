import Sluice
import SluiceModel
import SluiceTesting
import SluiceViews
import Synchronization
import TestSupport
import Testing

#if SLUICE_MACROS
    enum TicketState: String, PropertyElement { case open, done }

    @Model struct Ticket {
        @PrimaryKey var id: String
        var state: TicketState
        var rank: Int8
        var place: Int
        var group: Int
        var next: Link<Ticket>?
    }

    /// Whatever makes objects readable and unreadable, observers have those that can be read, and each event says how
    /// they come from those before.
    @Suite(.timeLimit(.minutes(10))) struct ReadableResultsTests {
        /// What becomes of one object: its new values, or nil if it is deleted.
        private typealias Edit = (key: String, values: [String: Value]?)

        /// Writes what a seed says.
        private struct Writer {
            let store: Store
            var random: SeededGenerator
            private var present: Set<String> = []

            init(_ store: Store, seed: UInt64) {
                self.store = store
                random = SeededGenerator(seed: seed)
            }

            private mutating func values() -> [String: Value] {
                [
                    "state": .string(random.pick(["open", "done", "done", "lost", "paused"])),
                    "rank": .int(random.pick([0, 1, 2, 127, 128])),
                    "place": .int(Int64.random(in: 0..<60, using: &random)),
                    "group": .int(Int64.random(in: 0..<4, using: &random)),
                    "next": random.chance(50) ? .null : .link(.string("t\(Int.random(in: 0..<24, using: &random))")),
                ]
            }

            private mutating func edit() -> Edit {
                let key = "t\(Int.random(in: 0..<24, using: &random))"
                guard present.contains(key) else { return (key, values()) }
                if random.chance(15) { return (key, nil) }
                let some = values().sorted { $0.key < $1.key }.filter { _ in random.chance(40) }
                return (key, Dictionary(uniqueKeysWithValues: some))
            }

            mutating func write() async throws {
                var edits: [Edit] = []
                for _ in 0..<random.pick([1, 1, 2, 5, 30]) { edits.append(edit()) }
                var seen: Set<String> = []
                let once = edits.filter { seen.insert($0.key).inserted }
                let known = present
                for edit in once {
                    if edit.values == nil { present.remove(edit.key) } else { present.insert(edit.key) }
                }
                let declared = try #require(store.schema.classSchema(named: "Ticket"))
                try await store.write { transaction in
                    for (key, values) in once {
                        let identity = Identity(className: "Ticket", key: .string(key))
                        guard let values else {
                            try transaction.delete(identity)
                            continue
                        }
                        if known.contains(key) {
                            try transaction.update(identity, set: values)
                        } else {
                            try transaction.insert(
                                Record(declared, values.merging(["id": .string(key)]) { $1 }))
                        }
                    }
                }
            }
        }

        private static func isReadable(_ record: Record) -> Bool {
            guard case .int(let rank) = record["rank"] else { return false }
            return rank <= 127 && [.string("open"), .string("done")].contains(record["state"])
        }

        private static func text(_ ticket: Ticket) -> String { "\(ticket)" }

        private func check(_ change: Change<Ticket>, after old: Change<Ticket>, _ context: String) {
            var diff = ResultChange()
            diff.deletions = change.removals.map { .init(index: $0.index, reason: $0.reason) }
            diff.insertions = change.insertions
            diff.modifications = change.modifications
            diff.moves = change.moves.map { .init(from: $0.from, to: $0.to) }
            let now = change.results.map(Self.text)
            #expect(diff.applied(to: old.results.map(Self.text)) { now[$0] } == now, "\(context): \(change)")
            #expect(change.deletions == change.removals.map(\.index), "\(context)")
            #expect(
                change.removals.map(\.identity) == change.deletions.map { old.results.identity(at: $0) }, "\(context)")
            // As few moves as explain the order.
            let places = Dictionary(uniqueKeysWithValues: old.results.enumerated().map { ($1.id, $0) })
            let retained = change.results.compactMap { places[$0.id] }
            var tails: [Int] = []
            for place in retained {
                let index = tails.firstIndex { $0 > place } ?? tails.count
                if index == tails.count { tails.append(place) } else { tails[index] = place }
            }
            #expect(change.moves.count == retained.count - tails.count, "\(context): \(change.moves)")
        }

        @Test(arguments: Array(UInt64(1)...16))
        func theChangesLeadFromEachSnapshotToTheNext(seed: UInt64) async throws {
            let server = try TestServer()
            let store = try await server.open([Ticket.self])
            let other = try await server.open([Ticket.self])
            var writer = Writer(seed % 2 == 0 ? store : other, seed: seed)
            if seed % 3 == 0 { for _ in 0..<5 { try await writer.write() } }
            let all = store.objects(Ticket.self).sorted(by: \.place)
            let queries = [
                all, all.limit(6), all.where { $0.place < 40 }, all.distinct(by: \.group), all.reportingPendingWrites(),
            ]
            let recorders = try queries.map { try EventRecorder($0) }
            for recorder in recorders { try await recorder.complete() }
            var seen = recorders.map { _ in 0 }
            for round in 0..<10 {
                for _ in 0..<writer.random.pick([1, 1, 3, 6]) { try await writer.write() }
                try await writer.store.uploaded()
                try await server.settled()
                for (number, (query, recorder)) in zip(queries, recorders).enumerated() {
                    let context = "seed \(seed), round \(round), query \(number)"
                    let records = try store.records(query.canonicalText).fetch()
                    let readable = records.filter(Self.isReadable).map { $0["id"] }
                    let others = Set(records.filter { !Self.isReadable($0) }.map(\.identity))
                    let snapshot = try query.snapshot()
                    #expect(snapshot.map { .string($0.id) } == readable, "\(context)")
                    #expect(Set(snapshot.unreadable.compactMap(\.object)) == others, "\(context)")
                    let last = max(0, recorder.events.count - 1)
                    try await recorder.event(from: last) { change in
                        change.results.map { .string($0.id) } == readable
                            && Set(change.results.unreadable.compactMap(\.object)) == others
                    }
                    let events = Array(recorder.events[seen[number]...])
                    for (old, new) in zip(events, events.dropFirst()) { check(new, after: old, context) }
                    seen[number] += events.count - 1
                }
            }
        }

        // MARK: What is looked at

        private struct Sure: PropertyElement, Hashable {
            static let decodedCount = Mutex(0)
            static var propertyType: PropertyType { .scalar(.int) }
            static var decodesEveryValue: Bool { true }
            var number = 0
            var propertyValue: Value { .int(Int64(number)) }

            static func decode(_ value: Value, from row: borrowing RowDecoder) -> Sure? {
                decodedCount.withLock { $0 += 1 }
                return if case .int(let number) = value { Sure(number: Int(number)) } else { nil }
            }
        }

        private struct Unsure: PropertyElement, Hashable {
            static let decodedCount = Mutex(0)
            static var propertyType: PropertyType { .scalar(.int) }
            var number = 0
            var propertyValue: Value { .int(Int64(number)) }

            static func decode(_ value: Value, from row: borrowing RowDecoder) -> Unsure? {
                decodedCount.withLock { $0 += 1 }
                guard case .int(let number) = value, number >= 0 else { return nil }
                return Unsure(number: Int(number))
            }
        }

        private struct SureModel: KeyPathModel {
            static let modelDefinition = ModelDefinition(SureModel.self) { model in
                model.primaryKey("id", \.id)
                model.property("number", \.number)
            }
            var id = 0
            var number = Sure()
            var objectMetadata = ObjectMetadata()
        }

        private struct UnsureModel: KeyPathModel {
            static let modelDefinition = ModelDefinition(UnsureModel.self) { model in
                model.primaryKey("id", \.id)
                model.property("number", \.number)
            }
            var id = 0
            var number = Unsure()
            var objectMetadata = ObjectMetadata()
        }

        @Test func onlyWhatMayBeUnreadableIsLookedAtAndOnceForEachChange() async throws {
            let store = try await Store.open(StoreConfiguration(models: [SureModel.self, UnsureModel.self]))
            try await store.write { transaction in
                for id in 0..<100 {
                    try transaction.insert(SureModel(id: id))
                    try transaction.insert(UnsureModel(id: id))
                }
            }
            let sure = try EventRecorder(store.objects(SureModel.self))
            let unsure = try EventRecorder(store.objects(UnsureModel.self))
            try await sure.event { $0.results.count == 100 }
            try await unsure.event { $0.results.count == 100 }
            #expect(Sure.decodedCount.withLock { $0 } == 0 && Unsure.decodedCount.withLock { $0 } == 100)
            for number in [-1, 2] {
                try await store.write { transaction in
                    for name in ["SureModel", "UnsureModel"] {
                        let identity = Identity(className: name, key: .int(7))
                        try transaction.update(identity, set: ["number": .int(Int64(number))])
                    }
                }
                let count = number < 0 ? 99 : 100
                try await unsure.event(from: 1) { $0.results.count == count }
            }
            try await sure.event { $0.results.count == 100 && $0.modifications.count == 1 }
            // A value that fails is tried again as what a wider type in the store would give.
            #expect(Sure.decodedCount.withLock { $0 } == 0 && Unsure.decodedCount.withLock { $0 } == 103)
        }

        // MARK: Classes that change, and what is excluded

        private struct Car: KeyPathModel {
            static let modelDefinition = ModelDefinition(Car.self) { model in
                model.primaryKey("vin", \.vin)
                model.property("cost", \.cost)
            }
            var vin = ""
            var cost = 0
            var objectMetadata = ObjectMetadata()
        }

        @Test func whatAWiderTypeBringsLeavesOutItsObjectAlone() async throws {
            let server = try TestServer()
            let old = try await server.open([Car.self])
            try await old.write { transaction in
                for vin in ["a", "b"] { try transaction.insert(Car(vin: vin, cost: 1)) }
            }
            try await old.uploaded()
            let recorder = try EventRecorder(old.objects(Car.self).sorted(by: \.vin))
            try await recorder.complete()
            let wider = try Schema([
                ClassSchema(
                    "Car", primaryKey: "vin",
                    properties: [Property("vin", .scalar(.string)), Property("cost", .scalar(.double))])
            ])
            let new = try await server.open(schema: wider)
            try await new.connected()
            server.cut(old)
            try await old.core.perform { _ in }
            server.restore(old)
            try await old.connected()
            try await new.write { transaction in
                for (vin, cost) in [("a", 0.5), ("c", 2)] {
                    try transaction.upsert(
                        Record(wider.classes[0], ["vin": .string(vin), "cost": .double(cost)]))
                }
            }
            try await new.uploaded()
            let event = try await recorder.event { $0.results.last?.vin == "c" }
            #expect(event.results.map(\.vin) == ["b", "c"] && event.results.map(\.cost) == [1, 2])
            #expect(event.results.unreadable.map(\.property) == ["cost"])
        }

        @Model struct Letter {
            @PrimaryKey var id: String
            var text: String
        }

        @Test func whatAQueryExcludesWithoutAStandInIsReadableOnceAnotherBringsIt() async throws {
            let server = try TestServer()
            let writer = try await server.open([Letter.self])
            try await writer.write { try $0.insert(Letter(id: "a", text: "hello")) }
            try await writer.uploaded()
            let store = try await server.open([Letter.self])
            let partial = try EventRecorder(store.objects(Letter.self).excluding(\.text))
            let first = try await partial.complete()
            #expect(first.results.isEmpty && first.results.unreadable.map(\.code) == [.excluded])
            _ = try await store.objects(Letter.self).synced()
            try await writer.write { try $0.insert(Letter(id: "b", text: "again")) }
            try await writer.uploaded()
            let last = try await partial.event { $0.results.map(\.text).contains("hello") }
            #expect(last.results.unreadable.allSatisfy { $0.object?.key == .string("b") })
        }

        @Test func anObjectOfAnotherClassIsLeftOut() async throws {
            let store = try await Store.open(StoreConfiguration(models: [Car.self, Letter.self]))
            let letter = Letter(id: "a", text: "")
            try await store.write { try $0.insert(letter) }
            let found = store.results(Car.self, id: letter.objectID)
            let snapshot = try found.snapshot()
            #expect(snapshot.isEmpty && snapshot.unreadable.map(\.code) == [.notInSchema])
            let recorder = try EventRecorder(found)
            try await recorder.event { $0.results.isEmpty && $0.results.unreadable.count == 1 }
        }
    }
#endif
