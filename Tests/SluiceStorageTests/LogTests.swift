import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews
import TestSupport
import Testing

@Suite(.ownThread) struct LogTests {
    /// The time of queries is that of the group that made the version, also behind the end of the log.
    @Test func aVersionHasTheTimeAtWhichItsGroupWasAccepted() throws {
        let folder = try TemporaryFolder()
        let file = StorageLocation.file(folder.file("db"))
        var storage = try Garage.server(file)
        func times(_ versions: ClosedRange<UInt64>) throws -> [Int64] {
            try versions.map { try storage.time(ofVersion: $0).microseconds }
        }
        func reopen() throws {
            storage.close()
            storage = try SQLiteServerStorage.open(file, databaseID: ObjectID(high: 1, low: 2))
        }
        for time in [10, 20, 20, 30] as [Int64] { try storage.write { try storage.record(accepted: time) } }
        try storage.write {
            let group = JournalGroup(baseVersion: 4, acceptedAt: Timestamp(microseconds: 40), steps: [.mark(1)])
            _ = try storage.apply(JournalRecord(group, after: storage.head))
        }
        #expect(storage.now.microseconds == 30)
        #expect(try times(0...4) == [0, 10, 20, 20, 30])
        try reopen()
        #expect(storage.now.microseconds == 30)
        #expect(try times(1...4) == [10, 20, 20, 30])
        let applied = try storage.write { try storage.record(accepted: 50) }
        #expect(applied.delta.time == TimeStep(from: Timestamp(microseconds: 30), to: Timestamp(microseconds: 50)))
        #expect(try storage.trimLog(keepingVersions: 2, keepingBytes: .max, entriesMax: .max) == 3)
        #expect(try times(3...5) == [20, 30, 50])
        #expect(throws: StorageError.self) { try storage.time(ofVersion: 2) }
        try storage.trimLog(keepingVersions: 0, keepingBytes: .max, entriesMax: .max)
        try reopen()
        #expect(storage.logStart == 5 && storage.now.microseconds == 50)
        #expect(try times(5...5) == [50])
        let late = storage.reading(at: Timestamp(microseconds: 70)) { storage.now.microseconds }
        #expect(late == 70 && storage.now.microseconds == 50)
    }

    /// A server's database that is driven at random, and its state at every version.
    final class Driven {
        let storage: SQLiteServerStorage
        private(set) var snapshots: [[ObjectRef: Row]] = [[:]]
        private var random: SeededGenerator

        init(seed: UInt64, location: StorageLocation = .memory) throws {
            random = SeededGenerator(seed: seed)
            storage = try Garage.server(location)
        }

        var state: [ObjectRef: Row] { snapshots[snapshots.count - 1] }

        /// One upload that changes distinct objects.
        func upload() throws {
            let version = storage.version + 1
            var state = state
            let client = UInt64.random(in: 1...3, using: &random)
            let user = Bool.random(using: &random) ? "u" : nil
            let time = Int64.random(in: 0...100, using: &random)
            var changes: [JournalChange] = []
            let objects = Set((0..<Int.random(in: 0...4, using: &random)).map { _ in randomObject() })
            for object in objects.sorted() { changes.append(change(object, version: version, state: &state)) }
            try storage.record(client: client, user: user, at: time, accepted: Int64(version), changes)
            snapshots.append(state)
        }

        private func randomObject() -> ObjectRef {
            Bool.random(using: &random)
                ? Garage.carRef("c\(Int.random(in: 0..<6, using: &random))")
                : Garage.ownerRef(.random(in: 0..<6, using: &random))
        }

        private func randomRow(_ object: ObjectRef, version: UInt64) -> Row {
            let owners = (0..<Int.random(in: 0...2, using: &random)).map { Garage.ownerKey(UInt64($0)) }
            let row =
                object.classIndex == Garage.car
                ? Garage.car("", price: .random(in: 0...9, using: &random), owner: owners.first, former: owners)
                : Garage.owner(0, name: "n\(Int.random(in: 0...9, using: &random))", car: "c1")
            var values = row.values
            if object.classIndex == Garage.car { values[0] = object.key.value }
            return Row(key: object.key, version: version, values: values)
        }

