import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import TestSupport
import Testing

/// Transactions drawn just under, at and just over every limit: what a store accepts the server accepts, and every
/// reader receives; what it refuses changes nothing.
@Suite(.ownThread) struct LimitGeneratorTests {
    private static let limits = HandDrivenSync.smallLimits

    private static func schema() throws -> Schema {
        let texts = (0..<4).map { Property("text\($0)", .scalar(.string)) }
        let lists = [
            Property("flags", PropertyType(.scalar(.bool), container: .list)),
            Property("numbers", PropertyType(.scalar(.int), container: .set)),
            Property("map", PropertyType(.scalar(.double), container: .map, isOptional: true)),
            Property("links", .links("Note")), Property("data", .scalar(.data)),
        ]
        return try Schema([
            ClassSchema("Note", primaryKey: "id", properties: [Property("id", .scalar(.string))] + texts + lists)
        ])
    }

    private static func row(_ key: String, _ values: [Int: Value] = [:], of schema: Schema) -> Row {
        var row = Row(key: .string(key), values: schema[0].defaultValues(for: .string(key)))
        for (position, value) in values { row.values[position] = value }
        return row
    }

    /// A value of a property with about so many bytes or elements.
    private static func value(
        of property: Int, byteCount: Int, elementCount: Int, using random: inout SeededGenerator
    ) -> Value {
        switch property {
        case 1...4: .string(random.text(max(0, byteCount)))
        case 5: .list((0..<elementCount).map { _ in .bool(random.chance(50)) })
        case 6: .set(of: (0..<elementCount).map { _ in .int(Int64(bitPattern: random.next() >> (random.next() % 60))) })
        case 7:
            .map(
                ValueMap(
                    (0..<elementCount).map { (key: String($0), value: random.chance(30) ? .null : .double(Double($0))) }
                ))
        case 8: .list((0..<elementCount).map { .link(.string(String($0 % 7))) })
        default: .data(random.bytes(max(0, byteCount)))
        }
    }

    /// Fills a text of a row up to a number of bytes of the whole row.
    private static func fill(_ row: inout Row, property: Int, to byteCount: Int, using random: inout SeededGenerator) {
        row.values[property] = .string("")
        row.values[property] = .string(random.text(max(0, byteCount - row.dataSize.byteCount)))
    }

    private static func rows(_ round: Int, _ schema: Schema, using random: inout SeededGenerator) -> [Row] {
        let delta = Int.random(in: -3...3, using: &random)
        let key = random.chance(50) ? "old\(random.next() % 3)" : "new\(round)"
        switch random.next() % 6 {
        case 0:
            // The bytes of an object, over one property or several.
            var row = Self.row(key, of: schema)
            for property in 1...3 where random.chance(60) {
                row.values[property] = value(of: property, byteCount: 9_000, elementCount: 0, using: &random)
            }
            fill(&row, property: 4, to: limits.objectByteCount + delta, using: &random)
            return [row]
        case 1:
            // The elements of an object.
            let property = Int.random(in: 5...8, using: &random)
            var row = Self.row(key, of: schema)
            row.values[property] = value(
                of: property, byteCount: 0, elementCount: limits.objectElementCount - row.values.count + delta,
                using: &random)
            return [row]
        case 2:
            // The bytes of a transaction.
            var rows = (0..<4).map { Self.row("many\(round).\($0)", of: schema) }
            for index in rows.indices {
                fill(&rows[index], property: 1, to: limits.transactionByteCount / 4 + 60 * delta, using: &random)
            }
            return rows
        case 3:
            // The elements of a transaction.
            return (0..<4).map { index in
                Self.row(
                    "many\(round).\(index)",
                    [
                        5: value(
                            of: 5, byteCount: 0, elementCount: limits.transactionElementCount / 4 - 11 + delta,
                            using: &random)
                    ], of: schema)
            }
        case 4:
            // Operations.
            return (0..<limits.operationCount + delta).map { Self.row("o\(round).\($0)", of: schema) }
        default:
            // Keys.
            return [
                Self.row("k\(round)" + random.text(limits.keyByteCount - String(round).count - 1 + delta), of: schema)
            ]
        }
    }

