import FoundationEssentials
import SluiceModel
import Testing

struct OperationTests {
    @Test(arguments: [
        (FieldOperation.Change.set(.int(5)), Value.int(1), Value.int(5)), (.set(.null), .int(1), .null),
        (.add(.int(2)), .int(-5), .int(-3)), (.add(.int(1)), .int(.max), .int(.min)),
        (.add(.double(0.5)), .double(1), .double(1.5)), (.add(.float(0.5)), .float(1), .float(1.5)),
        (.add(.decimal(2)), .decimal(3), .decimal(5)),
        (.add(.int(1)), .null, .null), (.add(.double(1)), .int(1), .int(1)),
        (.add(.int(1)), .string("1"), .string("1")),
    ])
    func aChangeIsAppliedToAValue(change: FieldOperation.Change, value: Value, result: Value) {
        #expect(change.applied(to: value) == result)
    }

    @Test func theKindsOfOperationsAreThoseOfTheirActionsAndFields() {
        let object = ObjectRef(0, .int(1))
        let fields = [FieldOperation(1, .set(.int(1))), FieldOperation(2, .add(.int(1)))]
        var operations = [ObjectOperation(object, .create(fields))]
        #expect(operations.kinds == [.create])
        operations.append(ObjectOperation(object, .update(fields)))
        #expect(operations.kinds == [.create, .set, .add])
        operations.append(ObjectOperation(object, .delete))
        #expect(operations.kinds == [.create, .set, .add, .delete])
        #expect(ObjectOperation(object, .delete).fields.isEmpty)
    }
}

struct HybridClockTests {
    static func at(_ microseconds: Int64) -> Timestamp { Timestamp(microseconds: microseconds) }

    @Test func ticksFollowTheWallClockAndNeverRepeatEvenWhenItStandsOrRunsBackwards() {
        var clock = HybridClock()
        let ticks = [100, 100, 50, 101, 500].map { clock.tick(now: Self.at($0)).microseconds }
        #expect(ticks == [100, 101, 102, 103, 500])
    }

    @Test(arguments: [-3, 3]) func aClockHoursOffIsCorrectedByTheServersAndASmallErrorIsNot(hours: Int64) {
        let (off, hour): (Int64, Int64) = (hours * 3_600_000_000, 3_600_000_000)
        var clock = HybridClock()
        _ = clock.tick(now: Self.at(100 * hour + off))
        func compare(server: Int64, own: Int64) -> Bool {
            clock.compare(with: Self.at(server), asked: Self.at(own), now: Self.at(own))
        }
        let isOff = compare(server: 100 * hour, own: 100 * hour + off)
        #expect(isOff && clock.correction == -off)
        let tick = clock.tick(now: Self.at(101 * hour + off)).microseconds
        #expect(tick == 101 * hour)
        // A message that took half a second changes nothing.
        let isSlow = compare(server: 101 * hour, own: 101 * hour + off + 500_000)
        #expect(!isSlow)
        // Somebody has set the clock right.
        let isSet = compare(server: 102 * hour, own: 102 * hour + HybridClock.driftMax)
        #expect(isSet && clock.correction == 0)
        let later = clock.tick(now: Self.at(103 * hour)).microseconds
        #expect(later == 103 * hour)
        let isRight = !compare(server: 103 * hour, own: 103 * hour - HybridClock.driftMax)
        #expect(isRight)
    }

    @Test func anAnswerThatTookLongIsNoErrorOfTheClock() {
        var clock = HybridClock()
        let minute: Int64 = 60_000_000
        // The machine slept for an hour between question and answer, and both clocks are right.
        let isOff = clock.compare(with: Self.at(100 * minute), asked: Self.at(100 * minute), now: Self.at(160 * minute))
        #expect(!isOff && clock.correction == 0)
        // A clock that is off by more than the answer took is corrected by what is certain.
        let isAhead = clock.compare(
            with: Self.at(100 * minute), asked: Self.at(300 * minute), now: Self.at(310 * minute))
        #expect(isAhead && clock.correction == -200 * minute)
        let isBehind = clock.compare(
            with: Self.at(300 * minute), asked: Self.at(90 * minute), now: Self.at(100 * minute))
        #expect(isBehind && clock.correction == 200 * minute)
    }

    @Test func aLateAnswerDoesNotMakeTimesGoBack() {
        var clock = HybridClock()
        let first = clock.tick(now: Self.at(10_000_000_000))
        _ = clock.compare(with: Self.at(0), asked: Self.at(0), now: Self.at(10_000_000_000))
        let second = clock.tick(now: Self.at(10_000_000_000))
        #expect(second > first)
    }

    @Test func timesAfterOneFarAheadAreAheadByTheGreatestDriftAtMost() {
        var clock = HybridClock(last: HybridTimestamp(microseconds: .max))
        let first = clock.tick(now: Self.at(0)).microseconds
        #expect(first == .max)
        let isCorrected = clock.compare(with: Self.at(500), asked: Self.at(500), now: Self.at(500))
        let next = clock.tick(now: Self.at(500)).microseconds
        #expect(!isCorrected && next == 501 + HybridClock.driftMax)
    }

    @Test func timesThatCannotBeDoNotOverflow() {
        for server in [Int64.min, .max, 0] {
            for now in [Int64.min, .max, 0] {
                var clock = HybridClock(
                    last: HybridTimestamp(microseconds: now), correction: server == .min ? 0 : server)
                _ = clock.compare(with: Self.at(server), asked: Self.at(now), now: Self.at(now))
                _ = clock.tick(now: Self.at(now))
            }
        }
    }
}