        private func change(_ object: ObjectRef, version: UInt64, state: inout [ObjectRef: Row]) -> JournalChange {
            let row = randomRow(object, version: version)
            guard let old = state[object] else {
                state[object] = row
                return .create(row, ofClass: object.classIndex)
            }
            if Int.random(in: 0..<3, using: &random) == 0 {
                state[object] = nil
                return JournalChange(object, .delete)
            }
            var new = old
            new.version = version
            let changed = PropertySet((1..<old.values.count).filter { _ in Bool.random(using: &random) })
            for property in changed { new.values[property] = row.values[property] }
            state[object] = new
            return JournalChange(object, .update, written: changed, values: changed.map { new.values[$0] })
        }

        /// Checks what the log says about every version.
        func check(from start: UInt64, _ seed: UInt64) throws {
            for version in start...storage.version {
                let olds = try storage.oldImages(since: version) ?? []
                let images = Dictionary(uniqueKeysWithValues: olds.map { ($0.object, $0.row) })
                let before = snapshots[Int(version)]
                for object in Set(before.keys).union(state.keys) {
                    if let image = images[object] {
                        #expect(image == before[object], "seed \(seed), version \(version)")
                    } else {
                        #expect(before[object] == state[object], "seed \(seed), version \(version)")
                    }
                }
                for (object, image) in images { #expect(image == before[object], "seed \(seed), version \(version)") }
                for countMax in 0...olds.count + 1 {
                    let bounded = try storage.oldImages(since: version, countMax: countMax)
                    #expect((bounded == nil) == (olds.count > countMax), "seed \(seed), version \(version)")
                }
            }
        }
    }

