import SluiceModel
import SluiceQuery
import SluiceStorage
import Testing

/// Queries that would run for ever are stopped, and leave the store as it was.
struct WorkLimitTests {
    private let storage: SQLiteServerStorage
    private let query: Query

    init() throws {
        storage = try Garage.server()
        // Every car asks for the dearest of all.
        query = try .parse("Car WHERE owner.@links.Car.owner.@max.price == price", schema: storage.schema)
        try storage.write {
            try storage.insert(Garage.owner(1, name: "Ann"), ofClass: Garage.owner)
            for number in 1...500 {
                try storage.insert(
                    Garage.car("C\(number)", price: Int64(number), owner: Garage.ownerKey(1)), ofClass: Garage.car)
            }
        }
    }

    @Test func aQueryBeyondTheLimitIsStopped_andTheNextRuns() throws {
        let error = #expect(throws: StorageError.self) {
            try storage.withWorkLimit(WorkLimit(stepCountMax: 200_000)) { try storage.count(matching: query) }
        }
        #expect(error?.code == .interrupted)
        #expect(error?.message.contains("more work than is allowed") == true)
        #expect(try storage.withWorkLimit(WorkLimit(stepCountMax: .max)) { try storage.count(matching: query) } == 1)
        #expect(try storage.count(matching: query) == 1)
    }

    @Test func aQueryThatNobodyWaitsForIsStopped() throws {
        var looks = 0
        let limit = WorkLimit(stepCountMax: .max) {
            looks += 1
            return looks == 3
        }
        let error = #expect(throws: StorageError.self) {
            try storage.withWorkLimit(limit) { try storage.count(matching: query) }
        }
        #expect(error?.code == .cancelled && looks == 3)
        #expect(error?.message.contains("nobody waits") == true)
    }

    @Test func theLimitIsForAllReadsTogether() throws {
        let limit = WorkLimit(stepCountMax: 20_000_000)
        let error = #expect(throws: StorageError.self) {
            try storage.withWorkLimit(limit) { while true { _ = try storage.count(matching: query) } }
        }
        #expect(error?.code == .interrupted)
    }
}
