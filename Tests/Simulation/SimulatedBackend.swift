import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceStorage
import SluiceViews
import SluiceWire
import TestSupport

/// The code of the server's user in some seeds: validators, resolvers, and a backend in the server's process that writes
/// and observes.
struct SimulatedBackend {
    /// What no client may bring about: an age that is refused, and one that is amended.
    private static let refusedAge: Value = .int(7)
    private static let amendedAge: Value = .int(4)

    /// The queries that the backend observes.
    private static let queries = [
        "User WHERE age > 2", "Car WHERE name == 'a' SORT(name ASC) LIMIT(3) EXCLUDE(owners, dealer)", "Dealer",
        "User WHERE best.age > 1 SORT(age DESC) LIMIT(2) EXCLUDE(friends, best) TOTAL",
        "User WHERE age > 2 GROUP(name) AGGREGATE(@count, @max.age) SORT(@count DESC) LIMIT(2)",
    ]

    /// What an observer of the backend was told, and what it makes of that.
    private struct Mirror {
        let text: String
        let inbox: ChangeInbox
        var rows: [ObjectRef: Row] = [:]
        var total: Int?
        var groups: [GroupFigures]?
    }

    private var mirrors: [Mirror] = []
    private(set) var counts = BackendCounts()
    /// The transactions that validators have refused, by client and sequence, with the number of objects that each says
    /// so of.
    private(set) var refused: [UInt64: [UInt64: Int]] = [:]

    /// The validators and resolvers. They need little time, so their limits show only where a machine stands still.
    static func policies() -> WritePolicies {
        let policies = WritePolicies()
        policies.add("User", in: nil, timeLimit: .seconds(60)) { write in
            switch write.new?["age"] {
            case refusedAge: .refuse("nobody is seven")
            case amendedAge: .amend(["age": .int(5)])
            default: .accept
            }
        }
        policies.set(
            .custom(timeLimit: .seconds(60)) { conflict in
                guard case .string(let local)? = conflict.local["name"],
                    case .string(let remote)? = conflict.remote["name"]
                else { return [:] }
                return conflict.properties.contains("name") ? ["name": .string(min(local, remote))] : [:]
            }, for: "Car", in: nil)
        policies.set(.serverWins, for: "Dealer", in: nil)
        policies.set(.clientWins, for: "Note", in: nil)
        return policies
    }

    /// Makes operations on one object, which the server's process writes.
    static func operations(
        on objects: any ObjectReading, clientCount: Int, _ generator: inout SeededGenerator
    ) throws -> [ObjectOperation] {
        let schema = objects.schema
        guard let classIndex = SimulationWorld.writtenClass(schema, &generator) else { return [] }
        let declared = schema[classIndex]
        let key = SimulationWorld.key(ofClass: declared.name, clientCount: clientCount, &generator)
        let object = ObjectRef(classIndex, key)
        let properties = declared.properties.indices.filter {
            $0 != declared.primaryKeyIndex && declared.properties[$0].name != "age"
        }
        var fields: [FieldOperation] = []
        for property in properties where generator.chance(40) {
            let value = SimulationWorld.value(declared.properties[property], clientCount: clientCount, &generator)
            fields.append(FieldOperation(property, .set(value)))
        }
        guard try objects.isPresent(object) else { return [ObjectOperation(object, .create(fields))] }
        if generator.chance(15) { return [ObjectOperation(object, .delete)] }
        return fields.isEmpty ? [] : [ObjectOperation(object, .update(fields))]
    }

    /// Begins the observations of which there are none.
    mutating func observe(_ engine: DatabaseEngine, now: Timestamp) throws {
        for text in Self.queries where !mirrors.contains(where: { $0.text == text }) {
            guard let query = try? Query.parse(text, schema: engine.objects.schema) else { continue }
            let inbox = ChangeInbox()
            let (_, initial) = try engine.observe(query, by: 1, inbox, now: now)
            initial.read()
            mirrors.append(Mirror(text: text, inbox: inbox))
        }
    }

