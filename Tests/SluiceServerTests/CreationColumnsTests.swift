import SluiceModel
import SluiceStorage
import SluiceViews
import SluiceWire
import TestSupport
import Testing

@testable import SluiceServer

/// Uploads that create many objects stay columns, and have the effect of their operations one by one.
struct CreationColumnsTests {
    private static let now = Timestamp(microseconds: 1_000_000_000)
    private static let user = 0
    private static let dealer = 1
    private static let note = 2

    private static func schema() throws -> Schema {
        try Schema([
            ClassSchema(
                "User", primaryKey: "id",
                properties: [
                    Property("id", .scalar(.int)), Property("name", .scalar(.string)),
                    Property("views", .scalar(.int), default: .int(7)),
                    Property("score", .scalar(.double, isOptional: true)),
                    Property("tags", PropertyType(.scalar(.string), container: .list)),
                    Property("boss", .link("User")), Property("dealer", .link("Dealer")),
                ]),
            ClassSchema(
                "Dealer", primaryKey: "name",
                properties: [Property("name", .scalar(.string)), Property("isOpen", .scalar(.bool))]),
            ClassSchema("Note", properties: [Property("text", .scalar(.string))]),
        ])
    }

    private static func database() throws -> SQLiteServerStorage {
        let storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        _ = try storage.transaction { try storage.merge(try schema(), sides: ("the server", "the test")) }
        return storage
    }

    // MARK: Generated uploads

    private static func key(_ number: Int, ofClass classIndex: Int) -> ObjectKey {
        switch classIndex {
        case user: .int(Int64(number))
        case dealer: .string("D\(number)")
        default: .id(ObjectID(high: 1, low: UInt64(number)))
        }
    }

    private static func value(_ property: Property, _ random: inout SeededGenerator) -> Value {
        switch (property.type.container, property.type.element) {
        case (.list, _): .list((0..<Int.random(in: 0...2, using: &random)).map { .string("t\($0)") })
        case (_, .link(let name)):
            Int.random(in: 0..<40, using: &random) > 0
                ? .null : .link(key(.random(in: 0..<1_600, using: &random), ofClass: name == "User" ? user : dealer))
        case (_, .scalar(.string)): .string(String(repeating: "x", count: Int.random(in: 0...9, using: &random)))
        case (_, .scalar(.int)): .int(.random(in: -3...300, using: &random))
        case (_, .scalar(.double)): Bool.random(using: &random) ? .null : .double(.random(in: 0..<1, using: &random))
        default: .bool(Bool.random(using: &random))
        }
    }

    /// A run of creations; some are invalid, too large or of objects that are there.
    private static func creations(_ random: inout SeededGenerator) throws -> [ObjectOperation] {
        let classIndex = [user, user, dealer, note].randomElement(using: &random)!
        let declared = try schema()[classIndex]
        var numbers = (0..<16).map {
            Int.random(in: 0...60, using: &random) + $0 * Int.random(in: 1...5, using: &random)
        }
        if Int.random(in: 0..<8, using: &random) > 0 { numbers = Set(numbers).sorted() }
        if Bool.random(using: &random) {
            let first = Int.random(in: 0...1_500, using: &random)
            numbers = Array(first..<first + Int.random(in: 16...40, using: &random))
        }
        let named = declared.properties.indices.filter {
            $0 != declared.primaryKeyIndex && Int.random(in: 0..<4, using: &random) > 0
        }
        var operations = numbers.map { number in
            ObjectOperation(
                ObjectRef(classIndex, key(number, ofClass: classIndex)),
                .create(
                    named.map { property in
                        let declared = declared.properties[property]
                        return Int.random(in: 0..<3, using: &random) == 0
                            ? FieldOperation(property, .setDefault(declared.defaultValue))
                            : FieldOperation(property, .set(value(declared, &random)))
                    }))
        }
        guard let property = named.first, Int.random(in: 0..<8, using: &random) == 0 else { return operations }
        let place = operations.indices.randomElement(using: &random)!
        let wrong: Value = Bool.random(using: &random) ? .data([1]) : .string(String(repeating: "y", count: 2_000))
        var fields = operations[place].fields
        fields[0] = FieldOperation(property, .set(wrong))
        operations[place].action = .create(fields)
        return operations
    }

