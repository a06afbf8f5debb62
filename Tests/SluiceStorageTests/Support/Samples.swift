import FoundationEssentials
import SluiceModel
import SluiceQuery
import SluiceStorage
import TestSupport

/// Values at the edges of each scalar type.
enum Samples {
    static func values(of type: ScalarType) -> [Value] {
        switch type {
        case .bool: [.bool(false), .bool(true)]
        case .int: [.int(.min), .int(-1), .int(0), .int(1), .int(.max)]
        case .float:
            [.float(-.infinity), .float(-.greatestFiniteMagnitude), .float(0.1), .float(.infinity), .float(.nan)]
        case .double:
            [
                .double(-.infinity), .double(-1e308), .double(0.1), .double(.leastNonzeroMagnitude), .double(.infinity),
                .double(.nan),
            ]
        case .string:
            ["", "a", "e\u{301}", "é", "x\0y", "🛰️ orbit", String(repeating: "long ", count: 9_000)].map { .string($0) }
        case .data: [[], [0], [1, 0, 255], [UInt8](repeating: 7, count: 70_000)].map { .data($0) }
        case .date: [.min, -1, 0, 1_357_034_400_000_000, .max].map { .date(Timestamp(microseconds: $0)) }
        case .uuid: [.uuid(UUID(uuidString: "00000000-0000-0000-0000-000000000001")!), .uuid(UUID())]
        case .objectID:
            [.objectID(ObjectID(high: 0, low: 0)), .objectID(ObjectID(high: .max, low: 1))]
        case .decimal: ["-12345.678", "0", "0.000001", "99999999999999999999"].map { .decimal(Decimal(string: $0)!) }
        }
    }

    /// A class with every scalar type in every container; `suffix` distinguishes several such classes.
    static func everything() throws -> ClassSchema {
        var properties: [Property] = []
        for type in ScalarType.allCases {
            properties.append(Property("one_\(type.rawValue)", .scalar(type)))
            properties.append(Property("maybe_\(type.rawValue)", .scalar(type, isOptional: true), isIndexed: true))
            properties.append(Property("list_\(type.rawValue)", PropertyType(.scalar(type), container: .list)))
            properties.append(
                Property("maybes_\(type.rawValue)", PropertyType(.scalar(type), container: .list, isOptional: true)))
            properties.append(Property("set_\(type.rawValue)", PropertyType(.scalar(type), container: .set)))
            properties.append(Property("map_\(type.rawValue)", PropertyType(.scalar(type), container: .map)))
        }
        properties.append(Property("link", .link("Everything")))
        properties.append(Property("links", .links("Everything")))
        properties.append(Property("linkSet", PropertyType(.link("Everything"), container: .set)))
        properties.append(Property("linkMap", PropertyType(.link("Everything"), container: .map, isOptional: true)))
        return try ClassSchema("Everything", properties: properties)
    }

    /// Random values for a row of ``everything()``.
    static func row(_ key: ObjectKey, of declared: ClassSchema, links: [ObjectKey], using random: inout SeededGenerator)
        -> Row
    {
        let values = declared.properties.map { value(of: $0.type, links: links, using: &random) }
        return Row(key: key, version: random.next() >> 1, values: values)
    }

    private static func value(of type: PropertyType, links: [ObjectKey], using random: inout SeededGenerator) -> Value {
        func element() -> Value {
            if type.isOptional, Bool.random(using: &random) { return .null }
            switch type.element {
            case .scalar(let scalar): return values(of: scalar).randomElement(using: &random)!
            case .link: return .link(links.randomElement(using: &random)!)
            }
        }
        let count = Int.random(in: 0...4, using: &random)
        switch type.container {
        case .single: return element()
        case .list: return .list((0..<count).map { _ in element() })
        case .set: return .set(of: (0..<count).map { _ in element() })
        case .map: return .map(ValueMap((0..<count).map { (key: ["", "k", "é", "z\0"][$0], value: element()) }))
        }
    }
}

/// Two linked classes: cars with a primary key and owners without one.
enum Garage {
    static let car = 0
    static let owner = 1

