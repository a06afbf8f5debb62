import Foundation
import Sluice
import SluiceModel
import SluiceTesting
import Testing

/// One version of a program's model, with one property of any type.
private struct Versioned<Held: PropertyValue>: Model {
    var vin: String
    var value: Held
    var objectMetadata = ObjectMetadata.keyed

    static var className: String { "Car" }

    static var modelDefinition: ModelDefinition<Self> {
        ModelDefinition(Self.self) { model in
            model.primaryKey("vin", \.vin)
            model.property("value", \.value)
        }
    }

    init(_ vin: String, _ value: Held) {
        self.vin = vin
        self.value = value
    }

    init(from row: borrowing RowDecoder) throws {
        vin = try row.value(0)
        value = try row.value(1)
        objectMetadata = row.metadata
    }

    func encode(to row: inout RowEncoder) throws {
        try row.set(0, vin)
        try row.set(1, value)
    }
}

/// A row of the table of types in docs/evolution.md: two programs, each with a write that it made offline.
private struct TypeRow: Sendable {
    let title: String
    /// Plays the row, and gives the other cells of it.
    let play: @Sendable () async throws -> [String]

    init<Old: PropertyValue, New: PropertyValue>(_ old: Old, _ new: New, _ oldName: String, _ newName: String) {
        title = "\(oldName) → \(newName)"
        play = {
            let row = TypeRowPlay(old: old, new: new)
            return ["`\(oldName)`", "`\(newName)`"] + (try await row.run())
        }
    }

    static let all = [
        TypeRow(7, Int?.none, "Int", "Int?"),
        TypeRow("a", String?.none, "String", "String?"),
        TypeRow(Int?.none, 7, "Int?", "Int"),
        TypeRow(7, 2.0, "Int", "Double"),
        TypeRow(7, 2.5, "Int", "Double"),
        TypeRow(9_007_199_254_740_993, 2.0, "Int", "Double"),
        TypeRow(7, Double?.none, "Int", "Double?"),
        TypeRow(7.5, 3, "Double", "Int"),
        TypeRow(9_007_199_254_740_993, Decimal(2), "Int", "Decimal"),
        TypeRow(7, Decimal(string: "2.5") ?? 0, "Int", "Decimal"),
        TypeRow(Float(0.5), 0.25, "Float", "Double"),
        TypeRow(Float(0.1), 0.1, "Float", "Double"),
        TypeRow([7], [2.0, 3.0], "[Int]", "[Double]"),
        TypeRow(["a"], [nil, "b"], "[String]", "[String?]"),
        TypeRow(Set([7]), Set([2.0]), "Set<Int>", "Set<Double>"),
        TypeRow(["a": 7], ["b": Decimal(2)], "[String: Int]", "[String: Decimal]"),
        TypeRow(7, Float(2), "Int", "Float"),
        TypeRow(0.5, Decimal(2), "Double", "Decimal"),
        TypeRow(7, "a", "Int", "String"),
        TypeRow(true, 1, "Bool", "Int"),
        TypeRow("a", UUID(), "String", "UUID"),
        TypeRow(7, [7], "Int", "[Int]"),
        TypeRow([7], Set([7]), "[Int]", "Set<Int>"),
        TypeRow(7, Link<Versioned<Int>>?.none, "Int", "Link<Car>?"),
    ]
}

/// Two versions of a program on one server, and on one file.
private struct TypeRowPlay<Old: PropertyValue, New: PropertyValue> {
    let old: Old
    let new: New

    func run() async throws -> [String] {
        let server = try TestServer()
        let older = try await server.open([Versioned<Old>.self])
        try await older.write { try $0.upsert(Versioned("A", Old.before)) }
        try await older.uploaded()
        server.cut(older)
        let (rejections, reports) = AsyncStream<WriteRejection>.makeStream()
        let token = older.onWriteRejected { reports.yield($0) }
        defer { token.stop() }
        try await older.write { try $0.upsert(Versioned("A", old)) }
        await server.stop()
        // The server is of the older schema still, and the newer program has written before it reaches it.
        let newer = try await server.open([Versioned<New>.self])
        try await newer.write { try $0.insert(Versioned("B", new)) }
        try server.start()
        do {
            try await newer.connected()
        } catch let error as SyncError {
            try await checkRefusal(error, server, older)
            return ["refused", "", "", "", ""]
        }
        try await newer.uploaded()
        server.restore(older)
        try await older.connected()
        try await older.uploaded()
        let isRejected = try await text(of: "A", as: Old.self, in: older) == "`\(Self.text(Old.before.propertyValue))`"
        if isRejected {
            let rejection = await rejections.first { _ in true }
            #expect(rejection?.object?.key == .string("A"))
        }
        let type = newer.schema.classSchema(named: "Car")?.property(named: "value")?.type.description ?? ""
        let read = isRejected ? "rejected, and reported" : try await text(of: "A", as: New.self, in: newer)
        let local = try await openFile()
        #expect(local == (isRejected ? "refused" : read))
        return [
            "`\(type)`", "`\(Self.text(old.propertyValue))`", read, "`\(Self.text(new.propertyValue))`",
            try await text(of: "B", as: Old.self, in: older),
        ]
    }

