import CAllocationCounter
import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Testing

/// What observers cost: the work of a transaction is counted beside n observers and beside 4 n.
@Suite struct ObserverWorkTests {
    /// A store without a server that has 40 cars of four dealers, and counts the events of its observers.
    private final class Garage {
        static let dealer = 1
        let storage: SQLiteClientStorage
        let engine: ClientEngine
        /// The numbers of the observers that had an event since the last call of ``work(_:)``.
        private(set) var informed: [Int] = []

        init() throws {
            let schema = try Schema([
                ClassSchema(
                    "Car", primaryKey: "number",
                    properties: [
                        Property("number", .scalar(.int)), Property("color", .scalar(.string)),
                        Property("price", .scalar(.int)), Property("dealer", .link("Dealer")),
                    ]),
                ClassSchema(
                    "Dealer", primaryKey: "code",
                    properties: [
                        Property("code", .scalar(.int)), Property("city", .scalar(.string)),
                        Property("name", .scalar(.string)),
                    ]),
            ])
            let storage = try SQLiteClientStorage.open(.memory)
            self.storage = storage
            _ = try storage.transaction { try storage.merge(schema, sides: ("the store", "the models")) }
            engine = try ClientEngine(storage: storage, now: { Timestamp(microseconds: 1) }, random: { 1 })
            try engine.write { writer in
                for code in 0..<4 as Range<Int64> {
                    let row = Row(key: .int(code), values: [.int(code), .string("city \(code)"), .string("")])
                    try writer.insert(row, ofClass: Self.dealer)
                }
                for number in 0..<40 as Range<Int64> {
                    let row = Row(
                        key: .int(number),
                        values: [
                            .int(number), .string("color \(number)"), .int(number * 10), .link(.int(number % 4)),
                        ])
                    try writer.insert(row, ofClass: 0)
                }
            }
        }

        func observe(_ texts: [String]) throws {
            for (number, text) in texts.enumerated() {
                var id: UInt64 = 0
                id = try engine.observe(try Query.parse(text, schema: engine.schema)) { [unowned self] event in
                    if !event.isInitial { informed.append(number) }
                }
                engine.observerIsReady(id)
            }
        }

        func set(_ object: ObjectRef, _ property: Int, _ value: Value) throws {
            try engine.write { try $0.update(object, [FieldOperation(property, .set(value))]) }
        }

        /// The work of the observers during `body`.
        func work(_ body: () throws -> Void) rethrows -> (reads: Int, judgements: Int) {
            informed = []
            let before = engine.observationWork
            try body()
            let after = engine.observationWork
            return (after.readCount - before.readCount, after.judgementCount - before.judgementCount)
        }
    }

    @Test(arguments: [
        "Car WHERE color == 'no color #'", "Car WHERE price > 10#000 AND price < 10#002",
        "Car WHERE color == 'no color #' OR price == 10#000", "Car WHERE price > 10#000 SORT(color ASC) LIMIT(5)",
        "Car WHERE color == 'no color #' SORT(dealer.city ASC)", "Car WHERE dealer.city == 'no city #'",
        "Dealer WHERE city == 'no city #'", "Car WHERE number == 10#000",
    ])
    func aWriteThatConcernsNoObserverCostsTheSameBesideFourTimesAsMany(template: String) throws {
        let works = try [100, 400].map { count in
            let garage = try Garage()
            try garage.observe((0..<count).map { template.replacing("#", with: "\($0)") })
            // What runs for the first time also allocates for itself.
            try garage.set(ObjectRef(0, .int(7)), 2, .int(72))
            try garage.set(ObjectRef(Garage.dealer, .int(2)), 1, .string("a city"))
            // The runtime's tables of metadata grow now and then in whichever thread needs them, so the least counts.
            let measured = try (0..<5).map { round in
                let bytes = allocated_byte_count()
                let work = try garage.work {
                    try garage.set(ObjectRef(0, .int(7)), 2, .int(Int64(71 - round % 2)))
                    try garage.set(ObjectRef(Garage.dealer, .int(2)), 1, .string("another city \(round % 2)"))
                }
                #expect(garage.informed.isEmpty)
                return (work: work, bytes: allocated_byte_count() - bytes)
            }
            return (work: measured[0].work, bytes: measured.map(\.bytes).min() ?? 0)
        }
        #expect(works[0].work.judgements == 0 && works[1].work.judgements == 0)
        #expect(works[0].work.reads == works[1].work.reads)
        // A list of the observers would take 8 bytes for each.
        #expect(works[1].bytes < works[0].bytes + 1_500)
    }

