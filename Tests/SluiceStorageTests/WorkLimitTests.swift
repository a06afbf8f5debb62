import SluiceModel
import SluiceQuery
import SluiceStorage
import Testing

/// Queries that would run without end are stopped, and leave the store as it was.
struct WorkLimitTests {
    private let storage: SQLiteServerStorage
    private let query: Query

    init() throws {
        storage = try Garage.server()
        // The query compares each car with all others, to find one with a higher price.
        query = try .parse(
            "Car WHERE SUBQUERY(owner.@links.Car.owner, $c, $c.price > price).@count == 0", schema: storage.schema)
        try storage.write {
            try storage.insert(Garage.owner(1, name: "Ann"), ofClass: Garage.owner)
            for number in 1...500 {
                try storage.insert(
                    Garage.car("C\(number)", price: Int64(number), owner: Garage.ownerKey(1)), ofClass: Garage.car)
            }
        }
    }

    @Test func aQueryBeyondTheLimitIsStoppedAndTheNextRuns() throws {
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

    /// SQLite counts the call of a function as one step, whatever the function does.
    @Test(arguments: ["LIKE '*????z*'", "CONTAINS 'zz'", "ENDSWITH[c] 'z'", "CONTAINS[c] 'zz'"])
    func functionsAreChargedByTheSizeOfWhatTheyTouch(test: String) throws {
        let byteCount = 400_000
        try storage.write {
            try storage.insert(Garage.owner(2, name: String(repeating: "a", count: byteCount)), ofClass: Garage.owner)
        }
        let query = try Query.parse("Owner WHERE name \(test)", schema: storage.schema)
        let limit = WorkLimit(stepCountMax: .max)
        #expect(try storage.withWorkLimit(limit) { try storage.count(matching: query) } == 0)
        #expect((byteCount / 10..<byteCount).contains(limit.stepCount))
        #expect(throws: StorageError.self) {
            try storage.withWorkLimit(WorkLimit(stepCountMax: byteCount / 20)) { try storage.count(matching: query) }
        }
        let evaluator = Evaluator(query, schema: storage.schema)
        let row = try #require(try storage.row(ObjectRef(Garage.owner, Garage.ownerKey(2))))
        let error = #expect(throws: StorageError.self) {
            try storage.withWorkLimit(WorkLimit(stepCountMax: byteCount / 20)) {
                try evaluator.matches(row, in: storage)
            }
        }
        #expect(error?.code == .interrupted)
    }

    @Test func anAttemptEndsAloneAndTheLimitGoesOn() throws {
        let limit = WorkLimit(stepCountMax: 50_000_000)
        let counts = try storage.withWorkLimit(limit) {
            (
                try limit.attempting(100_000) { try storage.count(matching: query) },
                try limit.attempting(40_000_000) { try storage.count(matching: query) },
                try storage.count(matching: query)
            )
        }
        #expect(counts == (nil, 1, 1))
    }

    /// Trying the alternatives one by one would take a few steps for each of them and each car.
    @Test func alternativesThatFixTheSameValuesCostLittleMoreTheMoreThereAre() throws {
        func stepCount(_ alternativeCount: Int, isNegated: Bool) throws -> Int {
            let alternatives = (1...alternativeCount).map { number in
                isNegated
                    ? "(price != \(number) OR vin != 'C\(number)')" : "(price == \(number) AND vin == 'C\(number)')"
            }
            let text = alternatives.joined(separator: isNegated ? " AND " : " OR ")
            let query = try Query.parse("Car WHERE \(text)", schema: storage.schema)
            let limit = WorkLimit(stepCountMax: .max, interval: 20)
            let count = try storage.withWorkLimit(limit) { try storage.count(matching: query) }
            #expect(count == (isNegated ? 500 - alternativeCount : alternativeCount))
            return limit.stepCount
        }
        for isNegated in [false, true] {
            #expect(
                try stepCount(400, isNegated: isNegated) <= stepCount(100, isNegated: isNegated) + 40 * 300,
                "negated: \(isNegated)")
        }
    }

    /// 500 cars of one owner. Without memory, the largest of 500 prices would be computed again for each car.
    @Test(arguments: [
        ("owner.@links.Car.owner.@max.price == price", 1), ("owner.@links.Car.owner.@count >= price", 500),
        ("SUBQUERY(owner.@links.Car.owner, $c, $c.price > 100).@count < price", 100),
    ])
    func whatManyObjectsShareIsComputedOnce(condition: String, matchCount: Int) throws {
        let query = try Query.parse("Car WHERE \(condition)", schema: storage.schema)
        let limit = WorkLimit(stepCountMax: .max, interval: 100)
        #expect(try storage.withWorkLimit(limit) { try storage.count(matching: query) } == matchCount)
        #expect(limit.stepCount < 100 * 500)
        let evaluator = Evaluator(query, schema: storage.schema)
        let rows = try (1...500).map { try #require(try storage.row(ObjectRef(Garage.car, .string("C\($0)")))) }
        let judging = WorkLimit(stepCountMax: .max, interval: 100)
        let count = try storage.withWorkLimit(judging) {
            try rows.filter { try evaluator.matches($0, in: storage) }.count
        }
        #expect(count == matchCount)
        #expect(judging.stepCount < 100 * 500)
        // A later state is evaluated again.
        try storage.write {
            for number in 501...600 {
                try storage.insert(
                    Garage.car("C\(number)", price: Int64(number), owner: Garage.ownerKey(1)), ofClass: Garage.car)
            }
        }
        let first = try #require(rows.first)
        let newCount = try storage.count(matching: query)
        let all = try (1...600).map { try #require(try storage.row(ObjectRef(Garage.car, .string("C\($0)")))) }
        let judged = try storage.withWorkLimit(WorkLimit(stepCountMax: .max)) {
            _ = try evaluator.matches(first, in: storage)
            return try all.filter { try evaluator.matches($0, in: storage) }.count
        }
        #expect(judged == newCount)
    }
}
