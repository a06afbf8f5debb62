import SluiceModel
import SluiceQuery
import SluiceStorage
import Testing

struct FaultTests {
    @Test(arguments: FaultPlan.Fault.allCases)
    func serverWhoseNthWriteFailsIsAsBeforeAndGoesOn(fault: FaultPlan.Fault) throws {
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("db"))
        func group(_ storage: SQLiteServerStorage) throws {
            try storage.write {
                let visit = ClientVisit(
                    clientID: 1, userID: nil, nonce: ObjectID(high: 0, low: 0), offer: ObjectID(high: 0, low: 0),
                    version: 0,
                    time: Timestamp(microseconds: 0))
                let extra = try ClassSchema(
                    "Extra", properties: [Property("tags", PropertyType(.scalar(.int), container: .set))])
                let car = Garage.car("B", owner: Garage.ownerKey(1), former: [Garage.ownerKey(2)])
                let cheaper = JournalChange(
                    Garage.carRef("A"), .update, written: [1, 3], values: [.int(2), .list([])])
                try storage.record(
                    client: 1, after: [.visit(visit), .schema(Schema([extra])), .epoch(5)],
                    [.create(car, ofClass: Garage.car), cheaper, JournalChange(Garage.ownerRef(5), .delete)])
            }
        }
        func reopened() throws -> SQLiteServerStorage {
            try SQLiteServerStorage.open(location, databaseID: ObjectID(high: 0, low: 0))
        }
        let before = try {
            let storage = try Garage.server(location)
            try storage.write {
                try storage.insert(Garage.car("A", price: 1, former: [Garage.ownerKey(5)]), ofClass: Garage.car)
                try storage.insert(Garage.owner(5), ofClass: Garage.owner)
            }
            return try storage.rows(ofClass: Garage.car)
        }()
        func check(_ storage: SQLiteServerStorage, _ number: Int) throws {
            #expect(!storage.isInTransaction)
            #expect(storage.version == 0)
            #expect(storage.schema == (try Garage.schema()))
            #expect(try storage.rows(ofClass: Garage.car) == before, "write \(number)")
            #expect(try storage.isPresent(Garage.ownerRef(5)))
            #expect(try storage.client(1) == nil)
        }
        /// Whether the group succeeds when its nth write fails. It is tried twice on one handle, as a server would go
        /// on.
        func succeeds(_ number: Int) throws -> Bool {
            let storage = try reopened()
            try check(storage, number)
            for _ in 0..<2 {
                let plan = FaultPlan(failing: number, with: fault)
                storage.faults = plan
                do {
                    try group(storage)
                    #expect(!plan.hasFired)
                    return true
                } catch let error as StorageError {
                    #expect(error.code == (fault == .full ? .full : .io))
                }
                storage.faults = nil
                try check(storage, number)
            }
            return false
        }
        var number = 1
        while try !succeeds(number) {
            number += 1
            try #require(number < 200, "the group must succeed in the end")
        }
        #expect(number > 10)
        let storage = try reopened()
        #expect(storage.version == 1)
        #expect(try storage.rows(ofClass: Garage.car).count == 2)
        #expect(try storage.client(1)?.sequence == 1)
        #expect(storage.schema.classes.count == 3)
    }

    @Test(arguments: FaultPlan.Fault.allCases)
    func clientWhoseNthWriteFailsIsAsBeforeAndGoesOn(fault: FaultPlan.Fault) throws {
        let storage = try Garage.client()
        let id = try storage.write {
            try storage.insert(Garage.car("A"), ofClass: Garage.car)
            try storage.insert(Garage.car("B"), ofClass: Garage.car)
            let id = try storage.addSubscription(ClientStoreTests.record("q")).id
            try storage.addMember(Garage.carRef("A"), role: .root, to: id)
            return id
        }
        func transaction() throws {
            try storage.write {
                try storage.put(Garage.car("C", price: 4), ofClass: Garage.car)
                try storage.evict(Garage.carRef("A"))
                try storage.setBaseImage(BaseImage.none, of: Garage.carRef("C"))
                try storage.setClock(HybridTimestamp(microseconds: 8))
                try storage.appendToOutbox(
                    Changeset(
                        sequence: storage.lastSequence + 1, baseVersion: 0, timestamp: HybridTimestamp(microseconds: 8),
                        operations: [ObjectOperation(Garage.carRef("C"), .create([]))]))
                try storage.beginStaging(id)
                try storage.stageMember(Garage.carRef("B"), role: .root, in: id)
                _ = try storage.finishStaging(id)
                try storage.addMember(Garage.carRef("C"), role: .linked, to: id)
            }
        }
        func check(_ reader: any ClientReading, isDone: Bool, _ number: Int) throws {
            #expect(try reader.isPresent(Garage.carRef("A")) == !isDone, "write \(number)")
            #expect(try reader.isPresent(Garage.carRef("C")) == isDone, "write \(number)")
            #expect(try reader.hasPending(Garage.carRef("C")) == isDone, "write \(number)")
            #expect(try reader.isMember(Garage.carRef("A"), of: id, role: .root) == !isDone, "write \(number)")
            #expect(try reader.isMember(Garage.carRef("B"), of: id, role: .root) == isDone, "write \(number)")
            #expect(try reader.isMember(Garage.carRef("C"), of: id, role: nil) == isDone, "write \(number)")
        }
        var number = 0
        while true {
            number += 1
            try #require(number < 200, "the transaction must succeed in the end")
            let plan = FaultPlan(failing: number, with: fault)
            storage.faults = plan
            let isDone: Bool
            do {
                try transaction()
                isDone = true
            } catch is StorageError {
                isDone = false
            }
            storage.faults = nil
            #expect(isDone == !plan.hasFired)
            #expect(storage.outboxCount == (isDone ? 1 : 0))
            #expect(storage.clock.microseconds == (isDone ? 8 : 0))
            #expect(!storage.isStaging(id))
            try check(storage, isDone: isDone, number)
            try storage.read { try check($0, isDone: isDone, number) }
            if isDone { break }
        }
        #expect(number > 10)
    }

    /// The caller goes on after every error, as an application may within its own transaction.
    @Test(arguments: FaultPlan.Fault.allCases)
    func aTransactionWhoseNthWriteFailsIsRolledBackEvenIfNobodyPassesTheErrorOn(fault: FaultPlan.Fault) throws {
        let storage = try Garage.client()
        try storage.write { try storage.insert(Garage.car("A"), ofClass: Garage.car) }
        for number in 1...60 {
            let plan = FaultPlan(failing: number, with: fault)
            storage.faults = plan
            var isDone = false
            do {
                try (number % 2 == 0 ? storage.receive : storage.transaction) {
                    try? storage.put(Garage.car("B", former: [Garage.ownerKey(1)]), ofClass: Garage.car)
                    try? storage.update(Garage.car("A", price: 9), ofClass: Garage.car, changed: [1])
                    try? storage.setBaseImage(BaseImage.none, of: Garage.carRef("A"))
                    try? storage.setMetadata("x", [1])
                    try? storage.setClock(HybridTimestamp(microseconds: 8))
                }
                isDone = true
            } catch is StorageError {}
            storage.faults = nil
            #expect(isDone == !plan.hasFired, "write \(number)")
            #expect(try storage.row(Garage.carRef("A")) == Garage.car("A", price: isDone ? 9 : 0), "write \(number)")
            #expect(try storage.isPresent(Garage.carRef("B")) == isDone, "write \(number)")
            #expect(try storage.baseImage(of: Garage.carRef("A")) == (isDone ? BaseImage.none : nil))
            #expect(storage.clock.microseconds == (isDone ? 8 : 0), "write \(number)")
            if isDone { return #expect(number > 5) }
        }
        Issue.record("the transaction must succeed in the end")
    }

    @Test func writesAfterSQLiteEndedTheTransactionAreRefusedNotCommittedAlone() throws {
        let storage = try Garage.client()
        let first = #expect(throws: StorageError.self) {
            try storage.transaction {
                storage.faults = FaultPlan(failing: 1, with: .full)
                try? storage.insert(Garage.car("A"), ofClass: Garage.car)
                do {
                    try storage.insert(Garage.car("B"), ofClass: Garage.car)
                    Issue.record("the transaction has ended")
                } catch let error as StorageError {
                    #expect(error.code == .misuse)
                }
            }
        }
        #expect(first?.code == .full)
        storage.faults = nil
        #expect(try storage.read { try $0.count(ofClass: Garage.car) } == 0)
        try storage.write { try storage.insert(Garage.car("B"), ofClass: Garage.car) }
    }
}
