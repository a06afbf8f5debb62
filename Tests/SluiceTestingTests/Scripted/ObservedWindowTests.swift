import CAllocationCounter
import Sluice
import SluiceModel
import SluiceQuery
import SluiceTesting
import Testing

/// What observers of the first results read and hold, counted in a store of n objects and of 4 n; and what they are
/// shown, compared with what a plain evaluation of all rows finds.
@Suite struct ObservedWindowTests {
    typealias Yard = WindowYard

    private static let windows = [
        "Car SORT(price ASC) LIMIT(20)", "Car SORT(price DESC, weight ASC) LIMIT(20)", "Car LIMIT(20)",
        "Car WHERE weight > 3 SORT(weight DESC, price ASC) LIMIT(20)",
        "Car WHERE dealer.rank > 1 SORT(dealer.rank ASC) LIMIT(20)", "Note LIMIT(20)", "Note SORT(text ASC) LIMIT(20)",
    ]

    @Test(arguments: windows, Yard.Arrangement.allCases)
    func observingReadsAndHoldsAsMuchOfALargeStoreAsOfASmallOne(
        text: String, arrangement: Yard.Arrangement
    ) throws {
        let costs = try [200, 800].map { count in
            let yard = try Yard(arrangement, carCount: count)
            let observer = try yard.observe(text)
            #expect(try observer.isRight && observer.shown.count == 20)
            return [yard.engine.observationWork.readCount, yard.engine.heldResultCount]
        }
        // The limit, and a surplus as large.
        #expect(costs == [[40, 40], [40, 40]])
    }

    /// With a total, which is counted without reading more of the matches than that they match.
    @Test(arguments: ["", " TOTAL"])
    func anIndexedWindowAllocatesAsMuchInALargeStoreAsInASmallOne(total: String) throws {
        let bytes = try [500, 2_000].map { count in
            let yard = try Yard(carCount: count)
            // What runs for the first time also allocates for itself, and so do the runtime's tables now and then.
            return try (0..<5).map { _ in
                let before = allocated_byte_count()
                try yard.observe("Car SORT(price ASC) LIMIT(20)\(total)")
                return allocated_byte_count() - before
            }.min() ?? 0
        }
        #expect(bytes[1] < bytes[0] + 4_000)
    }

    @Test(arguments: windows) func losingItsFirstResultsAWindowReadsNowAndThen(text: String) throws {
        let costs = try [400, 1_600].map { count in
            let yard = try Yard(carCount: count)
            let observer = try yard.observe(text)
            let before = yard.engine.observationWork.readCount
            var heldMax = 0
            for _ in 0..<100 {
                let first = try #require(observer.shown.first).object
                try yard.write { try $0.delete(first) }
                heldMax = max(heldMax, yard.engine.heldResultCount)
            }
            #expect(try observer.isRight && observer.problems == [])
            return [yard.engine.observationWork.readCount - before, heldMax]
        }
        #expect(costs[0] == costs[1])
        // Two readings: after 21 deletions one of the limit and twice the surplus, after 41 more one of four times that.
        // And the objects that were deleted, with the dealers that the condition reads.
        #expect(costs[0][0] <= (20 + 40) + (20 + 80) + (text.contains("dealer") ? 200 : 100))
        #expect(costs[0][1] <= 20 + 80)
    }

    @Test(arguments: windows) func changesBehindTheWindowReadNothingMore(text: String) throws {
        let yard = try Yard(carCount: 400)
        let observer = try yard.observe(text)
        let first = Set(observer.shown.map(\.object))
        let before = yard.engine.observationWork.readCount
        for number in 0..<100 as Range<Int64> where !first.contains(Yard.car(number)) {
            try yard.set(Yard.car(number), Yard.color, .string("another \(number)"))
        }
        #expect(try observer.isRight && observer.problems == [])
        // Nothing but the objects that were written, with the dealers that the condition reads.
        #expect(yard.engine.observationWork.readCount - before <= (text.contains("dealer") ? 200 : 100))
        #expect(yard.engine.heldResultCount == 40)
    }