    static func schema() throws -> Schema {
        try Schema([
            ClassSchema(
                "Car", primaryKey: "vin",
                properties: [
                    Property("vin", .scalar(.string)), Property("price", .scalar(.int), isIndexed: true),
                    Property("owner", .link("Owner")), Property("former", .links("Owner")),
                ]),
            ClassSchema(
                "Owner", properties: [Property("name", .scalar(.string)), Property("car", .link("Car"))]),
        ])
    }

    static func car(
        _ vin: String, price: Int64 = 0, owner: ObjectKey? = nil, former: [ObjectKey] = [], version: UInt64 = 1
    ) -> Row {
        Row(
            key: .string(vin), version: version,
            values: [
                .string(vin), .int(price), owner.map { .link($0) } ?? .null, .list(former.map { .link($0) }),
            ])
    }

    static func owner(_ number: UInt64, name: String = "", car: String? = nil, version: UInt64 = 1) -> Row {
        Row(
            key: ownerKey(number), version: version,
            values: [.string(name), car.map { .link(.string($0)) } ?? .null])
    }

    static func ownerKey(_ number: UInt64) -> ObjectKey { .id(ObjectID(high: 1 << 63, low: number)) }

    static func carRef(_ vin: String) -> ObjectRef { ObjectRef(car, .string(vin)) }

    static func ownerRef(_ number: UInt64) -> ObjectRef { ObjectRef(owner, ownerKey(number)) }

    static func server(_ location: StorageLocation = .memory) throws -> SQLiteServerStorage {
        let storage = try SQLiteServerStorage.open(location, databaseID: ObjectID(high: 1, low: 2))
        try storage.write { _ = try storage.merge(schema(), sides: ("a", "b")) }
        return storage
    }

    static func client(_ location: StorageLocation = .memory) throws -> SQLiteClientStorage {
        let storage = try SQLiteClientStorage.open(location)
        try storage.write { _ = try storage.merge(schema(), sides: ("a", "b")) }
        return storage
    }
}

extension SQLiteServerStorage {
    /// Applies a group of one transaction, as if another engine had appended it.
    @discardableResult
    func record(
        client: UInt64 = 1, sequence: UInt64 = 1, user: String? = nil, at time: Int64 = 0, accepted: Int64 = 0,
        after steps: [JournalStep] = [], _ changes: [JournalChange] = []
    ) throws -> AppliedGroup {
        let transaction = JournalTransaction(
            clientID: client, sequence: sequence, userID: user, timestamp: HybridTimestamp(microseconds: time),
            changes: changes)
        let group = JournalGroup(
            baseVersion: version, acceptedAt: Timestamp(microseconds: accepted),
            steps: steps + [.transaction(transaction)])
        return try apply(JournalRecord(group, after: head))
    }
}

extension JournalChange {
    /// The creation of an object as a row has it, with all its values.
    static func create(_ row: Row, ofClass classIndex: Int) -> JournalChange {
        JournalChange(
            ObjectRef(classIndex, row.key), .create, written: PropertySet(all: row.values.count), values: row.values)
    }
}

private struct Undone: Error {}

extension SQLiteWritableStore {
    /// Runs a transaction.
    @discardableResult
    func write<Result>(_ body: () throws -> Result) throws -> Result { try transaction(body) }

    /// Runs a transaction, and rolls it back where asked to.
    func transaction(undone isUndone: Bool, _ body: () throws -> Void) throws {
        do {
            try transaction {
                try body()
                if isUndone { throw Undone() }
            }
        } catch is Undone {}
    }

    /// The rows of a class by key.
    func rows(ofClass classIndex: Int) throws -> [ObjectKey: Row] {
        var rows: [ObjectKey: Row] = [:]
        try forEachRow(ofClass: classIndex) { row in
            rows[row.key] = row
            return true
        }
        return rows
    }

    func links(to object: ObjectRef, from classIndex: Int, _ property: Int) throws -> Set<ObjectKey> {
        var keys: Set<ObjectKey> = []
        try backlinks(to: object, fromClass: classIndex, property: property) { key in
            keys.insert(key)
            return true
        }
        return keys
    }
}
