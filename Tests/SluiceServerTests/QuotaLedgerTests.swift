import SluiceModel
import SluiceServer
import Testing

struct QuotaLedgerTests {
    private static func ledger(_ change: (inout Quotas) -> Void) -> QuotaLedger {
        var quotas = Quotas()
        change(&quotas)
        return QuotaLedger(quotas)
    }

    private static func time(_ seconds: Double) -> Timestamp { Timestamp(microseconds: Int64(seconds * 1_000_000)) }

    @Test func anAddressHasAsManyConnectionsAsItsQuotaAndOthersHaveTheirOwn() {
        let ledger = Self.ledger { $0.connectionCountMaxPerAddress = 2 }
        var places = (0..<2).map { _ in ledger.connect(from: "192.0.2.1") }
        #expect(places.allSatisfy { $0 != nil } && ledger.connect(from: "192.0.2.1") == nil)
        #expect(ledger.connect(from: "192.0.2.2") != nil)
        places.removeLast()
        #expect(ledger.connect(from: "192.0.2.1") != nil)
        // It was given back at once, since nobody kept it.
        #expect(ledger.connect(from: "192.0.2.1") != nil)
    }

    @Test func aUserAndAnAddressOfTheSameNameAreTwo() {
        let ledger = Self.ledger { $0.sessionCountMaxPerUser = 1 }
        let place = ledger.open(by: .user("x"))
        #expect(place != nil && ledger.open(by: .user("x")) == nil && ledger.open(by: .address("x")) != nil)
    }

    @Test func withoutQuotasNothingIsRefusedOrDelayed() {
        let ledger = Self.ledger {
            $0.connectionCountMaxPerAddress = nil
            $0.sessionCountMaxPerUser = nil
        }
        let places = (0..<1_000).map { _ in (ledger.connect(from: "a"), ledger.open(by: .user("a"))) }
        #expect(places.allSatisfy { $0.0 != nil && $0.1 != nil })
        #expect(ledger.charge(1_000_000_000, to: .user("a"), now: Self.time(0)) == 0)
        #expect(ledger.queueByteCountMax(of: .user("a")) == nil)
    }

    @Test func whoUploadsFasterThanTheRateWaitsUntilItIsPaid() {
        let ledger = Self.ledger { $0.operationRateMaxPerUser = 100 }
        // A second's worth at once, and then one after the other.
        #expect(ledger.charge(100, to: .user("a"), now: Self.time(0)) == 0)
        #expect(ledger.charge(50, to: .user("a"), now: Self.time(0)) == 500_000)
        #expect(ledger.charge(50, to: .user("b"), now: Self.time(0)) == 0)
        #expect(ledger.charge(50, to: .user("a"), now: Self.time(0.5)) == 500_000)
        // Who has paused begins afresh.
        #expect(ledger.charge(100, to: .user("a"), now: Self.time(10)) == 0)
        #expect(ledger.charge(0, to: .user("a"), now: Self.time(10)) == 0)
    }

    @Test func overAnyTimeNoMoreThanTheRateAndOneBurstIsTaken() {
        let ledger = Self.ledger { $0.operationRateMaxPerUser = 1_000 }
        var now = Self.time(100)
        var count = 0
        var generator = SystemRandomNumberGenerator()
        while now.microseconds < Self.time(160).microseconds {
            let operationCount = Int.random(in: 1...400, using: &generator)
            count += operationCount
            let wait = ledger.charge(operationCount, to: .user("a"), now: now)
            now = Timestamp(microseconds: now.microseconds + wait + Int64.random(in: 0...1_000, using: &generator))
        }
        // The last may be read before it is paid for.
        #expect(count <= 61_000 + 400 && count > 50_000)
    }

    @Test func aClockThatGoesBackMakesNobodyWaitForLong() {
        let ledger = Self.ledger { $0.operationRateMaxPerUser = 10 }
        _ = ledger.charge(100, to: .user("a"), now: Self.time(1_000_000))
        #expect(ledger.charge(1, to: .user("a"), now: Self.time(0)) <= 60_000_000)
    }

    @Test func theSessionsOfAUserShareWhatMayWaitForThem() {
        let ledger = Self.ledger { $0.queueByteCountMaxPerUser = 1_000 }
        let places = (0..<4).map { _ in ledger.open(by: .user("a")) }
        // A place is its session's as long as it is held.
        withExtendedLifetime(places) {
            #expect(ledger.queueByteCountMax(of: .user("a")) == 250)
            #expect(ledger.queueByteCountMax(of: .user("b")) == 1_000)
        }
    }
}