    @Test func aWindowThatFillsDropsWhatItDoesNotNeed() throws {
        let yard = try Yard(carCount: 0)
        let observer = try yard.observe("Car SORT(price ASC) LIMIT(20)")
        for number in (0..<300 as Range<Int64>).reversed() {
            try yard.write { try $0.insert(Yard.newCar(number, price: number), ofClass: Yard.car) }
            #expect(yard.engine.heldResultCount <= 20 + 20 + 20)
        }
        try yard.write { writer in
            for number in 300..<900 as Range<Int64> {
                try writer.insert(Yard.newCar(number, price: -number), ofClass: Yard.car)
            }
        }
        #expect(yard.engine.heldResultCount == 40)
        #expect(try observer.isRight && observer.problems == [])
    }

    @Test func oneCommitMayTakeAllThatIsHeld() throws {
        let yard = try Yard(carCount: 300)
        let observer = try yard.observe("Car SORT(price ASC) LIMIT(20)")
        try yard.write { writer in for number in 0..<200 as Range<Int64> { try writer.delete(Yard.car(number)) } }
        #expect(try observer.isRight && observer.shown.count == 20 && observer.problems == [])
        try yard.write { writer in for number in 200..<290 as Range<Int64> { try writer.delete(Yard.car(number)) } }
        #expect(try observer.isRight && observer.shown.count == 10 && observer.problems == [])
        try yard.write { writer in for number in 290..<300 as Range<Int64> { try writer.delete(Yard.car(number)) } }
        #expect(try observer.isRight && observer.shown.isEmpty && observer.problems == [])
    }

    /// The state that an event shows is that of its commit, although the store was read for it while the consumer was
    /// busy with an earlier one.
    @Test func aBusyConsumerIsShownWhatItWouldHaveBeenShownAtOnce() throws {
        let yard = try Yard(carCount: 300)
        let observer = try yard.observe("Car SORT(price ASC) LIMIT(3)")
        observer.isLagging = true
        for number in 0..<200 as Range<Int64> { try yard.write { try $0.delete(Yard.car(number)) } }
        observer.isLagging = false
        yard.settle()
        #expect(try observer.isRight && observer.problems == [])
        #expect(yard.engine.heldResultCount <= 3 + 4_096)
    }