    private static func others(_ random: inout SeededGenerator) -> [ObjectOperation] {
        (0..<Int.random(in: 1...3, using: &random)).map { _ in
            let object = ObjectRef(user, .int(.random(in: 0..<200, using: &random)))
            return switch Int.random(in: 0..<3, using: &random) {
            case 0: ObjectOperation(object, .delete)
            case 1: ObjectOperation(object, .update([FieldOperation(2, .add(.int(1)))]))
            default: ObjectOperation(object, .create([FieldOperation(1, .set(.string("other")))]))
            }
        }
    }

    private static func upload(_ client: UInt64, _ changeset: Changeset) -> Upload {
        Upload(
            session: SessionID(connection: client, session: 1), clientID: client, userID: nil, changeset: changeset)
    }

    /// A changeset as a server reads it.
    private static func received(_ changeset: Changeset) throws -> Changeset {
        try ByteReader.decode(changeset.wireBytes()) { reader throws(WireError) in try Changeset(from: &reader) }
    }

    private static func description(_ group: CommittedGroup) -> [String] {
        group.delta.changes.map {
            "\($0.object) \(String(describing: $0.old)) \(String(describing: $0.new)) \($0.authors)"
        } + group.rejections.map { "\($0)" }
            + ["\(group.delta.changeCount) \(group.delta.classes.sorted()) \(group.supersededCount) \(group.metCounts)"]
    }

    private static func log(_ storage: SQLiteServerStorage) throws -> [String] {
        var entries: [String] = []
        try storage.forEachLogEntry(after: 0) { entry in
            entries.append("\(entry)")
            return true
        }
        return entries
    }

    private static func rows(_ storage: SQLiteServerStorage) throws -> [[Row]] {
        try (0..<3).map { classIndex in
            try (0..<1_600).compactMap { try storage.row(ObjectRef(classIndex, key($0, ofClass: classIndex))) }
        }
    }

