import CSQLite
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// The journal of a database: redo records, and engines that apply them.
@Suite(.ownThread) struct JournalTests {
    /// A group with every kind of step.
    private static let everyStep = JournalGroup(
        baseVersion: 7, acceptedAt: Timestamp(microseconds: 1_000), workerID: "w",
        steps: [
            .transaction(
                JournalTransaction(
                    clientID: 3, sequence: 9, userID: nil, timestamp: HybridTimestamp(microseconds: 20),
                    kinds: [.create, .set, .add],
                    changes: [
                        JournalChange(Garage.carRef("A"), .create, written: [0, 1], values: [.string("A"), .int(5)]),
                        JournalChange(
                            Garage.carRef("B"), .update, written: [1], values: [.int(12)],
                            partial: [FieldOperation(1, .add(.int(2)))]),
                        JournalChange(Garage.carRef("C"), .delete),
                    ])),
            .rejection(client: 3, sequence: 10, notice: [1, 2]), .confirmation(client: 3, sequence: 8),
            .progress(client: 4, sequence: 2), .forgetting([5]), .epoch(1), .schema(Schema()),
            .removal(classIndex: 1, property: nil), .removal(classIndex: 0, property: 2), .trim(version: 6),
            .visit(
                ClientVisit(
                    clientID: 6, userID: "u", nonce: ObjectID(high: 1, low: 2), offer: ObjectID(high: 1, low: 4),
                    version: 3,
                    time: Timestamp(microseconds: 5))),
            .nonce(client: 6, ObjectID(high: 1, low: 3)), .seen([6, 7], at: Timestamp(microseconds: 7)),
            .mark(9), .comparison,
            .job(
                JobRecord(
                    .init(space: "s", name: [1]), due: Timestamp(microseconds: 4), value: [7])),
            .jobRemoval(.init(space: "s", name: [2])), .rules([1, 2]),
            .rules(
                [3],
                from: RulesOrigin(.client, at: Timestamp(microseconds: 5), userID: "u", workerID: "w")),
        ])

