import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews

/// A store with cars, their dealers and notes without a key, whose windows are observed and compared with what a plain
/// evaluation of all rows finds.
final class WindowYard {
    /// How the store stands to a server, while none has ever answered.
    enum Arrangement: CaseIterable {
        /// The store has no server.
        case alone
        /// It has one that it has never reached, so that all writes are pending.
        case offline
        /// The same, and observers ask the server nothing.
        case cached
    }

    static let (car, dealer, note) = (0, 1, 2)
    static let (color, price, weight, dealerOfCar) = (1, 2, 3, 4)
    static let rank = 1
    static let dealerCount = 7 as Int64

    let storage: SQLiteClientStorage
    let engine: ClientEngine
    private let arrangement: Arrangement
    private(set) var observers: [WindowMirror] = []

    /// - Parameter surplus: see ``ClientOptions/windowSurplus``.
    init(_ arrangement: Arrangement = .alone, carCount: Int, surplus: Int? = nil) throws {
        let schema = try Schema([
            ClassSchema(
                "Car", primaryKey: "number",
                properties: [
                    Property("number", .scalar(.int)), Property("color", .scalar(.string)),
                    Property("price", .scalar(.int), isIndexed: true), Property("weight", .scalar(.int)),
                    Property("dealer", .link("Dealer")),
                ]),
            ClassSchema(
                "Dealer", primaryKey: "code",
                properties: [Property("code", .scalar(.int)), Property("rank", .scalar(.int))]),
            ClassSchema("Note", properties: [Property("text", .scalar(.string))]),
        ])
        self.arrangement = arrangement
        let storage = try SQLiteClientStorage.open(.memory)
        self.storage = storage
        _ = try storage.transaction { try storage.merge(schema, sides: ("the store", "the models")) }
        var options = ClientOptions()
        options.windowSurplus = surplus
        if arrangement != .alone { options.databaseName = "yard" }
        engine = try ClientEngine(
            storage: storage, options: options, now: { Timestamp(microseconds: 1) }, random: { 1 })
        try engine.write { writer in
            for code in 0..<Self.dealerCount {
                try writer.insert(Row(key: .int(code), values: [.int(code), .int(code % 4)]), ofClass: Self.dealer)
            }
            for number in 0..<Int64(carCount) {
                try writer.insert(Self.newCar(number, price: number / 2), ofClass: Self.car)
                let id = ObjectID(high: UInt64(number) &* 0x9E37_79B9_7F4A_7C15, low: 1)
                try writer.insert(Row(key: .id(id), values: [.string("note \(number)")]), ofClass: Self.note)
            }
        }
    }

    static func newCar(_ number: Int64, price: Int64) -> Row {
        Row(
            key: .int(number),
            values: [
                .int(number), .string("color \(number % 3)"), .int(price), .int(number % 10),
                .link(.int(number % dealerCount)),
            ])
    }

    static func car(_ number: Int64) -> ObjectRef { ObjectRef(car, .int(number)) }

    func query(_ text: String) throws -> Query { try Query.parse(text, schema: engine.schema) }

    @discardableResult
    func observe(_ text: String) throws -> WindowMirror {
        let mirror = WindowMirror(try query(text), storage)
        mirror.id = try engine.observe(mirror.query, isCached: arrangement == .cached) { mirror.receive($0) }
        observers.append(mirror)
        settle()
        return mirror
    }

    /// Lets every observer that keeps up handle its events.
    func settle() {
        while let busy = observers.first(where: { $0.isBusy && !$0.isLagging }) {
            busy.isBusy = false
            engine.observerIsReady(busy.id)
        }
        for observer in observers where !observer.isLagging { observer.isLate = false }
    }

    func write(_ body: (LocalWriter) throws -> Void) throws {
        try engine.write { try body($0) }
        settle()
    }

    func set(_ object: ObjectRef, _ property: Int, _ value: Value) throws {
        try write { try $0.update(object, [FieldOperation(property, .set(value))]) }
    }
}