    @Test(arguments: 0..<20 as Range<UInt64>)
    func columnsHaveTheEffectOfTheirOperations(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let (byColumn, byOperation, follower) = (try Self.database(), try Self.database(), try Self.database())
        byColumn.rowsPerStatementMax = 10
        var limits = DataLimits.standard
        limits.objectByteCount = 1_500
        var sequences: [UInt64: UInt64] = [:]
        var columnarCount = 0
        for round in 0..<20 {
            let uploads = try (0..<Int.random(in: 1...4, using: &random)).map { _ in
                let client = UInt64.random(in: 1...3, using: &random)
                sequences[client, default: 0] += 1
                let isRun = round % 3 > 0 || Int.random(in: 0..<5, using: &random) > 0
                return Self.upload(
                    client,
                    Changeset(
                        sequence: sequences[client, default: 0],
                        baseVersion: .random(in: 0...byOperation.version, using: &random),
                        timestamp: HybridTimestamp(microseconds: Int64(round * 10) + Int64(client)),
                        operations: isRun ? try Self.creations(&random) : Self.others(&random)))
            }
            let received = try uploads.map { upload in
                var upload = upload
                upload.changeset = try Self.received(upload.changeset)
                return upload
            }
            if seed % 2 == 0, round == 10 { _ = try byColumn.history(of: ObjectRef(0, .int(1)), since: 0) }
            let pipeline = CommitPipeline(storage: byColumn, workerID: nil, limits: limits)
            let committed = try pipeline.commit(received, now: Self.now)
            let expected = try CommitPipeline(storage: byOperation, workerID: nil, limits: limits)
                .commit(uploads, now: Self.now)
            #expect(Self.description(committed) == Self.description(expected), "seed \(seed)")
            for record in try byColumn.records(after: follower.head.position, countMax: .max) {
                let group = try JournalGroup.decode(record.bytes)
                columnarCount += group.transactions.count { $0.creations != nil }
                #expect(
                    try group.steps
                        == JournalGroup.decode(
                            #require(
                                byOperation.records(
                                    after: record.head.position - 1, countMax: 1
                                ).first
                            ).bytes
                        ).steps)
                let followed = try CommitPipeline(storage: follower, workerID: nil).follow(record)
                #expect(followed.delta.changes.map(\.object) == committed.delta.changes.map(\.object))
            }
        }
        #expect(try Self.rows(byColumn) == Self.rows(byOperation), "seed \(seed)")
        #expect(try Self.rows(follower) == Self.rows(byOperation), "seed \(seed)")
        #expect(try Self.log(byColumn) == Self.log(byOperation), "seed \(seed)")
        #expect(try Self.log(follower) == Self.log(byOperation), "seed \(seed)")
        #expect(columnarCount > 0, "seed \(seed)")
    }

    // MARK: Which uploads stay columns

    private static func run(_ numbers: some Sequence<Int>, _ name: Value = .string("n")) throws -> Changeset {
        try received(
            Changeset(
                sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1),
                operations: numbers.map {
                    ObjectOperation(
                        ObjectRef(user, key($0, ofClass: user)), .create([FieldOperation(1, .set(name))]))
                }))
    }

    /// How many transactions of the next group stay columns.
    private static func columnarCount(_ changesets: [Changeset], in storage: SQLiteServerStorage) throws -> Int {
        let uploads = changesets.enumerated().map { upload(UInt64($0.offset) + 1, $0.element) }
        let prepared = try CommitPipeline(storage: storage, workerID: nil).prepare(uploads, now: now)
        return prepared.group.transactions.count { $0.creations != nil }
    }

    @Test func creationsOfUnknownObjectsStayColumns() throws {
        #expect(try Self.columnarCount([Self.run(0..<20), Self.run(20..<50)], in: Self.database()) == 2)
    }

    @Test func creationsThatMayMeetOthersAreLookedAtOneByOne() throws {
        let storage = try Self.database()
        #expect(try Self.columnarCount([Self.run(0..<20), Self.run(19..<50)], in: storage) == 0)
        #expect(try Self.columnarCount([Self.run((0..<20).reversed())], in: storage) == 0)
        #expect(try Self.columnarCount([Self.run([0] + Array(0..<20))], in: storage) == 0)
        #expect(try Self.columnarCount([Self.run(0..<20, .int(1))], in: storage) == 0)
        // A ghost: nobody has created it, and somebody links to it.
        let link = ObjectOperation(
            ObjectRef(Self.user, .int(1_000)), .create([FieldOperation(5, .set(.link(.int(30))))]))
        let linking = Changeset(
            sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1), operations: [link])
        _ = try CommitPipeline(storage: storage, workerID: nil).commit([Self.upload(9, linking)], now: Self.now)
        #expect(try Self.columnarCount([Self.run(20..<40)], in: storage) == 0)
        #expect(try Self.columnarCount([Self.run(31..<60)], in: storage) == 1)
        #expect(try Self.columnarCount([Self.run(0..<30)], in: storage) == 1)
    }

    @Test func aGroupWithOtherUploadsIsLookedAtOneByOne() throws {
        let other = Changeset(
            sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1),
            operations: [ObjectOperation(ObjectRef(Self.user, .int(3)), .update([FieldOperation(2, .add(.int(1)))]))])
        let storage = try Self.database()
        #expect(try Self.columnarCount([Self.run(0..<20), other], in: storage) == 0)
        #expect(try Self.columnarCount([other, Self.run(0..<20)], in: storage) == 0)
    }

    /// The changes of a group of columns are made when somebody asks for them, by whatever thread.
    @Test func changesOfColumnsAreMadeOnce() async throws {
        let storage = try Self.database()
        let group = try CommitPipeline(storage: storage, workerID: nil)
            .commit([Self.upload(1, Self.run(0..<20))], now: Self.now)
        let delta = group.delta
        await withTaskGroup { tasks in
            for _ in 0..<4 { tasks.addTask { delta.changes.map(ObjectIdentifier.init) } }
            var made: Set<[ObjectIdentifier]> = []
            for await changes in tasks { made.insert(changes) }
            #expect(made.count == 1)
        }
        #expect(delta.change(of: ObjectRef(Self.user, .int(7)))?.new?.values[1] == .string("n"))
        #expect(delta.change(of: ObjectRef(Self.user, .int(70))) == nil)
        #expect(delta.change(of: ObjectRef(Self.dealer, .string("D7"))) == nil)
    }
}