    /// What comes into a window and leaves it while its consumer is busy waits no longer, whatever made it leave.
    @Test(arguments: ["Car SORT(price ASC) LIMIT(20)", "Car WHERE price < 0"], [false, true])
    func whatPassesThroughAWindowDoesNotWaitForABusyConsumer(text: String, deletes: Bool) throws {
        let counts = try [400, 1_600].map { count in
            let yard = try Yard(carCount: 100)
            let observer = try yard.observe(text)
            observer.isLagging = true
            var waitingMax = 0
            for number in 1_000..<Int64(1_000 + count) {
                try yard.write { try $0.insert(Yard.newCar(number, price: -number), ofClass: Yard.car) }
                if deletes { try yard.write { try $0.delete(Yard.car(number)) } }
                waitingMax = max(waitingMax, yard.engine.waitingEditCount)
            }
            observer.isLagging = false
            yard.settle()
            #expect(try observer.isRight && observer.problems == [])
            #expect(yard.engine.waitingEditCount == 0)
            return waitingMax
        }
        // Without a limit, all that stays waits.
        if text.contains("LIMIT") || deletes { #expect(counts[0] == counts[1] && counts[1] <= 200) }
    }

    @Test(arguments: Yard.Arrangement.allCases)
    func whatIsFetchedIsThatOfAPlainEvaluation(arrangement: Yard.Arrangement) throws {
        let yard = try Yard(arrangement, carCount: 60)
        for text in Self.windows + ["Car SORT(price ASC) LIMIT(0)", "Car SORT(weight ASC) LIMIT(1000)"] {
            let observer = try yard.observe(text)
            let fetched = try yard.storage.results(of: observer.query).visible.map(\.object)
            #expect(try fetched == observer.expected().map(\.object))
            #expect(try observer.isRight)
        }
    }

    // MARK: Generated changes

    private static let observed = [
        "Car SORT(price ASC) LIMIT(5)", "Car SORT(price DESC, weight ASC) LIMIT(3)", "Car LIMIT(4)",
        "Car SORT(weight ASC) LIMIT(1)", "Car WHERE weight > 3 SORT(color ASC, price DESC) LIMIT(6)",
        "Car WHERE price < 6 LIMIT(5)", "Car WHERE dealer.rank > 1 SORT(dealer.rank DESC, weight ASC) LIMIT(5)",
        "Car WHERE dealer.rank < 3 LIMIT(4)", "Car SORT(price ASC) LIMIT(0)", "Car SORT(weight ASC) LIMIT(30)",
        "Car SORT(price ASC) DISTINCT(weight) LIMIT(4)", "Car SORT(price ASC) LIMIT(8) DISTINCT(color)",
    ]

    @Test(arguments: 0..<12 as Range<UInt64>)
    func whateverIsWrittenAWindowShowsWhatAPlainEvaluationFinds(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        func below(_ bound: Int) -> Int64 { Int64(Int.random(in: 0..<bound, using: &generator)) }
        let arrangement = Yard.Arrangement.allCases[Int(seed % 3)]
        let yard = try Yard(arrangement, carCount: 40, surplus: [0, 1, 3, nil][Int(seed / 3 % 4)])
        for text in Self.observed { try yard.observe(text) }
        if arrangement == .alone {
            try yard.observe("Dealer WHERE @links.Car.dealer.@count > 1 SORT(rank ASC) LIMIT(3)")
        }
        var next = 100 as Int64
        for round in 0..<80 {
            for observer in yard.observers where below(10) == 0 { observer.isLagging.toggle() }
            if yard.observers.contains(where: \.isLagging), below(4) == 0 {
                for observer in yard.observers { observer.isLagging = false }
                yard.settle()
            }
            try yard.write { writer in
                func cars() throws -> [ObjectRef] {
                    try writer.results(of: yard.query("Car SORT(price ASC)")).visible.map(\.object)
                }
                for _ in 0...below(3) {
                    let present = try cars()
                    let some = present.isEmpty ? nil : present[Int(below(present.count))]
                    switch below(9) {
                    case 0:
                        // The first or the last rows go at once.
                        let count = Int(below(12))
                        for object in below(2) == 0 ? present.prefix(count) : present.suffix(count) {
                            try writer.delete(object)
                        }
                    case 1, 2:
                        for _ in 0...below(below(5) == 0 ? 30 : 3) {
                            next += 1
                            try writer.insert(Yard.newCar(next, price: below(12)), ofClass: Yard.car)
                        }
                    case 3:
                        let rank = FieldOperation(Yard.rank, .set(.int(below(4))))
                        try writer.update(ObjectRef(Yard.dealer, .int(below(Int(Yard.dealerCount)))), [rank])
                    case 4:
                        if let some { try writer.delete(some) }
                    default:
                        guard let some else { continue }
                        let operation =
                            switch below(4) {
                            case 0: FieldOperation(Yard.weight, .set(.int(below(8))))
                            case 1: FieldOperation(Yard.color, .set(.string("color \(below(4))")))
                            case 2: FieldOperation(Yard.dealerOfCar, .set(.link(.int(below(Int(Yard.dealerCount))))))
                            default: FieldOperation(Yard.price, .set(.int(below(12))))
                            }
                        try writer.update(some, [operation])
                    }
                }
            }
            for observer in yard.observers where !observer.isLagging {
                #expect(try observer.isRight, "seed \(seed), round \(round): \(observer.query)")
            }
            for observer in yard.observers {
                #expect(observer.problems == [], "seed \(seed), round \(round): \(observer.query)")
            }
        }
    }
}