/// What the consumer of a window knows from its events alone.
final class WindowMirror {
    let query: Query
    private let storage: SQLiteClientStorage
    var id: UInt64 = 0
    /// Whether the consumer has an event that it has not handled.
    var isBusy = false
    /// Whether it takes its time.
    var isLagging = false { didSet { if isLagging { isLate = true } } }
    /// Whether its next event may be of several commits. An object that left in one of them, and was deleted in a later
    /// one, left for the reason of the first.
    fileprivate(set) var isLate = false
    private(set) var shown: [(object: ObjectRef, row: Row)] = []
    /// What was wrong with the events.
    private(set) var problems: [String] = []

    init(_ query: Query, _ storage: SQLiteClientStorage) {
        self.query = query
        self.storage = storage
    }

    func receive(_ event: ResultEvent) {
        isBusy = true
        let now = event.list.visible.map { (object: $0.object, row: event.list.row(of: $0)) }
        if !isLate {
            for (deletion, object) in zip(event.change.deletions, event.removed) where !event.isInitial {
                let reason = try? reason(object)
                if deletion.reason != reason { problems.append("\(object) left as \(deletion.reason)") }
            }
        }
        guard let applied = event.change.applied(to: shown, element: { now[$0] }) else {
            return problems.append("the change does not fit")
        }
        if !Self.areEqual(applied, now) { problems.append("the change leads to other results") }
        if !Self.isExact(event.change, from: shown, to: now) { problems.append("the change is not what differs") }
        shown = now
    }

    /// Why an object is not shown.
    private func reason(_ object: ObjectRef) throws -> RemovalReason {
        guard let row = try storage.row(object) else { return .deleted }
        return try Evaluator(query, schema: storage.schema).matches(row, in: storage) ? .window : .filter
    }

    /// What all rows of the class, judged one by one and sorted, show.
    func expected() throws -> [(object: ObjectRef, row: Row)] {
        let evaluator = Evaluator(query, schema: storage.schema)
        var found: [(position: SortPosition, row: Row)] = []
        try storage.forEachRow(ofClass: query.classIndex) { row in
            guard try evaluator.matches(row, in: storage) else { return true }
            let position = SortPosition(
                values: try evaluator.sortValues(of: row, in: storage),
                id: Identity(className: query.className, key: row.key).objectID)
            found.append((position, row))
            return true
        }
        return query.results(among: found, values: \.position.values, id: \.position.id).map {
            (ObjectRef(query.classIndex, $0.row.key), $0.row)
        }
    }

    /// Whether a consumer that keeps up sees what a plain evaluation finds.
    var isRight: Bool { get throws { try Self.areEqual(shown, expected()) } }

    private static func areEqual(
        _ left: [(object: ObjectRef, row: Row)], _ right: [(object: ObjectRef, row: Row)]
    ) -> Bool {
        left.count == right.count
            && zip(left, right).allSatisfy { $0.object == $1.object && $0.row.isIdentical(to: $1.row) }
    }

    /// Whether a change reports what differs between two lists, with as few moves as possible. It may also report that
    /// something changed to which a row leads.
    private static func isExact(
        _ change: ResultChange, from old: [(object: ObjectRef, row: Row)], to new: [(object: ObjectRef, row: Row)]
    ) -> Bool {
        let places = Dictionary(uniqueKeysWithValues: new.enumerated().map { ($1.object, $0) })
        let before = Dictionary(uniqueKeysWithValues: old.map { ($0.object, $0.row) })
        let modified = new.indices.filter { index in
            before[new[index].object].map { !$0.isIdentical(to: new[index].row) } ?? false
        }
        // How long the longest run of rows is that stay in their order and that ends with each of them.
        let kept = old.compactMap { places[$0.object] }
        var runs: [Int] = []
        for (position, place) in kept.enumerated() {
            runs.append(1 + ((0..<position).filter { kept[$0] < place }.map { runs[$0] }.max() ?? 0))
        }
        return change.deletions.map(\.index) == old.indices.filter { places[old[$0].object] == nil }
            && change.insertions == new.indices.filter { before[new[$0].object] == nil }
            && Set(modified).isSubset(of: change.modifications)
            && change.modifications.allSatisfy { before[new[$0].object] != nil }
            && change.moves.count == kept.count - (runs.max() ?? 0)
    }
}