    /// A refused program hears what, where and what would be right; the other goes on.
    private func checkRefusal(_ error: SyncError, _ server: TestServer, _ older: Store) async throws {
        #expect(error.code == .schema)
        #expect(
            error.message.contains(
                "Car.value is \(Old.propertyType) in the server and \(New.propertyType) in this client"),
            "\(error.message)")
        #expect(error.message.contains("add a property of another name"))
        server.restore(older)
        try await older.uploaded()
        #expect(try await text(of: "A", as: Old.self, in: older) == "`\(Self.text(old.propertyValue))`")
        #expect(try await openFile() == "refused")
    }

    /// What the newer program reads in a file that the older one wrote.
    private func openFile() async throws -> String {
        let path = FileManager.default.temporaryDirectory.path + "/sluice-evolution-\(UUID().uuidString)"
        defer {
            for suffix in ["", "-wal", "-shm", "-lock"] { try? FileManager.default.removeItem(atPath: path + suffix) }
        }
        let older = try await Store.open(StoreConfiguration(path: path, models: [Versioned<Old>.self]))
        try await older.write { try $0.insert(Versioned("A", old)) }
        await older.close()
        do {
            let newer = try await Store.open(StoreConfiguration(path: path, models: [Versioned<New>.self]))
            let text = try Self.text(of: "A", as: New.self, from: newer)
            await newer.close()
            return text
        } catch is SchemaError {
            return "refused"
        }
    }

    private func text<Held: PropertyValue>(
        of key: String, as type: Held.Type, in store: Store
    ) async throws -> String {
        _ = try await store.records("Car").synced()
        return try Self.text(of: key, as: type, from: store)
    }

    private static func text<Held: PropertyValue>(
        of key: String, as type: Held.Type, from store: Store
    ) throws -> String {
        do {
            let object = try #require(try store.object(Versioned<Held>.self, key: key))
            return "`\(text(object.value.propertyValue))`"
        } catch let error as ModelError {
            #expect(error.code == .typeMismatch)
            #expect(error.property == "value" && error.object?.key == .string(key), "\(error)")
            return "`ModelError`"
        }
    }

    private static func text(_ value: Value) -> String {
        switch value {
        case .null: "nil"
        case .bool(let value): "\(value)"
        case .int(let value): "\(value)"
        case .float(let value): "\(value)"
        case .double(let value): "\(value)"
        case .decimal(let value): "\(value)"
        case .string(let value): "\"\(value)\""
        case .list(let elements), .set(let elements): "[\(elements.map(text).joined(separator: ", "))]"
        case .map(let map): "[\(map.entries.map { "\"\($0.key)\": \(text($0.value))" }.joined(separator: ", "))]"
        default: value.description
        }
    }
}

extension PropertyValue {
    /// What the object had before the offline write.
    fileprivate static var before: Self { valuesBefore[ObjectIdentifier(Self.self)] as! Self }
}

private let valuesBefore: [ObjectIdentifier: any PropertyValue] = {
    let all: [any PropertyValue] = [
        0, 0.0, Float(0), "", false, [Int](), [String](), Set<Int>(), [String: Int](), Int?.some(5),
    ]
    return Dictionary(uniqueKeysWithValues: all.map { (ObjectIdentifier(Swift.type(of: $0)), $0) })
}()

