import CSQLite
import SluiceModel
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// Rows that are stored together, compared with the same rows stored one by one.
@Suite(.ownThread) struct BulkInsertTests {
    /// Everything that a file says about objects, with keys in place of local row ids. Ghosts to which nothing links are
    /// left out: a row that turns out to be older than the stored one may leave some.
    private static func dump(_ path: String) -> [String] {
        var handle: OpaquePointer?
        sqlite3_open_v2(path, &handle, SQLITE_OPEN_READONLY, nil)
        defer { sqlite3_close(handle) }
        let statements = [
            """
            SELECT 'car', c.p_vin, c._state, c._version, quote(c._absent), c._incarnation, quote(c.p_price), o._hi, \
            o._lo FROM o_Car c LEFT JOIN o_Owner o ON o._row = c.p_owner \
            WHERE c._state > 0 OR EXISTS (SELECT 1 FROM o_Owner WHERE p_car = c._row) ORDER BY c.p_vin
            """,
            """
            SELECT 'owner', o._hi, o._lo, o._state, o._version, quote(o._absent), o._incarnation, quote(o.p_name), \
            c.p_vin FROM o_Owner o LEFT JOIN o_Car c ON c._row = o.p_car \
            WHERE o._state > 0 OR EXISTS (SELECT 1 FROM o_Car WHERE p_owner = o._row) \
            OR EXISTS (SELECT 1 FROM c_Car_former WHERE value = o._row) ORDER BY o._hi, o._lo
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

    /// - Parameter isDecoded: whether the values have the form in which they come from a server.
    private static func batch(
        _ classIndex: Int, _ rows: [Row], _ properties: [Int], absent: PropertySet, isDecoded: Bool = true
    ) throws -> RowBatch {
        var group = ObjectGroup(classIndex: classIndex, role: .root, properties: PropertySet(properties))
        for row in rows { group.append(row) }
        if isDecoded { group = try ObjectGroup(wireBytes: group.wireBytes()) }
        return RowBatch(
            classIndex: classIndex, properties: properties, absent: absent, keys: group.keys,
            keyColumn: group.keyColumn, versions: group.versions, columns: group.columns)
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

    /// Stores the properties that a batch carries of one row, as the rows of small commits are stored.
    private static func storeAlone(
        _ row: Row, _ classIndex: Int, carried: PropertySet, as role: MemberRole, of subscription: UInt64,
        in storage: SQLiteClientStorage
    ) throws {
        let object = ObjectRef(classIndex, row.key)
        if try !storage.insertIfAbsent(row, ofClass: classIndex), var current = try storage.row(object),
            current.version <= row.version
        {
            for property in carried { current.values[property] = row.values[property] }
            current.version = row.version
            current.absent.subtract(carried)
            try storage.update(current, ofClass: classIndex, changed: carried)
        }
        let other: MemberRole = role == .root ? .linked : .root
        if storage.isStaging(subscription) {
            try storage.unstageMember(object, role: other, in: subscription)
            try storage.stageMember(object, role: role, in: subscription)
        } else {
            try storage.removeMember(object, role: other, from: subscription)
            try storage.addMember(object, role: role, to: subscription)
        }
    }

    /// Some objects are present, deleted or ghosts before, and keys repeat within a batch.
    @Test(arguments: 0..<30) func aBatchLeavesTheFileThatItsRowsOneByOneLeave(seed: Int) throws {
        let folder = try TemporaryFolder()
        var dumps: [[String]] = []
        var members: [[Set<ObjectRef>]] = []
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
            for _ in 0..<6 {
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
                        let batch = try Self.batch(
                            classIndex, rows, properties, absent: absent, isDecoded: seed % 3 > 0)
                        let isObserved = random.chance(50)
                        rest = try storage.store(batch, at: rest, as: role, of: [subscription], isObserved: isObserved)
                            .leftOut
                    } else {
                        _ = random.chance(50)
                    }
                    for position in rest {
                        var row = rows[position]
                        for property in absent { row.values[property] = defaults[property] }
                        row.absent = absent
                        try Self.storeAlone(
                            row, classIndex, carried: PropertySet(properties), as: role, of: subscription, in: storage)
                    }
                }
            }
            if storage.isStaging(subscription) { _ = try storage.write { try storage.finishStaging(subscription) } }
            storage.close()
            let reopened = try SQLiteClientStorage.open(.file(path))
            members.append(
                try MemberRole.allCases.map { role in
                    var found: Set<ObjectRef> = []
                    try reopened.forEachMember(of: subscription, role: role) { object in
                        found.insert(object)
                        return true
                    }
                    return found
                })
            reopened.close()
            dumps.append(Self.dump(path))
        }
        #expect(dumps[0] == dumps[1])
        #expect(members[0] == members[1])
        #expect(dumps[1].last == "ok" && dumps[1].count > 1)
    }

    @Test(arguments: 0..<2) func everyValueOfABatchComesBackBitForBit(seed: Int) throws {
        var random = SeededGenerator(seed: UInt64(seed))
        let declared = try Samples.everything()
        let storage = try SQLiteClientStorage.open(.memory)
        // The rows take several statements.
        storage.rowsPerStatementMax = 8
        try storage.write { _ = try storage.merge(Schema([declared]), sides: ("a", "b")) }
        let keys = (0..<30).map { ObjectKey.id(ObjectID(high: 1, low: UInt64($0))) }
        let all = keys.map { key in
            Samples.row(key, of: declared, links: Array(keys.prefix(3)), using: &random)
        }
        func store(_ rows: [Row]) throws -> BatchOutcome {
            try storage.write {
                let batch = try Self.batch(
                    0, rows, Array(declared.properties.indices), absent: [], isDecoded: seed % 2 == 0)
                let outcome = try storage.store(
                    batch, at: Array(rows.indices), as: .root, of: [], isObserved: true)
                for position in outcome.leftOut { try storage.put(rows[position], ofClass: 0) }
                return outcome
            }
        }
        func expectStored(_ rows: [Row]) throws {
            let found = try storage.rows(ofClass: 0)
            #expect(found.count == rows.count)
            let differing = rows.filter { !(found[$0.key]?.isIdentical(to: $0) ?? false) }
            #expect(differing.map(\.key) == [])
        }
        func isStored(_ row: Row) throws -> Bool {
            try storage.row(ObjectRef(0, row.key))?.isIdentical(to: row) ?? false
        }
        let created = try store(all)
        #expect(created.updated.isEmpty && created.created.count + created.leftOut.count == all.count)
        try expectStored(all)
        // What is said of the rows is what reading them gives.
        #expect(try created.created.allSatisfy { try isStored($0.row) && $0.row.key == keys[$0.position] })
        #expect(created.created.count > 20)
        // What is here as it is does not count as updated.
        let again = try store(all)
        #expect(again.updated.isEmpty && again.created.isEmpty && again.leftOut.isEmpty)
        try expectStored(all)
        // The same objects with the values of others.
        let changed = zip(all, all.shuffled(using: &random)).map { row, other in
            var row = row
            row.values = other.values
            row.version += 1
            return row
        }
        let updated = try store(changed)
        #expect(updated.leftOut.isEmpty && updated.created.isEmpty)
        #expect(updated.updated.filter { !$0.old.isIdentical(to: all[$0.position]) }.map(\.position) == [])
        #expect(Set(updated.updated.map(\.position)) == Set(all.indices))
        #expect(try updated.updated.allSatisfy { try isStored($0.row) })
        try expectStored(changed)
        // A row of a part of the properties, and one that is later here.
        var partial = changed[3]
        partial.version += 1
        partial.values[1] = all[4].values[1]
        var earlier = changed[5]
        earlier.version -= 1
        let outcome = try storage.write {
            let batch = try Self.batch(0, [partial, earlier], Array(declared.properties.indices), absent: [])
            return try storage.store(batch, at: [0, 1], as: .root, of: [], isObserved: true)
        }
        #expect(outcome.updated.map(\.position) == [0])
        #expect(try isStored(partial) && isStored(changed[5]))
    }

    /// Objects are found one after the other as long as they come in the order in which they are stored, else by key.
    @Test(
        arguments: ["the same", "the reverse", "every second", "every tenth", "some first", "some new", "one twice"],
        [false, true])
    func presentObjectsAreFoundInWhateverOrderTheyCome(_ order: String, isObserved: Bool) throws {
        let numbers: [UInt64] =
            switch order {
            case "the same": Array(0..<100)
            case "the reverse": (0..<100).reversed()
            case "every second": Array(stride(from: 1, to: 100, by: 2))
            case "every tenth": Array(stride(from: 1, to: 100, by: 10))
            case "some first": Array(60..<70) + Array(0..<60) + Array(70..<100)
            case "some new": Array(0..<30) + [200] + Array(30..<100) + [201]
            default: Array(0..<50) + [49] + Array(50..<100)
            }
        let storage = try Garage.client()
        storage.rowsPerStatementMax = 40
        let former = (0..<100).map { Garage.owner(UInt64($0), name: "n\($0)", version: 1) }
        let coming = numbers.map { Garage.owner($0, name: "m\($0)", version: 2) }
        try storage.write {
            for row in former { try storage.put(row, ofClass: Garage.owner) }
            // A deleted object has a row between the others.
            try storage.put(Garage.owner(300, name: "gone", version: 1), ofClass: Garage.owner)
            try storage.delete(ObjectRef(Garage.owner, Garage.ownerKey(300)), version: 1)
        }
        let batch = try Self.batch(Garage.owner, coming, [0, 1], absent: [])
        let outcome = try storage.write {
            try storage.store(batch, at: Array(coming.indices), as: .root, of: [], isObserved: isObserved)
        }
        #expect(outcome.leftOut == (order == "one twice" ? [50] : []))
        let found = try storage.rows(ofClass: Garage.owner)
        #expect(coming.allSatisfy { found[$0.key]?.isIdentical(to: $0) ?? false })
        #expect(found.count == Set(numbers).union(0..<100).count)
        let changed = coming.indices.filter { numbers[$0] < 100 && !outcome.leftOut.contains($0) }
        #expect(outcome.updated.map(\.position).sorted() == (isObserved ? changed : []))
        #expect(outcome.updated.allSatisfy { $0.old.isIdentical(to: former[Int(numbers[$0.position])]) })
    }

    /// Many rows link to a few objects by integer keys: some are here, some are not yet.
    @Test func linksToIntegerKeysLeadWhereTheirRowsOneByOneLead() throws {
        let schema = try Schema([
            ClassSchema(
                "Flight", primaryKey: "id",
                properties: [Property("id", .scalar(.int)), Property("plane", .link("Plane"))]),
            ClassSchema("Plane", primaryKey: "id", properties: [Property("id", .scalar(.int))]),
        ])
        let storage = try SQLiteClientStorage.open(.memory)
        storage.rowsPerStatementMax = 16
        try storage.write {
            _ = try storage.merge(schema, sides: ("a", "b"))
            for id in [-3, 7] as [Int64] { try storage.put(Row(key: .int(id), values: [.int(id)]), ofClass: 1) }
        }
        let targets: [Int64?] = [7, nil, -3, .min, 7, .max, 0]
        let rows = (0..<100).map { number in
            Row(
                key: .int(Int64(number)), version: 1,
                values: [.int(Int64(number)), targets[number % 7].map { .link(.int($0)) } ?? .null])
        }
        let batch = try Self.batch(0, rows, [0, 1], absent: [])
        guard case .integers(.link, _) = batch.columns[1].content else {
            Issue.record("the links come in another form")
            return
        }
        let outcome = try storage.write {
            try storage.store(batch, at: Array(rows.indices), as: .root, of: [], isObserved: false)
        }
        #expect(outcome.leftOut.isEmpty)
        let found = try storage.rows(ofClass: 0)
        #expect(found.count == 100 && rows.allSatisfy { found[$0.key]?.values == $0.values })
        // Those that are missing are ghosts, each one once.
        #expect(try storage.count(ofClass: 1) == 2)
        for target in targets.compactMap({ $0 }) {
            var linking: [ObjectKey] = []
            try storage.backlinks(to: ObjectRef(1, .int(target)), fromClass: 0, property: 1) { key in
                linking.append(key)
                return true
            }
            let expected = (0..<100).filter { targets[$0 % 7] == target }.map { ObjectKey.int(Int64($0)) }
            #expect(linking.sorted() == expected)
        }
    }

    @Test func aValueOfAnotherTypeIsRefusedAsInASingleRow() throws {
        let storage = try Garage.client()
        var row = Garage.car("A")
        row.values[1] = .string("x")
        let batch = try Self.batch(Garage.car, [row], [0, 1, 2, 3], absent: [])
        let error = #expect(throws: StorageError.self) {
            try storage.write { _ = try storage.store(batch, at: [0], as: .root, of: [], isObserved: false) }
        }
        #expect(error?.code == .misuse)
        #expect(try storage.count(ofClass: Garage.car) == 0)
    }

    /// How many statements write when the same rows are stored again and again.
    private func statementCounts(_ rowCount: Int) throws -> [Int] {
        let storage = try Garage.client()
        let rows = (0..<rowCount).map { Garage.owner(UInt64($0), name: "n\($0)") }
        return try (0..<3).map { _ in
            let faults = FaultPlan(failing: .max, with: .full)
            let batch = try Self.batch(Garage.owner, rows, [0, 1], absent: [])
            let outcome = try storage.write {
                storage.faults = faults
                defer { storage.faults = nil }
                return try storage.store(batch, at: Array(rows.indices), as: .root, of: [], isObserved: false)
            }
            #expect(outcome.leftOut.isEmpty)
            return faults.attempts
        }
    }

    @Test func aThousandRowsTakeOneStatement() throws {
        #expect(try statementCounts(1_000) == statementCounts(1))
        #expect(try statementCounts(1_000).first == 1)
    }

    @Test func afterAPageOfPresentObjectsTheNextIsNotTriedAsNew() throws {
        #expect(try statementCounts(1_000) == [1, 2, 1])
    }
}