    @Test(arguments: seeds(4))
    func oldImagesAreTheSnapshotsOfEveryVersion(seed: UInt64) throws {
        let driven = try Driven(seed: seed)
        for _ in 0..<20 { try driven.storage.write { for _ in 0..<3 { try driven.upload() } } }
        #expect(driven.storage.version == 60)
        for (object, row) in driven.state { #expect(try driven.storage.row(object) == row) }
        try driven.check(from: 0, seed)
    }

    /// Transactions of one group have versions of their own.
    @Test func onlyChangesAfterTheVersionCount() throws {
        let storage = try Garage.server(.memory)
        func transaction(_ names: [String]) -> JournalStep {
            .transaction(
                JournalTransaction(
                    clientID: 1, sequence: 1, userID: nil, timestamp: HybridTimestamp(microseconds: 1),
                    changes: names.map { .create(Garage.car($0), ofClass: Garage.car) }))
        }
        let version = storage.version
        let group = JournalGroup(
            baseVersion: version, acceptedAt: Timestamp(microseconds: 1),
            steps: [transaction(["a", "b", "c"]), transaction(["d"])])
        _ = try storage.write { try storage.apply(JournalRecord(group, after: storage.head)) }
        #expect(try storage.oldImages(since: version + 1, countMax: 1)?.map(\.object) == [Garage.carRef("d")])
        #expect(try storage.oldImages(since: version, countMax: 3) == nil)
        #expect(try storage.oldImages(since: version, countMax: 4)?.count == 4)
    }

    @Test(arguments: Array(1...4) as [UInt64])
    func trimmedLogAnswersFromItsStartOnAndForgetsTombstones(seed: UInt64) throws {
        let folder = try TemporaryFolder()
        do {
            let driven = try Driven(seed: seed, location: .file(folder.file("db")))
            let storage = driven.storage
            try storage.write { for _ in 0..<60 { try driven.upload() } }
            #expect(try storage.trimLog(keepingVersions: 20, keepingBytes: .max, entriesMax: 7) == 7)
            #expect(storage.logStart == 7)
            while try storage.trimLog(keepingVersions: 20, keepingBytes: .max, entriesMax: 7) > 0 {}
            #expect(storage.logStart == 40)
            let error = #expect(throws: StorageError.self) { try storage.oldImages(since: 39) }
            #expect(error?.code == .logTrimmed)
            try driven.check(from: 40, seed)
            try storage.write { for _ in 0..<10 { try driven.upload() } }
            try driven.check(from: 40, seed)
            #expect(try storage.trimLog(keepingVersions: .max, keepingBytes: 0, entriesMax: .max) == 30)
            #expect(try storage.oldImages(since: 70)?.isEmpty == true)
            for object in (0..<6).map({ Garage.carRef("c\($0)") }) where driven.state[object] == nil {
                #expect(try storage.incarnation(of: object) == 0, "the tombstone went with the log")
            }
        }
        let storage = try SQLiteServerStorage.open(.file(folder.file("db")), databaseID: ObjectID(high: 0, low: 0))
        #expect(storage.version == 70)
        #expect(storage.logStart == 70)
    }

    @Test func entriesThatWereAcceptedBeforeATimeAreDropped() throws {
        let driven = try Driven(seed: 5)
        for _ in 0..<4 { try driven.storage.write { for _ in 0..<5 { try driven.upload() } } }
        func trim(_ time: Int64?) throws -> Int {
            try driven.storage.trimLog(
                keepingVersions: .max, keepingBytes: .max, acceptedSince: time.map { Timestamp(microseconds: $0) },
                entriesMax: .max)
        }
        var accepted: [Int64] = []
        try driven.storage.forEachLogEntry(after: 0) { entry in
            accepted.append(entry.acceptedAt.microseconds)
            return true
        }
        try #require(accepted.count == 20 && accepted == accepted.sorted())
        #expect(try trim(nil) == 0)
        #expect(try trim(accepted[0]) == 0)
        let dropped = accepted.filter { $0 < accepted[12] }.count
        #expect(try trim(accepted[12]) == dropped)
        #expect(driven.storage.logStart == UInt64(dropped))
        #expect(try trim(accepted[19] + 1) == 20 - dropped)
    }

    @Test func whatCameBeforeTheFirstUploadIsAsOldAsWhatFollowsIt() throws {
        let storage = try Garage.server()
        try storage.write { try storage.beginEpoch(7) }
        try storage.write { try storage.beginEpoch(8) }
        func trim(_ time: Int64) throws {
            try storage.trimLog(
                keepingVersions: .max, keepingBytes: .max, acceptedSince: Timestamp(microseconds: time),
                entriesMax: .max)
        }
        try trim(1_000)
        try storage.write { try storage.record(accepted: 900, [.create(Garage.car("a"), ofClass: 0)]) }
        try trim(800)
        #expect(try storage.records(after: 0, countMax: 10).count == 4)
        try trim(1_000)
        #expect(try storage.records(after: 4, countMax: 10).count == 1)
        #expect(storage.logStart == 1)
    }

    @Test func historyTellsAssignmentsFromAdditionsAndStartsAgainWithEachIncarnation() throws {
        let storage = try Garage.server()
        let object = Garage.carRef("A")
        func upload(_ client: UInt64, at time: Int64, _ change: JournalChange) throws {
            try storage.write { try storage.record(client: client, at: time, [change]) }
        }
        func set(_ client: UInt64, at time: Int64, adding: Int64? = nil) throws {
            let partial = adding.map { [FieldOperation(1, .add(.int($0)))] } ?? []
            try upload(
                client, at: time,
                JournalChange(object, .update, written: [1], values: [.int(time)], partial: partial))
        }
        try upload(1, at: 10, JournalChange(object, .create, written: [0, 1], values: [.string("A"), .int(1)]))
        try set(2, at: 30)
        try set(1, at: 20)
        try set(3, at: 5, adding: 7)
        let late = WriteStamp(timestamp: HybridTimestamp(microseconds: 30), clientID: 2, version: 2)
        var history = try storage.history(of: object, since: 1)
        let early = WriteStamp(timestamp: HybridTimestamp(microseconds: 1), clientID: 1, version: 0)
        func additions(since version: UInt64) throws -> [Value] {
            try storage.history(of: object, since: version).additions(to: 1, laterThan: early)
        }
        #expect(history.latestAssignment(of: 1) == late)
        #expect(try additions(since: 1) == [.int(7)])
        #expect(try additions(since: 4) == [])
        #expect(try storage.history(of: object, since: 2).latestAssignment(of: 1)?.clientID == 1)
        #expect(try storage.history(of: object, since: 3).latestAssignment(of: 1) == nil)
        #expect(try storage.history(of: object, since: 0).latestAssignment(of: 0)?.clientID == 1)
        #expect(try storage.history(of: Garage.carRef("B"), since: 0).latestAssignment(of: 0) == nil)
        try upload(2, at: 40, JournalChange(object, .delete))
        history = try storage.history(of: object, since: 1)
        #expect(history.latestDeletion?.timestamp.microseconds == 40)
        #expect(history.latestAssignment(of: 1) == nil)
        try upload(3, at: 50, JournalChange(object, .create, written: [2], values: [.null]))
        history = try storage.history(of: object, since: 1)
        #expect(history.latestDeletion?.timestamp.microseconds == 40)
        #expect(history.latestAssignment(of: 1) == nil)
        #expect(history.latestAssignment(of: 2)?.clientID == 3)
    }

    @Test func entriesSurviveReopeningAndVersionsHaveNoGaps() throws {
        let folder = try TemporaryFolder()
        var entries: [SluiceStorage.LogEntry] = []
        do {
            let driven = try Driven(seed: 5, location: .file(folder.file("db")))
            try driven.storage.write { for _ in 0..<10 { try driven.upload() } }
            try driven.storage.forEachLogEntry(after: 0) { entry in
                entries.append(entry)
                return true
            }
            #expect(driven.storage.version == 10)
        }
        let storage = try SQLiteServerStorage.open(.file(folder.file("db")), databaseID: ObjectID(high: 0, low: 0))
        var again: [SluiceStorage.LogEntry] = []
        try storage.forEachLogEntry(after: 0) { entry in
            again.append(entry)
            return entry.version < 7
        }
        #expect(again == Array(entries.prefix(7)))
        #expect(storage.version == 10)
    }

    @Test func clientsKeepWhatTheyReached() throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("db"))
        var record: ClientRecord
        do {
            let storage = try Garage.server(location)
            let nonce = ObjectID(high: 4, low: 5)
            record = try storage.write {
                try storage.makeClient(userID: "ann", nonce: nonce, createdAt: Timestamp(microseconds: 6))
            }
            #expect(record.id == 1)
            record.version = .max
            record.nonce = ObjectID(high: .max, low: 0)
            record.offer = ObjectID(high: 0, low: .max)
            try storage.write {
                try storage.noteVisit(
                    ClientVisit(
                        clientID: 1, userID: "ann", nonce: record.nonce, offer: record.offer, version: .max,
                        time: Timestamp(microseconds: 6)))
                try storage.beginEpoch(.max)
            }
            try storage.write { try storage.record(client: 1, sequence: 9) }
            record.sequence = 9
        }
        let storage = try SQLiteServerStorage.open(location, databaseID: ObjectID(high: 0, low: 0))
        #expect(try storage.client(1) == record)
        #expect(try storage.client(2) == nil)
        #expect(storage.epoch == .max)
    }

    @Test func aVersionIsKnownInTheEpochThatReachedIt() throws {
        let storage = try Garage.server()
        func write(_ count: UInt64) throws {
            for _ in 0..<count {
                try storage.write { try storage.record() }
            }
        }
        try write(3)
        let first = storage.epoch
        try storage.write { try storage.beginEpoch(77) }
        #expect(storage.reaches(3, inEpoch: first) && storage.reaches(3, inEpoch: 77))
        try write(2)
        #expect(!storage.reaches(4, inEpoch: first), "the first epoch ended with version 3")
        #expect(storage.reaches(5, inEpoch: 77) && !storage.reaches(6, inEpoch: 77))
        #expect(!storage.reaches(0, inEpoch: 78))
        // An epoch that is rolled back never begins.
        try storage.transaction(undone: true) { try storage.beginEpoch(79) }
        #expect(storage.epoch == 77 && !storage.reaches(5, inEpoch: 79))
    }
}
