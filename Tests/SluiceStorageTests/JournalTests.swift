import CSQLite
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// The journal of a database: engines that apply its redo records.
@Suite(.ownThread) struct JournalTests {
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