    @Test(arguments: seeds(3))
    func whatAStoreAcceptsEveryReaderReceivesAndWhatItRefusesChangesNothing(seed: UInt64) throws {
        #expect(Self.limits.contradictions == [])
        var random = SeededGenerator(seed: seed)
        let schema = try Self.schema()
        let sync = try HandDrivenSync(clientCount: 3, schema)
        let query = try Query.parse("Note", schema: schema)
        for client in 0..<3 { _ = try sync.engine(client).observe(query) { _ in } }
        sync.settle()
        var acceptedCount = 0
        var refusedCount = 0
        for round in 0..<40 {
            let writer = Int(random.next() % 2)
            let rows = Self.rows(round, schema, using: &random)
            let engine = sync.engine(writer)
            let outboxCount = sync.storage(writer).outboxCount
            let before = try rows.map { try sync.storage(writer).row(ObjectRef(0, $0.key)) }
            do {
                try engine.write { writer in
                    for row in rows { try writer.upsert(row, ofClass: 0, present: PropertySet(all: row.values.count)) }
                }
                acceptedCount += 1
            } catch let error as StoreError {
                refusedCount += 1
                let excess = try #require(error.cause as? LimitExcess, "\(error)")
                #expect(excess.actual > excess.limit)
                #expect([.objectTooLarge, .transactionTooLarge, .keyTooLong].contains(error.code))
                #expect(sync.storage(writer).outboxCount == outboxCount)
                #expect(try rows.map { try sync.storage(writer).row(ObjectRef(0, $0.key)) } == before)
            }
            // Else the writes of both meet at the server.
            if random.chance(60) { sync.settle() }
        }
        sync.settle()
        #expect(sync.violations == [], "seed \(seed)")
        #expect(acceptedCount > 5 && refusedCount > 5)
        // Only parts that are legal alone can be rejected, and are reported as such.
        for (_, rejection) in sync.rejections {
            #expect(rejection.reason.code == .limitExceeded && rejection.reason.message.contains("of an object"))
        }
        var expected: [ObjectKey: [String]] = [:]
        try sync.server.forEachRow(ofClass: 0) { row in
            expected[row.key] = row.values.map(EdgeValues.bits)
            return true
        }
        for client in 0..<3 {
            #expect(sync.storage(client).outboxCount == 0)
            var read: [ObjectKey: [String]] = [:]
            try sync.storage(client).forEachRow(ofClass: 0) { row in
                read[row.key] = row.values.map(EdgeValues.bits)
                return true
            }
            #expect(read == expected, "seed \(seed), client \(client)")
        }
    }

    @Test(arguments: seeds(2))
    func whatWasWrittenBeforeThereWasAServerFitsItsFrames(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let schema = try Self.schema()
        var count = 0
        let sync = try HandDrivenSync(clientCount: 1, schema) { engine in
            for index in 0..<30 {
                var row = Self.row("before\(index)", of: schema)
                if random.chance(40) {
                    let elementCount = Self.limits.objectElementCount - row.values.count
                    row.values[5] = Self.value(of: 5, byteCount: 0, elementCount: elementCount, using: &random)
                } else {
                    let byteCount = random.chance(50) ? Self.limits.objectByteCount : Self.limits.blockByteCount - 50
                    Self.fill(&row, property: 1, to: byteCount, using: &random)
                }
                try engine.write { try $0.insert(row, ofClass: 0) }
                count += 1
            }
        }
        sync.settle()
        #expect(sync.violations == [] && sync.rejections.isEmpty)
        #expect(try sync.server.count(ofClass: 0) == count)
    }

