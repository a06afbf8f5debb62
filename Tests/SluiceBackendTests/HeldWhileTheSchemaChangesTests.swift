import Sluice
import SluiceBackend
import SluiceModel
import SluiceTesting
import Synchronization
import Testing

/// A value keeps the schema that it was made with: whatever other programs do to the classes meanwhile, what is held
/// reads as it did.
@Suite(.timeLimit(.minutes(10))) struct HeldWhileTheSchemaChangesTests {
    /// Something that is held, and what it said when it was new.
    private struct Held {
        let what: String
        let said: [String]
        let read: () throws -> [String]

        init(_ what: String, _ read: @escaping () throws -> [String]) throws {
            self.what = what
            self.read = read
            said = try read()
        }
    }

    /// Other programs, which change the classes and write objects, as a seed says.
    private struct Programs {
        private static let integers = PropertyType(.scalar(.int), container: .list)
        private static let numbersByName = PropertyType(.scalar(.int), container: .map)
        private static let integer = PropertyType.scalar(.int)
        private static let double = PropertyType.scalar(.double)
        private static let float = PropertyType.scalar(.float)
        private static let text = PropertyType.scalar(.string)
        private static let maybeInteger = PropertyType.scalar(.int, isOptional: true)
        private static let maybeDouble = PropertyType.scalar(.double, isOptional: true)
        private static let maybeText = PropertyType.scalar(.string, isOptional: true)
        private static let types: [PropertyType] = [
            .scalar(.int), maybeInteger, .scalar(.double), .scalar(.string), .scalar(.float),
            integers, numbersByName,
        ]
        private let server: TestServer
        private var random: SeededGenerator
        private(set) var properties = [Property("key", .scalar(.string)), Property("n", .scalar(.int))]
        private var classCount = 1
        private var nameCount = 0

        init(_ server: TestServer, seed: UInt64) {
            self.server = server
            random = SeededGenerator(seed: seed)
        }

        private func schema() throws -> Schema {
            try Schema(
                [ClassSchema("Item", primaryKey: "key", properties: properties)]
                    + (1..<classCount).map { try ClassSchema("More\($0)", properties: [Property("x", .scalar(.int))]) })
        }

        private mutating func below(_ bound: Int) -> Int { Int.random(in: 0..<bound, using: &random) }

        private mutating func name() -> String {
            nameCount += 1
            return "p\(nameCount)"
        }

        /// Does one thing with the classes, and writes an object.
        mutating func step() async throws -> String {
            let place = 1 + below(properties.count - 1)
            var what: String
            switch below(8) {
            case 0...2:
                properties.append(Property(name(), Self.types[below(Self.types.count)]))
                what = "added"
            case 3:
                let old = properties[place]
                properties[place] = Property(name(), old.type, was: [old.name] + old.formerNames)
                what = "renamed"
            case 4...5:
                let wider: PropertyType =
                    switch properties[place].type {
                    case Self.integer, Self.float: Self.double
                    case Self.maybeInteger: Self.maybeDouble
                    case Self.text: Self.maybeText
                    case Self.integers: PropertyType(.scalar(.double), container: .list)
                    default: properties[place].type
                    }
                properties[place] = Property(properties[place].name, wider, was: properties[place].formerNames)
                what = "retyped"
            case 6:
                classCount += 1
                what = "a class"
            default:
                try await retire(place)
                what = "retired"
            }
            try await write(count: 2)
            return what
        }

        /// Removes a property. Half of the time one of its name is declared again with another type.
        private mutating func retire(_ place: Int) async throws {
            guard properties.count > 2 else { return }
            let store = try await server.open(schema: try schema())
            let items = store.records(ofClass: "Item")
            let property = properties.remove(at: place)
            let keys = try await items.synced().map { $0["key"] }
            try await store.write { transaction in
                for key in keys {
                    try transaction.upsert(
                        Record(
                            store.schema.classes[0], ["key": try #require(key), property.name: property.defaultValue]))
                }
            }
            try await store.uploaded()
            _ = try await store.core.removeFromSchema(class: "Item", property: property.name, timeout: nil)
            await store.close()
            if below(2) == 0 { properties.append(Property(property.name, .scalar(.date, isOptional: true))) }
        }

        mutating func write(count: Int) async throws {
            let store = try await server.open(schema: try schema())
            try await store.connected()
            let declared = try #require(store.schema.classSchema(named: "Item"))
            for _ in 0..<count {
                let key = Value.string("k\(below(6))")
                let property = properties[1 + below(properties.count - 1)]
                let number = Int64(below(1_000))
                let value: Value? =
                    switch property.type {
                    case Self.integer, Self.maybeInteger: .int(number)
                    case Self.double, Self.maybeDouble: .double(Double(number) / 8)
                    case Self.float: .float(Float(number) / 8)
                    case Self.text, Self.maybeText: .string("s\(number)")
                    case Self.integers: .list([.int(number)])
                    case Self.numbersByName: .map(ValueMap([(key: "m", value: .int(number))]))
                    default: nil
                    }
                var values = ["key": key]
                if let value { values[property.name] = value }
                let written = values
                try await store.write { try $0.upsert(Record(declared, written)) }
            }
            try await store.uploaded()
            await store.close()
        }
    }

    private static func text(_ snapshot: ResultsSnapshot<Record>) -> [String] {
        snapshot.indices.map { "\(snapshot[$0]) \(snapshot.identity(at: $0))" }
            + snapshot.map(Self.text) + [snapshot.description]
    }

    private static func text(_ record: Record) -> String {
        record.description
            + record.classSchema.properties.map { "\($0.name)=\(record[$0.name].map { "\($0)" } ?? "?")" }.joined()
    }

    @Test(arguments: 1...12)
    func whatIsHeldReadsAsItDid(seed: UInt64) async throws {
        let server = try TestServer()
        var programs = Programs(server, seed: seed)
        try await programs.write(count: 4)
        let store = try await server.open(schema: Schema())
        try await store.connected()
        let database = try await server.database()
        let recorders = try ["Item", "Item SORT(n ASC) LIMIT(2)", "Item WHERE n > 100"].map {
            try EventRecorder(store.records($0))
        }
        for recorder in recorders { try await recorder.complete() }
        var (held, seen): ([Held], [Int]) = ([], [0, 0, 0])
        let told = Told()
        let token = try await database.records(ofClass: "Item").observe { told.add($0) }
        // They take their events only once classes have changed, and have the sum of what came meanwhile.
        var slow = store.records(ofClass: "Item").changes.makeAsyncIterator()
        var slowToo = database.records(ofClass: "Item").changes.makeAsyncIterator()
        let first = try #require(try await slow.next())
        held.append(try Held("the first of a sequence") { Self.text(first.results) })
        for step in 0..<8 {
            for (number, recorder) in recorders.enumerated() {
                for event in recorder.events.dropFirst(seen[number]) {
                    held.append(
                        try Held("event of step \(step)") {
                            Self.text(event.results) + event.removals.map { "\($0.identity)" } + ["\(event)"]
                        })
                }
                seen[number] = recorder.events.count
            }
            let items = store.records(ofClass: "Item")
            let snapshot = try items.snapshot()
            let fetched = try items.fetch()
            held.append(try Held("snapshot of step \(step)") { Self.text(snapshot) })
            held.append(try Held("records of step \(step)") { fetched.map(Self.text) })
            let ofServer = try await database.records(ofClass: "Item").fetch()
            held.append(try Held("the backend's records of step \(step)") { ofServer.map(Self.text) })
            for change in told.take() {
                held.append(
                    try Held("the backend's change of step \(step)") {
                        try change.insertions.map(Self.text) + change.modifications.map(Self.text)
                            + change.removals.map { "\($0.identity)" }
                    })
            }
            let what = try await programs.step()
            server.cut(store)
            try await store.core.perform { _ in }
            server.restore(store)
            try await store.connected()
            let now = try await items.synced()
            for held in held {
                #expect(try held.read() == held.said, "seed \(seed), step \(step) \(what): \(held.what)")
            }
            // Whoever looks now sees the classes of now, in whichever way.
            let shown = try items.snapshot().map(Self.text)
            #expect(now.map(Self.text) == shown, "seed \(seed), step \(step) \(what)")
            let observed = try #require(recorders[0].events.last)
            let names = observed.results.first?.classSchema.properties.map(\.type)
            for record in observed.results {
                #expect(record.classSchema.properties.map(\.type) == names)
                #expect(zip(record.classSchema.properties, record.row.values).allSatisfy { $0.type.accepts($1) })
                #expect(record.row.values.count == record.classSchema.properties.count)
            }
            if step % 3 == 2 {
                let change = try #require(try await slow.next())
                held.append(try Held("of a slow sequence") { Self.text(change.results) })
                do {
                    let ofServer = try #require(try await slowToo.next())
                    held.append(
                        try Held("of a slow sequence of the backend") {
                            try ofServer.insertions.map(Self.text) + ofServer.modifications.map(Self.text)
                        })
                } catch let error as ServerError where error.code == .database {
                    // Classes that change otherwise than by growing end what observes them in the server's process.
                    slowToo = database.records(ofClass: "Item").changes.makeAsyncIterator()
                }
            }
        }
        token.stop()
    }

    /// The changes that a backend was told.
    private final class Told: Sendable {
        private let changes = Mutex<[DatabaseChange<Record>]>([])

        func add(_ change: DatabaseChange<Record>) { changes.withLock { $0.append(change) } }

        func take() -> [DatabaseChange<Record>] {
            changes.withLock { changes in
                defer { changes = [] }
                return changes
            }
        }
    }

    private func item(_ properties: Property...) throws -> Schema {
        try Schema([
            ClassSchema(
                "Item", primaryKey: "key",
                properties: [Property("key", .scalar(.string)), Property("n", .scalar(.int))] + properties)
        ])
    }

    @Test func aChangeOfAPropertyThatIsNewerThanWhatIsShownIsToldAsAModification() async throws {
        let server = try TestServer()
        let writer = try await server.open(schema: try item())
        try await writer.write { try $0.insert(Record(writer.schema.classes[0], ["key": .string("a")])) }
        try await writer.uploaded()
        let store = try await server.open(schema: Schema())
        try await store.connected()
        let recorder = try EventRecorder(store.records("Item"))
        let before = try await recorder.complete()
        try await writer.declare(try item(Property("extra", .scalar(.int))).classes)
        try await writer.write {
            try $0.update(Identity(className: "Item", key: .string("a")), set: ["extra": .int(5)])
        }
        try await writer.uploaded()
        let after = try await recorder.event { !$0.modifications.isEmpty }
        #expect(after.results[0]["extra"] == .int(5))
        #expect(before.results[0]["extra"] == nil && before.results[0]["n"] == .int(0))
        // Rows that nobody has written since are shown with the default.
        try await writer.declare(try item(Property("more", .scalar(.string))).classes)
        try await writer.write { try $0.insert(Record(writer.schema.classes[0], ["key": .string("b")])) }
        try await writer.uploaded()
        let last = try await recorder.event { $0.results.count == 2 }
        #expect(last.results.map { $0["more"] } == [.string(""), .string("")])
    }
}