    /// Written out by hand from the description of the format, so that a change of it is noticed.
    private static let everyStepBytes = """
        02 07 d00f 01 01 77 13 00 03 09 00 28 15 03 00020141 00 0103 00020142 09 0102 01 01 01 0304 00020143 02 00 01 03 0a \
        02 0102 02 03 08 03 04 02 04 01 05 05 0100000000000000 06 00 07 01 00 07 00 01 02 08 06 \
        0b 06 010175 00000000000000010000000000000002 00000000000000010000000000000004 03 0a 0c 06 00000000000000010000000000000003 0d 02 06 07 0e \
        0e 0900000000000000 0f 10 0173 0101 01 08 0107 11 0173 0102 09 02 0102 12 01 03 02 0a 01 0175 01 0177 060141 030a 0318
        """

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }

    // MARK: Bytes

    @Test func aGroupHasTheBytesThatItHadInThisFormat() throws {
        let bytes = Self.everyStep.encoded()
        #expect(Self.hexadecimal(bytes) == Self.everyStepBytes.filter { $0 != " " })
        #expect(try JournalGroup.decode(bytes) == Self.everyStep)
    }

    @Test func `a group has the oldest format that has all of it`() throws {
        let origin = RulesOrigin(.client, at: Timestamp(microseconds: 5), userID: "u", workerID: "w")
        func group(_ steps: JournalStep...) -> JournalGroup {
            JournalGroup(baseVersion: 1, acceptedAt: Timestamp(microseconds: 1), steps: steps)
        }
        #expect(group(.rules([1]), .epoch(2)).encoded().first == 1)
        #expect(group(.rules([1]), .rules([2], from: origin)).encoded().first == 2)
        #expect(JournalStep.rules([2], from: origin).limited(to: 1) == .rules([2]))
        #expect(JournalStep.rules([2], from: origin).limited(to: 2) == .rules([2], from: origin))
        #expect(JournalStep.epoch(3).limited(to: 1) == .epoch(3))
        var later = group(.epoch(2)).encoded()
        later[0] = 3
        let error = #expect(throws: StorageError.self) { try JournalGroup.decode(later) }
        #expect(error?.message.contains("reads formats up to 2") == true)
    }

    @Test func whatWasDoneToElementsIsReadBackWithTheValues() throws {
        let edits = FieldOperation(2, .edit(ElementEdits(inserting: [.string("b")], erasing: [.string("c")])))
        let group = JournalGroup(
            baseVersion: 7, acceptedAt: Timestamp(microseconds: 1_000),
            steps: [
                .transaction(
                    JournalTransaction(
                        clientID: 3, sequence: 9, userID: nil, timestamp: HybridTimestamp(microseconds: 20),
                        kinds: [.setInsert, .setErase, .add],
                        changes: [
                            JournalChange(
                                Garage.carRef("B"), .update, written: [1, 2],
                                values: [.int(12), .set([.string("a"), .string("b")])],
                                partial: [FieldOperation(1, .add(.int(2))), edits])
                        ]))
            ])
        #expect(try JournalGroup.decode(group.encoded()) == group)
        let outline = try JournalGroup.decode(group.encoded(), wantsValues: false)
        #expect(
            outline.transactions.flatMap(\.changes).flatMap(\.partial) == [FieldOperation(1, .add(.int(2))), edits])
    }

    @Test func whichValuesAreDefaultsAndWhatCreatesIsReadBackWithAndWithoutTheValues() throws {
        let change = JournalChange(
            Garage.carRef("B"), .create, written: [1, 2], values: [.int(12), .string("red")], defaulted: [2])
        let group = JournalGroup(
            baseVersion: 7, acceptedAt: Timestamp(microseconds: 1_000),
            steps: [
                .transaction(
                    JournalTransaction(
                        clientID: 3, sequence: 9, userID: nil, timestamp: HybridTimestamp(microseconds: 20),
                        kinds: [.create],
                        changes: [
                            change,
                            JournalChange(
                                Garage.carRef("C"), .update, written: [1], values: [.int(3)], creates: true),
                        ]))
            ])
        #expect(try JournalGroup.decode(group.encoded()) == group)
        let outline = try JournalGroup.decode(group.encoded(), wantsValues: false)
        #expect(outline.transactions.flatMap(\.changes).map(\.defaulted) == [[2], []])
        #expect(outline.transactions.flatMap(\.changes).map(\.creates) == [false, true])
        var impossible = change
        impossible.defaulted = [3]
        var other = group
        other.steps = [
            .transaction(
                JournalTransaction(
                    clientID: 3, sequence: 9, userID: nil, timestamp: HybridTimestamp(microseconds: 20),
                    changes: [impossible]))
        ]
        #expect(throws: StorageError.self) { try JournalGroup.decode(other.encoded()) }
    }

    /// A group with a transaction that stays columns.
    private static func columns() throws -> JournalGroup {
        var operations: [ObjectOperation] = []
        for number in 0..<20 {
            let count: FieldOperation.Change = number % 3 == 0 ? .setDefault(.int(0)) : .set(.int(Int64(number)))
            let color = Value.string(number % 2 == 0 ? "red" : "blue")
            let fields = [FieldOperation(1, count), FieldOperation(2, .set(color))]
            operations.append(ObjectOperation(Garage.carRef("C\(10 + number)"), .create(fields)))
        }
        let changeset = Changeset(
            sequence: 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 1), operations: operations)
        let received = try ByteReader.decode(changeset.wireBytes()) { reader throws(WireError) in
            try Changeset(from: &reader)
        }
        var transaction = JournalTransaction(
            clientID: 3, sequence: 9, userID: nil, timestamp: HybridTimestamp(microseconds: 20), kinds: [.create],
            changes: [])
        let creations: Creations = try #require(received.creations)
        transaction.creations = creations
        var group = everyStep
        group.steps.insert(.transaction(transaction), at: 1)
        return group
    }

    @Test func whatStaysColumnsIsReadBackAsItsChanges() throws {
        let group = try Self.columns()
        let bytes = group.encoded()
        let read = try JournalGroup.decode(bytes)
        #expect(read == group && read.encoded() == bytes)
        var expanded = group
        for case (let index, .transaction(var transaction)) in group.steps.enumerated() {
            transaction.changes = transaction.changes
            expanded.steps[index] = .transaction(transaction)
        }
        #expect(expanded == group && expanded.encoded().count > bytes.count)
        let changes = try #require(read.transactions.compactMap { $0.creations == nil ? nil : $0.changes }.first)
        #expect(changes.map(\.object) == (0..<20).map { Garage.carRef("C\(10 + $0)") })
        #expect(changes[4].values == [.int(4), .string("red")] && changes[4].defaulted.isEmpty)
        #expect(changes[3].values == [.int(0), .string("blue")] && changes[3].defaulted == [1])
        let outline = try JournalGroup.decode(bytes, wantsValues: false)
        #expect(
            outline.transactions.map { $0.changes.map(\.object) } == group.transactions.map { $0.changes.map(\.object) }
        )
        for count in 0..<bytes.count {
            #expect(throws: StorageError.self) { try JournalGroup.decode(Array(bytes.prefix(count))) }
        }
    }

    @Test func theChainHasTheHashThatItHadInThisFormat() {
        let start = JournalHead(of: ObjectID(high: 1, low: 2))
        #expect(
            Self.hexadecimal(start.chain) == "b1159b226092ccd77c82496bbeefd3bfe38ff9c3e0ca1b2235b11961702b9fd1")
        let next = start.following(Self.everyStep.encoded())
        #expect(next.position == 1)
        #expect(Self.hexadecimal(next.chain) == "8dbb8fff8f747fb40d07d3cb9c8fc2b9a992f60760341d61b983b18aff0ab465")
    }

    @Test func aGroupWithoutItsValuesTellsWhoWroteWhat() throws {
        let outline = try JournalGroup.decode(Self.everyStep.encoded(), wantsValues: false)
        let changes = outline.transactions.flatMap(\.changes)
        #expect(changes.map(\.object) == ["A", "B", "C"].map(Garage.carRef))
        #expect(changes.allSatisfy { $0.values.isEmpty })
        #expect(changes.map(\.written) == [[0, 1], [1], []])
    }

    @Test func bytesThatAreNoGroupAreRefused() throws {
        let bytes = Self.everyStep.encoded()
        for count in 0..<bytes.count {
            let error = #expect(throws: StorageError.self) { try JournalGroup.decode(Array(bytes.prefix(count))) }
            #expect(error?.code == .journal)
        }
        #expect(throws: StorageError.self) { try JournalGroup.decode(bytes + [0]) }
        let newer = #expect(throws: StorageError.self) { try JournalGroup.decode([3] + bytes.dropFirst()) }
        #expect(newer?.message.contains("format 3") == true)
    }

    @Test(arguments: 0..<8 as Range<UInt64>) func changedBytesAreRefusedOrDecodeToAnotherGroup(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let bytes = seed % 2 == 0 ? Self.everyStep.encoded() : try Self.columns().encoded()
        for _ in 0..<2_000 {
            var changed = bytes
            for _ in 0..<Int.random(in: 1...3, using: &generator) {
                changed[Int.random(in: changed.indices, using: &generator)] = .random(in: 0...255, using: &generator)
            }
            guard let group = try? JournalGroup.decode(changed) else { continue }
            #expect(try JournalGroup.decode(group.encoded()).encoded() == group.encoded())
        }
    }

    // MARK: Following

    /// What a database holds that follows from its journal.
    private func state(_ storage: SQLiteServerStorage) throws -> [String] {
        var lines = ["\(storage.head) \(storage.version) \(storage.logStart) \(String(describing: storage.acceptedAt))"]
        lines.append("\(storage.epoch) \(storage.schema.classes.map { ($0.name, $0.properties) })")
        for classIndex in storage.schema.classes.indices {
            lines += try storage.rows(ofClass: classIndex).values.sorted { $0.key < $1.key }.map { "\($0)" }
        }
        lines.append("\(try (1...99 as ClosedRange<UInt64>).filter(storage.hasGivenID))")
        for client in UInt64(1)...9 {
            lines.append("\(String(describing: try storage.client(client))) \(try storage.rejections(of: client))")
        }
        try storage.forEachLogEntry(after: storage.logStart) { entry in
            lines.append("\(entry)")
            return true
        }
        return lines
    }

    /// Applies everything that one database has and another lacks.
    private func follow(_ leader: SQLiteServerStorage, by follower: SQLiteServerStorage) throws {
        for record in try leader.records(after: follower.head.position, countMax: .max) {
            _ = try follower.transaction { try follower.apply(record) }
        }
    }

    private func empty(_ location: StorageLocation = .memory) throws -> SQLiteServerStorage {
        try SQLiteServerStorage.open(location, databaseID: ObjectID(high: 1, low: 2))
    }

    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func aDatabaseThatOnlySeesTheRecordsHasTheSameState(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("follower"))
        var follower = try empty(location)
        let driven = try LogTests.Driven(seed: seed)
        let leader = driven.storage
        var generator = SeededGenerator(seed: seed)
        for round in 0..<40 {
            try leader.write { for _ in 0..<Int.random(in: 1...4, using: &generator) { try driven.upload() } }
            switch Int.random(in: 0..<9, using: &generator) {
            case 0: try leader.write { try leader.beginEpoch(UInt64(round)) }
            case 1: try leader.trimLog(keepingVersions: 10, keepingBytes: .max, entriesMax: 20)
            case 2:
                let property = Property("extra\(round)", .scalar(.int))
                let extra = try ClassSchema("Owner", properties: [property])
                try leader.write { _ = try leader.merge(Schema([extra]), sides: ("a", "b")) }
                try leader.write { try leader.removeProperty(leader.schema[1].properties.count - 1, ofClass: 1) }
            case 3: try leader.write { try leader.removeClients([.random(in: 1...3, using: &generator)]) }
            case 4:
                try leader.write {
                    let client = try leader.makeClient(
                        userID: "ann", nonce: ObjectID(high: 1, low: UInt64(round)), sequence: UInt64(round),
                        createdAt: Timestamp(microseconds: 3))
                    try leader.noteSeen([client.id, 2], at: Timestamp(microseconds: Int64(round)))
                }
            case 5:
                follower.close()
                follower = try empty(location)
            default: break
            }
            // It may be behind for a while, but never so far that the journal is trimmed.
            try follow(leader, by: follower)
            #expect(try state(follower) == state(leader), "seed \(seed), round \(round)")
            #expect(try follower.digest { false } == leader.digest { false }, "seed \(seed), round \(round)")
        }
    }

    @Test func rejectionsEpochsSchemaChangesAndTrimsTakePositionsOnly() throws {
        let storage = try Garage.server()
        try storage.write { try storage.record([.create(Garage.car("A"), ofClass: Garage.car)]) }
        let (version, position) = (storage.version, storage.head.position)
        let rejection = JournalStep.rejection(client: 1, sequence: 2, notice: [7])
        try storage.write {
            let group = JournalGroup(
                baseVersion: version, acceptedAt: Timestamp(microseconds: 0), steps: [rejection])
            _ = try storage.apply(JournalRecord(group, after: storage.head))
        }
        #expect(try storage.rejections(of: 1) == [[7]] && storage.client(1)?.sequence == 2)
        try storage.write { try storage.dropRejections(of: 1, through: 2) }
        #expect(try storage.rejections(of: 1).isEmpty)
        try storage.write { try storage.dropRejections(of: 1, through: 2) }
        try storage.write { try storage.beginEpoch(9) }
        let more = try Schema([ClassSchema("More", properties: [Property("n", .scalar(.int))])])
        try storage.write { _ = try storage.merge(more, sides: ("a", "b")) }
        try storage.write { _ = try storage.merge(more, sides: ("a", "b")) }
        try storage.write { try storage.removeClass(2) }
        #expect(try storage.trimLog(keepingVersions: 0, keepingBytes: 0, entriesMax: .max) == 1)
        #expect(storage.version == version)
        #expect(storage.head.position == position + 6, "what changes nothing takes no position")
    }

    @Test func aRecordTwiceOutOfOrderOrOfAnotherHistoryIsRefusedAndChangesNothing() throws {
        let leader = try Garage.server()
        for key in ["A", "B", "C"] {
            try leader.write { try leader.record([.create(Garage.car(key), ofClass: Garage.car)]) }
        }
        let records = try leader.records(after: 0, countMax: 10)
        let follower = try empty()
        for record in records.prefix(2) { _ = try follower.transaction { try follower.apply(record) } }
        let other = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 5, low: 5))
        try other.write { _ = try other.merge(Garage.schema(), sides: ("a", "b")) }
        try other.write { try other.record([.create(Garage.car("A"), ofClass: Garage.car)]) }
        try other.write { try other.record([.create(Garage.car("B"), ofClass: Garage.car)]) }
        var changed = records[2]
        changed.bytes[changed.bytes.count - 1] ^= 1
        let wrong: [(JournalRecord, String)] = [
            (records[1], "is applied already; the next is 3"), (records[3], "came before group 3"),
            (try other.records(after: 2, countMax: 1)[0], "does not continue the history"),
            (changed, "does not continue the history"),
        ]
        let before = try state(follower)
        for (record, message) in wrong {
            let error = #expect(throws: StorageError.self) { try follower.transaction { try follower.apply(record) } }
            #expect(error?.code == .journal && error?.message.contains(message) == true, "\(String(describing: error))")
            #expect(try state(follower) == before)
        }
        try follow(leader, by: follower)
        #expect(try state(follower) == state(leader))
    }

    @Test func aGroupThatDoesNotFitTheStateIsRefusedWhole() throws {
        let storage = try Garage.server()
        try storage.write {
            try storage.record(accepted: 50, [.create(Garage.car("A", former: []), ofClass: Garage.car)])
        }
        let fine = JournalChange.create(Garage.car("B"), ofClass: Garage.car)
        let wrong: [JournalChange] = [
            .create(Garage.car("A"), ofClass: Garage.car), JournalChange(Garage.carRef("Z"), .delete),
            JournalChange(Garage.carRef("Z"), .update, written: [1], values: [.int(1)]),
            JournalChange(Garage.carRef("A"), .update, written: [99], values: [.int(1)]),
            JournalChange(Garage.carRef("A"), .update, written: [1], values: []),
            JournalChange(ObjectRef(0, .int(1)), .delete), JournalChange(ObjectRef(9, .int(1)), .delete),
        ]
        let before = try state(storage)
        for change in wrong {
            let error = #expect(throws: StorageError.self) {
                try storage.transaction { try storage.record(accepted: 50, [fine, change]) }
            }
            #expect(error?.code == .journal, "\(change)")
            #expect(try state(storage) == before)
        }
        let early = #expect(throws: StorageError.self) {
            try storage.transaction { try storage.record(accepted: 49, [fine]) }
        }
        #expect(early?.message.contains("accepted before") == true)
        #expect(try state(storage) == before)
    }

    @Test func aStoredRecordThatWasChangedIsDamageAndNotHistory() throws {
        let folder = try TemporaryFolder()
        let path = folder.file("leader")
        func open() throws -> SQLiteServerStorage { try empty(.file(path)) }
        var storage = try open()
        try storage.write { _ = try storage.merge(Garage.schema(), sides: ("a", "b")) }
        for key in ["A", "B", "C"] {
            try storage.write { try storage.record([.create(Garage.car(key), ofClass: Garage.car)]) }
        }
        storage.close()
        // The last byte of a record is in a value, so that it can still be decoded.
        var handle: OpaquePointer?
        try #require(sqlite3_open(path, &handle) == SQLITE_OK)
        let change =
            "UPDATE _journal SET record = CAST(substr(record, 1, length(record) - 1) || x'41' AS BLOB) WHERE position = 3"
        #expect(sqlite3_exec(handle, change, nil, nil, nil) == SQLITE_OK && sqlite3_changes(handle) == 1)
        sqlite3_close(handle)
        storage = try open()
        let errors = [
            #expect(throws: StorageError.self) { try storage.forEachLogEntry(after: 1) { _ in true } },
            #expect(throws: StorageError.self) { try storage.forEachLogEntry(after: 0) { _ in true } },
            #expect(throws: StorageError.self) { try storage.records(after: 1, countMax: 10) },
        ]
        #expect(errors.allSatisfy { $0?.code == .damaged && $0?.message.contains("not as it was written") == true })
    }

    @Test func aJournalThatNoLongerReachesBackSaysSoAndACopyOfTheFileGoesOn() throws {
        let folder = try TemporaryFolder()
        let leader = try Garage.server()
        for key in ["A", "B", "C"] {
            try leader.write { try leader.record([.create(Garage.car(key), ofClass: Garage.car)]) }
        }
        #expect(try leader.trimLog(keepingVersions: 1, keepingBytes: .max, entriesMax: .max) == 2)
        let error = #expect(throws: StorageError.self) { try leader.records(after: 0, countMax: 10) }
        #expect(error?.code == .logTrimmed)
        try leader.copy(toFile: folder.file("copy"))
        let copy = try empty(.file(folder.file("copy")))
        #expect(copy.head == leader.head)
        try leader.write { try leader.record([.create(Garage.car("D"), ofClass: Garage.car)]) }
        try follow(leader, by: copy)
        #expect(try state(copy) == state(leader))
    }
}