    @Test func twoWritesThatAreLegalAloneAreRefusedWhereOneStoreMakesBothAndRejectedWhereTwoDo() throws {
        let schema = try Self.schema()
        let sync = try HandDrivenSync(clientCount: 3, schema, limits: .standard)
        let query = try Query.parse("Note", schema: schema)
        for client in 0..<3 { _ = try sync.engine(client).observe(query) { _ in } }
        try sync.engine(0).write {
            for key in ["shared", "other"] { try $0.insert(Self.row(key, of: schema), ofClass: 0) }
        }
        sync.settle()
        let object = ObjectRef(0, .string("shared"))
        let other = ObjectRef(0, .string("other"))
        func write(_ property: Int, _ value: Value, of written: ObjectRef? = nil, by client: Int) throws {
            try sync.engine(client).write {
                try $0.update(written ?? object, [FieldOperation(property, .set(value))])
            }
        }
        let text = Value.string(String(repeating: "x", count: 10 << 20))
        try write(1, text, by: 0)
        let refused = #expect(throws: StoreError.self) { try write(2, text, by: 0) }
        #expect(refused?.code == .objectTooLarge)
        #expect((refused?.cause as? LimitExcess)?.limitName == "bytes of an object")
        // The other store does not know of the first.
        try write(2, text, by: 1)
        sync.settle()
        #expect(sync.violations == [])
        #expect(sync.rejections.map(\.client) == [1])
        #expect(sync.rejections.first?.rejection.reason.code == .limitExceeded)
        for client in 0..<3 {
            let row = try sync.storage(client).row(object)
            #expect(row?.values[1] == text && row?.values[2] == .string(""))
        }
        // Elements count too: this list takes little on the wire, and no server reads that many.
        let flags = Value.list([Value](repeating: .bool(true), count: 2_200_000))
        let tooMany = #expect(throws: StoreError.self) { try write(5, flags, of: other, by: 2) }
        #expect(tooMany?.message == "Note: 2200010 elements of an object; at most 1048576 are allowed")
        try write(5, .list([Value](repeating: .bool(true), count: 1_048_566)), of: other, by: 2)
        sync.settle()
        #expect(sync.violations == [])
        guard case .list(let elements)? = try sync.storage(1).row(other)?.values[5] else {
            throw StoreError(.objectMissing, "no list")
        }
        #expect(elements.count == 1_048_566)
    }

    @Test func anUploadThatCannotBeReadIsRejectedByItsNumberAndTheSessionGoesOn() throws {
        let schema = try Self.schema()
        let sync = try HandDrivenSync(clientCount: 2, schema)
        for client in 0..<2 { _ = try sync.engine(client).observe(try Query.parse("Note", schema: schema)) { _ in } }
        sync.settle()
        // As an older version of this library would have left it in the outbox: a list of many Booleans.
        let flags = Value.list([Value](repeating: .bool(true), count: Self.limits.uploadElementCount + 1))
        let storage = sync.storage(0)
        let poison = ObjectOperation(ObjectRef(0, .string("poison")), .create([FieldOperation(5, .set(flags))]))
        let changeset = Changeset(
            sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 5), operations: [poison])
        try storage.transaction { _ = try storage.appendToOutbox(changeset) }
        try sync.engine(0).write { try $0.insert(Self.row("after", of: schema), ofClass: 0) }
        sync.settle()
        #expect(sync.rejections.count == 1)
        #expect(sync.rejections.first?.rejection.reason.message.contains("cannot be read") == true)
        #expect(sync.storage(0).outboxCount == 0)
        #expect(try sync.storage(1).row(ObjectRef(0, .string("after"))) != nil)
        #expect(try sync.storage(1).row(ObjectRef(0, .string("poison"))) == nil)
    }

    @Test func anObjectThatIsTooLargeAlreadyEndsTheSubscriptionsThatNeedItAndNoOthers() throws {
        let schema = try Self.schema()
        let sync = try HandDrivenSync(clientCount: 2, schema)
        sync.settle()
        let large = Self.row("large", [1: .string(String(repeating: "x", count: 50_000))], of: schema)
        try sync.engine(0).write { try $0.insert(Self.row("small", of: schema), ofClass: 0) }
        sync.settle()
        try sync.server.transaction { try sync.server.insert(large, ofClass: 0) }
        let reader = sync.engine(1)
        var failure: SyncError?
        let all = try Query.parse("Note", schema: schema)
        _ = try reader.observe(all) { _ in }
        _ = try reader.awaitStatus(all) { status in
            failure = status.error
            return status.state == .error
        }
        _ = try reader.observe(try Query.parse("Note WHERE id == 'small'", schema: schema)) { _ in }
        _ = try reader.observe(try Query.parse("Note WHERE id == 'large' EXCLUDE(text0)", schema: schema)) { _ in }
        sync.settle()
        let id = Identity(className: "Note", key: .string("large")).objectID
        #expect(
            failure?.message.contains("the object \(id) cannot be sent: Note") == true, "\(String(describing: failure))"
        )
        #expect(try sync.storage(1).row(ObjectRef(0, .string("small"))) != nil)
        #expect(try sync.storage(1).row(ObjectRef(0, .string("large")))?.absent == [1])
        #expect(sync.violations == [])
    }
}