    /// Notes what validators have refused. Rejections are stored until the client confirms them, in a later batch.
    ///
    /// - Parameter clients: the numbers of the clients that have a session.
    mutating func note(_ storage: SQLiteServerStorage, of clients: some Sequence<UInt64>) throws {
        for client in clients {
            for bytes in try storage.rejections(of: client) {
                let rejection = try ServerMessage.Rejection(wireBytes: bytes)
                guard rejection.reasons.contains(where: { $0.code == .writeRefused }) else { continue }
                let former = refused[client, default: [:]].updateValue(
                    rejection.reasons.count, forKey: rejection.sequence)
                if former == nil { counts.refusals += 1 }
            }
        }
    }

    /// Forgets the observations, whose engine is gone.
    mutating func forget() { mirrors = [] }

    /// Compares what the observers were told with what is stored, and what is stored with what validators let through.
    mutating func check(_ engine: DatabaseEngine) throws {
        let objects = engine.objects
        for index in mirrors.indices.reversed() {
            var hasEnded = false
            taking: while true {
                switch mirrors[index].inbox.take() {
                case .nothing: break taking
                case .ended:
                    hasEnded = true
                    break taking
                case .change(let change):
                    counts.changes += 1
                    if !change.isOwn { counts.changesOfOthers += 1 }
                    try take(change, at: index)
                }
            }
            if hasEnded {
                mirrors.remove(at: index)
                continue
            }
            let query = try Query.parse(mirrors[index].text, schema: objects.schema)
            let stored = try objects.results(of: query)
            let told = mirrors[index].rows
            let total = query.countsMatches ? try objects.matchCount(of: query) : nil
            guard mirrors[index].total == total else {
                throw SimulationFailure("the backend observes a total of \(query) that is not \(total ?? -1)")
            }
            let groups = try objects.figures(of: query, schema: objects.schema)
            func shown(_ groups: [GroupFigures]?) -> [GroupFigures]? { groups.flatMap { query.aggregates?.shown($0) } }
            guard shown(mirrors[index].groups) == shown(groups) else {
                throw SimulationFailure(
                    "the backend observes \(mirrors[index].groups ?? []) instead of \(groups ?? [])")
            }
            let isSame =
                stored.count == told.count
                && stored.allSatisfy { object, row in
                    // Of what is excluded, changes are not told.
                    told[object].map { old in
                        query.isPartial || zip(old.values, row.values).allSatisfy { $0.isIdentical(to: $1) }
                    } ?? false
                }
            guard isSame else {
                throw SimulationFailure("the backend observes \(mirrors[index].text) as \(told), and it is \(stored)")
            }
        }
        guard let users = objects.schema.index(of: "User"), let age = objects.schema[users].index(of: "age") else {
            return
        }
        try objects.forEachRow(ofClass: users) { row in
            if row.values[age] == Self.refusedAge || row.values[age] == Self.amendedAge {
                throw SimulationFailure("a validator was not asked about \(row)")
            }
            return true
        }
    }

    private mutating func take(_ change: ObservedChange, at index: Int) throws {
        mirrors[index].total = change.total ?? mirrors[index].total
        switch change.figures {
        case nil: break
        case .whole(let groups): mirrors[index].groups = groups
        case .change(let change):
            let others = Set(change.changed.map(\.keys) + change.removed)
            mirrors[index].groups = (mirrors[index].groups ?? []).filter { !others.contains($0.keys) } + change.changed
        }
        for (object, outcome) in change.objects {
            let known = mirrors[index].rows[object]
            switch outcome {
            case .inserted(let row):
                guard known == nil else { throw SimulationFailure("the backend was told twice of \(object)") }
                mirrors[index].rows[object] = row
            case .modified(let row, _):
                guard known != nil else { throw SimulationFailure("the backend was not told of \(object)") }
                mirrors[index].rows[object] = row
            case .removed:
                guard known != nil else { throw SimulationFailure("the backend lost \(object), which it had not") }
                mirrors[index].rows[object] = nil
            }
        }
    }
}

/// What backends have met.
package struct BackendCounts: Sendable, SummedCounts {
    /// How many changes observers in the server's processes were told of, and how many of these others have written.
    package var changes = 0
    package var changesOfOthers = 0
    /// How many transactions of clients validators have refused.
    package var refusals = 0
    /// How many transactions the processes have written themselves, and how many of these they do not know the fate of.
    package var ownWrites = 0
    package var unknownWrites = 0

    package init() {}

    package static var all: [WritableKeyPath<BackendCounts, Int>] {
        [\.changes, \.changesOfOthers, \.refusals, \.ownWrites, \.unknownWrites]
    }
}
