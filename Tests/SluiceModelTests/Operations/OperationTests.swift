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

    @Test func aTickIsLaterThanWhatWasObserved() {
        var clock = HybridClock(last: HybridTimestamp(microseconds: 10))
        #expect(clock.observe(HybridTimestamp(microseconds: 900), now: Self.at(100)).microseconds == 900)
        #expect(clock.tick(now: Self.at(100)).microseconds == 901)
        #expect(clock.observe(HybridTimestamp(microseconds: 5), now: Self.at(100)).microseconds == 5)
        #expect(clock.tick(now: Self.at(100)).microseconds == 902)
    }

    @Test func aTimestampTooFarAheadIsCutToTheGreatestDrift() {
        var clock = HybridClock()
        let limit = 100 + HybridClock.driftMax
        #expect(clock.observe(HybridTimestamp(microseconds: limit), now: Self.at(100)).microseconds == limit)
        #expect(clock.observe(HybridTimestamp(microseconds: .max), now: Self.at(100)).microseconds == limit)
        #expect(clock.tick(now: Self.at(100)).microseconds == limit + 1)
    }
}