/// The tables of docs/evolution.md are what happens.
@Suite(.timeLimit(.minutes(10))) struct EvolutionTableTests {
    private static let page: [String] = {
        let root = "/" + #filePath.split(separator: "/").dropLast(4).joined(separator: "/")
        let text = try? String(contentsOfFile: "\(root)/docs/evolution.md", encoding: .utf8)
        return (text ?? "").split(separator: "\n").map(String.init)
    }()

    private static func line(_ cells: [String]) -> String {
        "|" + cells.map { $0.isEmpty ? " |" : " \($0) |" }.joined()
    }

    /// The rows of the table under a head.
    private static func table(_ head: String) -> [String] {
        guard let start = page.firstIndex(of: head) else { return [] }
        return Array(page[(start + 2)...].prefix { $0.hasPrefix("|") })
    }

    private static let typeTable = table(
        "| before | after | then | the older program wrote offline | the newer reads | the newer wrote offline | the older reads |"
    )

    @Test(arguments: TypeRow.all.indices) func aRowOfTheTypesIsWhatHappens(index: Int) async throws {
        let line = Self.line(try await TypeRow.all[index].play())
        #expect(Self.typeTable.indices.contains(index) && Self.typeTable[index] == line, "\(line)")
    }

    @Test func theTableOfTypesHasEveryRow() { #expect(Self.typeTable.count == TypeRow.all.count) }

    // MARK: Names

    private struct NameRow {
        let stored: [Property]
        let declared: [Property]
    }

    private static func property(_ name: String, was: String...) -> Property { Property(name, .scalar(.int), was: was) }

    private static let nameRows = [
        NameRow(stored: [], declared: [property("new", was: "old")]),
        NameRow(stored: [property("old")], declared: [property("new", was: "old")]),
        NameRow(stored: [property("new", was: "old")], declared: [property("old")]),
        NameRow(stored: [property("new", was: "old")], declared: [property("newest", was: "new")]),
        NameRow(stored: [property("old")], declared: [property("newest", was: "new", "old")]),
        NameRow(stored: [property("newest", was: "new", "old")], declared: [property("new", was: "old")]),
        NameRow(stored: [property("old")], declared: [property("Old", was: "old")]),
        NameRow(stored: [property("old"), property("new")], declared: [property("new", was: "old")]),
        NameRow(stored: [property("old"), property("new")], declared: [property("newest", was: "new", "old")]),
        NameRow(stored: [property("new", was: "old")], declared: [property("old"), property("new")]),
        NameRow(stored: [property("new", was: "old")], declared: [property("old"), property("other", was: "new")]),
    ]

    private static func text(_ properties: [Property]) -> String {
        properties.filter { $0.name != "vin" }.map { property in
            let names = property.formerNames.sorted().map { "`\($0)`" }.joined(separator: ", ")
            return "`\(property.name)`" + (names.isEmpty ? "" : " (was \(names))")
        }.joined(separator: " and ")
    }

    private static func schema(_ properties: [Property]) throws -> Schema {
        try Schema([
            ClassSchema("Car", primaryKey: "vin", properties: [Property("vin", .scalar(.string))] + properties)
        ])
    }

    @Test(arguments: nameRows.indices) func aRowOfTheNamesIsWhatHappens(index: Int) async throws {
        let row = Self.nameRows[index]
        let server = try TestServer()
        let older = try await server.open(schema: try Self.schema(row.stored))
        var values = ["vin": Value.string("A")]
        for (number, property) in row.stored.enumerated() { values[property.name] = .int(Int64(number) + 7) }
        try await older.write { [values] in try $0.upsert(Record(older.schema.classes[0], values)) }
        try await older.uploaded()
        let newer = try await server.open(schema: try Self.schema(row.declared))
        var outcome: String
        do {
            try await newer.connected()
            let properties = newer.schema.classes[0].properties
            outcome = Self.text(properties)
            let record = try await newer.records("Car").synced().first
            let expected: Value = row.stored.isEmpty ? .int(0) : .int(7)
            for property in row.stored + row.declared {
                let found: Value? = record?[property.name]
                #expect(found == expected, "\(property.name)")
            }
        } catch let error as SyncError {
            outcome = "refused"
            #expect(error.code == .schema && error.message.contains("Car"), "\(error.message)")
            #expect(
                error.message.contains("two properties cannot become one")
                    || error.message.contains("cannot become two"))
        }
        let table = Self.table("| the server has | a program declares | then |")
        let line = Self.line([row.stored.isEmpty ? "nothing" : Self.text(row.stored), Self.text(row.declared), outcome])
        #expect(table.indices.contains(index) && table[index] == line, "\(line)")
        #expect(table.count == Self.nameRows.count)
    }
}