    @Test(arguments: [100, 400])
    func aLinkedObjectIsJudgedForThoseWhoseConditionItMeetsOrMet(count: Int) throws {
        let garage = try Garage()
        try garage.observe((0..<count).map { "Car WHERE dealer.city == 'city \($0)'" })
        let work = try garage.work {
            try garage.set(ObjectRef(Garage.dealer, .int(2)), 1, .string("city 50"))
        }
        #expect(Set(garage.informed) == [2, 50])
        // Ten cars of the dealer, for the observers of the old and of the new city.
        #expect(work.judgements == 20)
        #expect(work.reads <= 20)
    }

    @Test(arguments: [10, 100, 400])
    func aChangeBehindALinkIsToldToThoseWhoHaveTheResult(count: Int) throws {
        let garage = try Garage()
        try garage.observe((0..<count).map { "Car WHERE color == 'color \($0)'" })
        let work = try garage.work {
            try garage.set(ObjectRef(Garage.dealer, .int(2)), 2, .string("another name"))
        }
        #expect(garage.informed.sorted() == (0..<min(count, 40)).filter { $0 % 4 == 2 })
        #expect(work.judgements == 0)
        #expect(work.reads <= 11)
    }

    @Test(arguments: [5, 20])
    func eachTouchedRowIsReadOnceForAllWhoSeeIt(count: Int) throws {
        let garage = try Garage()
        // No condition on one property covers these, so each is judged for each observer.
        try garage.observe((0..<count).map { "Car WHERE price + 0 < 100000 + \($0) SORT(dealer.city ASC)" })
        let work = try garage.work {
            try garage.engine.write { writer in
                for number in 0..<40 as Range<Int64> {
                    try writer.update(ObjectRef(0, .int(number)), [FieldOperation(2, .set(.int(number + 1)))])
                }
            }
        }
        #expect(garage.informed.count == count)
        #expect(work.judgements == 40 * count)
        // The cars and the four dealers that the order reads.
        #expect(work.reads == 44)
    }

    @Test(arguments: [10, 40])
    func aCommitIsJudgedOnlyForTheCompleteSubscriptionThatHasTheObject(count: Int) throws {
        let server = try ScriptedSession()
        for number in 0..<count {
            _ = try server.engine.observe(try server.query("User WHERE age + 0 == \(number)")) { _ in }
        }
        server.open()
        for number in 0..<count {
            server.bootstrap(UInt64(number + 1), [ScriptedSession.user(Int64(number), age: Int64(number))])
        }
        let before = server.engine.observationWork
        server.commit(4, to: 3, [ScriptedSession.user(2, age: 2, version: 4)])
        let after = server.engine.observationWork
        #expect(after.judgementCount - before.judgementCount == 1)
        #expect(after.readCount - before.readCount <= 1)
    }

    /// Overlapping queries that all come back after an outage, and are sent what is here already.
    @Test(arguments: [1, Int.max]) func aPageThatBringsNothingNewIsNotJudged(bulkRowCountMin: Int) throws {
        let server = try ScriptedSession { $0.bulkRowCountMin = bulkRowCountMin }
        let count = 12
        var informed = 0
        // No condition on one property covers these, so each is judged for each observer.
        let observers = try (0..<count).map { number in
            try server.engine.observe(try server.query("User WHERE age + 0 < \(1_000 + number)")) { event in
                if !event.change.isEmpty { informed += 1 }
            }
        }
        func bootstrap(_ users: [Row]) {
            for number in 0..<count {
                server.bootstrap(UInt64(number + 1), users)
                for observer in observers { server.engine.observerIsReady(observer) }
            }
        }
        let users = (0..<30 as Range<Int64>).map { ScriptedSession.user($0, age: $0) }
        server.open()
        bootstrap(users)
        #expect(informed > 0)
        server.loseConnection()
        server.open(.resumed)
        informed = 0
        var before = server.engine.observationWork
        bootstrap(users)
        #expect(server.engine.observationWork.judgementCount == before.judgementCount)
        #expect(informed == 0)
        #expect(server.engine.lastProblem == nil)
        // One user has changed: it is judged for each, and the others for none.
        server.loseConnection()
        server.open(.resumed)
        before = server.engine.observationWork
        var changed = users
        changed[7] = ScriptedSession.user(7, age: 70, version: 3)
        bootstrap(changed)
        #expect(server.engine.observationWork.judgementCount - before.judgementCount <= count)
        #expect(try server.age(of: 7) == .int(70))
        for number in 0..<count {
            let list = try server.storage.results(of: server.query("User WHERE age + 0 < \(1_000 + number)"))
            #expect(list.visible.count == 30)
        }
    }
}
