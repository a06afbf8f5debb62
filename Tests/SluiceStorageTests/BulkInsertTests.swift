import CSQLite
import SluiceModel
import SluiceStorage
import TestSupport
import Testing

/// Rows that are stored together, compared with the same rows stored one by one.
struct BulkInsertTests {
    /// Everything that a file says about objects, with keys in place of local row ids.
    private static func dump(_ path: String) -> [String] {
        var handle: OpaquePointer?
        sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, nil)
        defer { sqlite3_close(handle) }
        let statements = [
            """
            SELECT 'car', c.p_vin, c._state, c._version, quote(c._absent), c._incarnation, quote(c.p_price), o._hi, \
            o._lo FROM o_Car c LEFT JOIN o_Owner o ON o._row = c.p_owner ORDER BY c.p_vin
            """,
            """
            SELECT 'owner', o._hi, o._lo, o._state, o._version, quote(o._absent), o._incarnation, quote(o.p_name), \
            c.p_vin FROM o_Owner o LEFT JOIN o_Car c ON c._row = o.p_car ORDER BY o._hi, o._lo
            """,
            """
            SELECT 'former', c.p_vin, f.position, o._lo FROM c_Car_former f LEFT JOIN o_Car c ON c._row = f.owner \
            LEFT JOIN o_Owner o ON o._row = f.value ORDER BY c.p_vin, f.position
            """,
            "SELECT 'id', hex(i.id), c.p_vin FROM i_Car i LEFT JOIN o_Car c ON c._row = i.row ORDER BY i.id",
            "PRAGMA integrity_check",
        ]
        var lines: [String] = []
        for sql in statements {
            var statement: OpaquePointer?
            sqlite3_prepare_v2(handle, sql, -1, &statement, nil)
            while sqlite3_step(statement) == SQLITE_ROW {
                let cells = (0..<sqlite3_column_count(statement)).map { column in
                    sqlite3_column_text(statement, column).map { String(cString: $0) } ?? "null"
                }
                lines.append(cells.joined(separator: "|"))
            }
            sqlite3_finalize(statement)
        }
        return lines
    }

    private static func batch(_ classIndex: Int, _ rows: [Row], _ properties: [Int], absent: PropertySet) -> RowBatch {
        RowBatch(
            classIndex: classIndex, properties: properties, absent: absent, keys: rows.map(\.key),
            versions: rows.map(\.version), cells: rows.flatMap { row in properties.map { row.values[$0] } })
    }

    private static func owner(_ random: inout SeededGenerator) -> Row {
        owner(UInt64.random(in: 0..<20, using: &random), &random)
    }

    private static func owner(_ number: UInt64, _ random: inout SeededGenerator) -> Row {
        let car = random.chance(50) ? "\(Int.random(in: 0..<20, using: &random))" : nil
        return Garage.owner(number, name: random.text(random.chance(20) ? 0 : 30), car: car, version: .max - number)
    }

    private static func car(_ random: inout SeededGenerator) -> Row {
        let former = (0..<Int.random(in: 0..<3, using: &random)).map { _ in
            Garage.ownerKey(UInt64.random(in: 0..<20, using: &random))
        }
        return Garage.car(
            "\(Int.random(in: 0..<20, using: &random))", price: Int64.random(in: -9...9, using: &random),
            owner: random.chance(50) ? Garage.ownerKey(UInt64.random(in: 0..<20, using: &random)) : nil,
            former: former, version: UInt64.random(in: 1...99, using: &random))
    }

    /// Some objects are present, deleted or ghosts before, and keys repeat within a batch.
    @Test(arguments: 0..<60) func aBatchLeavesTheFileThatItsRowsOneByOneLeave(seed: Int) throws {
        let folder = try TemporaryFolder()
        var dumps: [[String]] = []
        var members: [Set<ObjectRef>] = []
        for isTogether in [false, true] {
            var random = SeededGenerator(seed: UInt64(seed))
            let path = folder.file(isTogether ? "together" : "alone")
            let storage = try Garage.client(.file(path))
            if random.chance(50) {
                _ = try storage.write { try storage.findObject(ObjectID(high: 0, low: 0)) }
            }
            let subscription = try storage.write {
                for _ in 0..<Int.random(in: 0..<12, using: &random) {
                    let isCar = random.chance(50)
                    let row = isCar ? Self.car(&random) : Self.owner(&random)
                    let classIndex = isCar ? Garage.car : Garage.owner
                    try storage.put(row, ofClass: classIndex)
                    if random.chance(30) { try storage.delete(ObjectRef(classIndex, row.key), version: 1) }
                }
                let id = try storage.addSubscription(ClientStoreTests.record("Car")).id
                if random.chance(50) { try storage.beginStaging(id) }
                return id
            }
            for _ in 0..<3 {
                let isCar = random.chance(50)
                let classIndex = isCar ? Garage.car : Garage.owner
                let rows = (0..<Int.random(in: 1..<30, using: &random)).map { _ in
                    isCar ? Self.car(&random) : Self.owner(&random)
                }
                // Cars always carry their key's property, owners have none.
                let isWhole = random.chance(60)
                let properties = isCar ? (isWhole ? [0, 1, 2, 3] : [0, 2]) : (isWhole ? [0, 1] : [1])
                let absent: PropertySet = isWhole ? [] : isCar ? [1, 3] : [0]
                let defaults = storage.schema[classIndex].properties.map(\.defaultValue)
                let role = random.pick(MemberRole.allCases)
                try storage.write {
                    var rest = Array(rows.indices)
                    if isTogether {
                        let batch = Self.batch(classIndex, rows, properties, absent: absent)
                        rest = try storage.insertUnknown(batch, at: rest, as: role, of: [subscription])
                    }
                    for position in rest {
                        var row = rows[position]
                        for property in absent { row.values[property] = defaults[property] }
                        row.absent = absent
                        _ = try storage.insertIfAbsent(row, ofClass: classIndex)
                        let object = ObjectRef(classIndex, row.key)
                        if storage.isStaging(subscription) {
                            try storage.stageMember(object, role: role, in: subscription)
                        } else {
                            try storage.addMember(object, role: role, to: subscription)
                        }
                    }
                }
            }
            if storage.isStaging(subscription) { _ = try storage.write { try storage.finishStaging(subscription) } }
            storage.close()
            let reopened = try SQLiteClientStorage.open(.file(path))
            var found: Set<ObjectRef> = []
            for role in MemberRole.allCases {
                try reopened.forEachMember(of: subscription, role: role) { object in
                    found.insert(object)
                    return true
                }
            }
            members.append(found)
            reopened.close()
            dumps.append(Self.dump(path))
        }
        #expect(dumps[0] == dumps[1])
        #expect(members[0] == members[1])
        #expect(dumps[1].last == "ok" && dumps[1].count > 1)
    }

    @Test(arguments: 0..<4) func everyValueOfABatchComesBackBitForBit(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let declared = try Samples.everything()
        let storage = try SQLiteClientStorage.open(.memory)
        try storage.write { _ = try storage.merge(Schema([declared]), sides: ("a", "b")) }
        // More than one statement takes.
        let keys = (0..<1_500).map { ObjectKey.id(ObjectID(high: 1, low: UInt64($0))) }
        var rows: [ObjectKey: Row] = [:]
        for (index, key) in keys.enumerated() where index < 12 || index > 1_490 {
            rows[key] = Samples.row(key, of: declared, links: Array(keys.prefix(3)), using: &random)
        }
        let plain = try #require(rows[keys[0]])
        let all = keys.map { key in
            var row = rows[key] ?? plain
            row.key = key
            return row
        }
        try storage.write {
            let batch = Self.batch(0, all, Array(declared.properties.indices), absent: [])
            let leftOut = try storage.insertUnknown(batch, at: Array(all.indices), as: .root, of: [])
            for position in leftOut { try storage.put(all[position], ofClass: 0) }
        }
        let found = try storage.rows(ofClass: 0)
        #expect(found.count == all.count)
        for row in all {
            let stored = try #require(found[row.key])
            #expect(stored.isIdentical(to: row))
        }
    }

    @Test func aValueOfAnotherTypeIsRefusedAsInASingleRow() throws {
        let storage = try Garage.client()
        var row = Garage.car("A")
        row.values[1] = .string("x")
        let batch = Self.batch(Garage.car, [row], [0, 1, 2, 3], absent: [])
        let error = #expect(throws: StorageError.self) {
            try storage.write { _ = try storage.insertUnknown(batch, at: [0], as: .root, of: []) }
        }
        #expect(error?.code == .misuse)
        #expect(try storage.count(ofClass: Garage.car) == 0)
    }

    @Test func aThousandRowsTakeOneStatement() throws {
        func statementCount(_ count: Int) throws -> Int {
            let storage = try Garage.client()
            let rows = (0..<count).map { Garage.owner(UInt64($0), name: "n\($0)") }
            let faults = FaultPlan(failing: .max, with: .full)
            try storage.begin()
            storage.faults = faults
            let batch = Self.batch(Garage.owner, rows, [0, 1], absent: [])
            let leftOut = try storage.insertUnknown(batch, at: Array(rows.indices), as: .root, of: [])
            storage.faults = nil
            try storage.commit()
            #expect(leftOut.isEmpty)
            return faults.attempts
        }
        #expect(try statementCount(1_000) == statementCount(1))
    }
}
