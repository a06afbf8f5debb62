import SluiceModel
import SluiceQuery
import SluiceStorage
import TestSupport
import Testing

/// New objects are written together where their keys ascend, and nobody can tell.
@Suite(.ownThread) struct InsertBufferTests {
    private enum State: Equatable {
        case present(Row)
        case gone
    }

    private static func key(_ number: Int) -> String {
        let digits = String(number)
        return String(repeating: "0", count: 4 - digits.count) + digits
    }

    /// Makes one change of the cars, and the same of the expected ones.
    private static func change(
        _ storage: SQLiteClientStorage, _ cars: inout [String: State], _ random: inout SeededGenerator
    ) throws {
        let start = Int.random(in: 0..<300, using: &random)
        switch Int.random(in: 0..<8, using: &random) {
        case 0...3:
            // A run of new cars, some of which link to others, of which something is read now and then.
            let step = Int.random(in: 1...3, using: &random)
            for number in stride(from: start, to: start + Int.random(in: 1...60, using: &random) * step, by: step) {
                let vin = key(number)
                let owner = random.chance(5) ? Garage.ownerKey(UInt64.random(in: 0..<9, using: &random)) : nil
                let former = random.chance(5) ? [Garage.ownerKey(3)] : []
                let row = Garage.car(vin, price: Int64(number), owner: owner, former: former)
                if random.chance(5) { try check(storage, cars, key(number + random.pick([-1, 0, 1]) + 1)) }
                if case .present? = cars[vin] {
                    #expect(try !storage.insertIfAbsent(row, ofClass: Garage.car))
                    #expect(throws: StorageError.self) { try storage.insert(row, ofClass: Garage.car) }
                    continue
                }
                switch random.pick([0, 1, 2]) {
                case 0: try storage.put(row, ofClass: Garage.car)
                case 1: try storage.insert(row, ofClass: Garage.car)
                default: #expect(try storage.insertIfAbsent(row, ofClass: Garage.car))
                }
                cars[vin] = .present(row)
            }
        case 4:
            let vin = key(start)
            try storage.delete(Garage.carRef(vin), version: 3)
            cars[vin] = cars[vin].map { _ in .gone }
        case 5:
            try storage.evict(Garage.carRef(key(start)))
            cars[key(start)] = nil
        case 6:
            // A ghost in the middle of what is to come.
            let owner = Garage.owner(UInt64.random(in: 0..<9, using: &random), name: "x", car: key(start))
            try storage.put(owner, ofClass: Garage.owner)
        default:
            guard case .present(var row)? = cars[key(start)] else { return }
            row.values[1] = .int(-1)
            try storage.update(row, ofClass: Garage.car, changed: [1])
            cars[key(start)] = .present(row)
        }
    }

    private static func check(_ storage: some ObjectReading, _ cars: [String: State], _ vin: String) throws {
        var expected: Row?
        if case .present(let row)? = cars[vin] { expected = row }
        let found = try storage.row(Garage.carRef(vin))
        #expect(found == expected, "car \(vin)")
        #expect(try storage.isPresent(Garage.carRef(vin)) == (expected != nil), "car \(vin)")
    }

    @Test(arguments: 0..<12) func theStoreIsAsIfEveryRowWereWrittenAtOnce(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let folder = try TemporaryFolder()
        let location = StorageLocation.file(folder.file("store"))
        let storage = try Garage.client(location)
        storage.rowsPerStatementMax = random.pick([2, 7, 1_024])
        if random.chance(30) { _ = try storage.write { try storage.findObject(ObjectID(high: 0, low: 0)) } }
        var cars: [String: State] = [:]
        for _ in 0..<12 {
            let before = cars
            let isUndone = random.chance(20)
            try storage.transaction(undone: isUndone) {
                for _ in 0..<Int.random(in: 1...6, using: &random) { try Self.change(storage, &cars, &random) }
            }
            if isUndone { cars = before }
            let expected = cars.values.reduce(into: [ObjectKey: Row]()) { rows, state in
                if case .present(let row) = state { rows[row.key] = row }
            }
            #expect(try storage.rows(ofClass: Garage.car) == expected)
            #expect(try storage.read { try $0.count(ofClass: Garage.car) } == expected.count)
            for number in 0..<500 { try Self.check(storage, cars, Self.key(number)) }
        }
        storage.close()
        let reopened = try SQLiteClientStorage.open(location)
        for number in 0..<500 { try Self.check(reopened, cars, Self.key(number)) }
    }

    private func statementCount(_ count: Int, _ write: (SQLiteClientStorage, Row) throws -> Void) throws -> Int {
        let storage = try Garage.client()
        let faults = FaultPlan(failing: .max, with: .full)
        try storage.write {
            storage.faults = faults
            for number in 0..<count { try write(storage, Garage.car(Self.key(number), price: Int64(number))) }
            #expect(try storage.count(ofClass: Garage.car) == count)
            storage.faults = nil
        }
        return faults.attempts
    }

    @Test func aThousandNewObjectsWithAscendingKeysTakeFewStatements() throws {
        #expect(try statementCount(1_000) { try $0.insert($1, ofClass: Garage.car) } < 20)
    }

    @Test func askingForEachNewObjectBeforehandCostsNothing() throws {
        let count = try statementCount(1_000) { storage, row throws in
            #expect(try storage.row(ObjectRef(Garage.car, row.key)) == nil)
            #expect(try storage.insertIfAbsent(row, ofClass: Garage.car))
        }
        #expect(count < 20)
    }

    @Test func rowsThatWaitAreBoundedInBytes() throws {
        let storage = try Garage.client()
        let faults = FaultPlan(failing: .max, with: .full)
        storage.faults = faults
        let text = String(repeating: "x", count: 100_000)
        try storage.write {
            for number in 0..<100 {
                try storage.insert(Garage.owner(UInt64(number), name: text), ofClass: Garage.owner)
            }
            #expect(faults.attempts >= 9, "ten megabytes in parts of one")
        }
    }

    @Test func anErrorOfRowsThatWaitFailsTheTransaction() throws {
        let storage = try Garage.client()
        for failing in 1...40 {
            let faults = FaultPlan(failing: failing, with: .full)
            var isDone = false
            do {
                try storage.write {
                    storage.faults = faults
                    // The errors of single writes are ignored.
                    for number in 0..<30 { try? storage.insert(Garage.car(Self.key(number)), ofClass: Garage.car) }
                }
                isDone = true
            } catch let error as StorageError {
                #expect(error.code == .full)
            }
            storage.faults = nil
            #expect(isDone == !faults.hasFired)
            #expect(try storage.count(ofClass: Garage.car) == (isDone ? 30 : 0))
            if isDone { return }
        }
        Issue.record("the transaction must succeed in the end")
    }
}
