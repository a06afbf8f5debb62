import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceWire
import Testing

/// What becomes of an object over several commits is told once.
@Suite struct ObservedChangeTests {
    private static func object(_ key: Int64) -> ObjectRef { ObjectRef(0, .int(key)) }

    private static func row(_ key: Int64, _ name: String) -> Row {
        Row(key: .int(key), values: [.int(key), .string(name)])
    }

    private func change(_ outcomes: [(Int64, ObservedChange.Outcome)]) -> ObservedChange {
        var change = ObservedChange(schema: Schema(), version: 1)
        for (key, outcome) in outcomes { change.add(outcome, of: Self.object(key)) }
        return change
    }

    @Test func anObjectThatComesGoesAndComesAgainIsToldOnce() {
        var change = change([(1, .inserted(Self.row(1, "a"))), (2, .inserted(Self.row(2, "b")))])
        change.append(self.change([(1, .removed(.deleted))]))
        #expect(change.objects.map(\.object) == [Self.object(2)])
        change.append(self.change([(1, .inserted(Self.row(1, "c")))]))
        #expect(change.objects.map(\.object) == [Self.object(2), Self.object(1)])
        guard case .inserted(let row) = change.objects[1].outcome else {
            Issue.record("\(change.objects[1].outcome)")
            return
        }
        #expect(row.values[1] == .string("c"))
    }

    @Test func objectsThatComeAndGoLeaveTheOthersInOrder() {
        var change = change([])
        for key in Int64(0)..<1_000 {
            change.add(.inserted(Self.row(key, "a")), of: Self.object(key))
            if key % 100 != 7 { change.add(.removed(.deleted), of: Self.object(key)) }
        }
        #expect(change.objects.map(\.object) == stride(from: Int64(7), to: 1_000, by: 100).map(Self.object))
        change.add(.removed(.filter), of: Self.object(507))
        #expect(change.objects.map(\.object).contains(Self.object(507)) == false && change.objects.count == 9)
    }

    /// The groups of a change as their keys, and the keys that are gone; nil if nothing computed has changed.
    private func told(_ taken: ChangeInbox.Taken) -> (isWhole: Bool, groups: [[Value]], gone: [[Value]])? {
        guard case .change(let change) = taken, let figures = change.figures else { return nil }
        return switch figures {
        case .whole(let groups): (true, groups.map(\.keys).sorted { "\($0)" < "\($1)" }, [])
        case .change(let change): (false, change.changed.map(\.keys), change.removed)
        }
    }

    @Test func `an observer is told of the groups that change, and of all where it has not taken a change`() throws {
        let bench = try Bench()
        let (writer, _) = try bench.open()
        var sequence: UInt64 = 0
        func put(_ planes: [(id: Int64, seats: Int64)]) throws {
            sequence += 1
            _ = try bench.upload(
                writer,
                [
                    Changeset(
                        sequence: sequence, baseVersion: 0,
                        timestamp: HybridTimestamp(microseconds: Int64(sequence)),
                        operations: planes.map {
                            ObjectOperation(
                                ObjectRef(0, .int($0.id)), .create([FieldOperation(1, .set(.int($0.seats)))]))
                        })
                ])
        }
        try put((0..<50).map { ($0, $0 % 10) })
        let query = try Query.parse("Plane GROUP(seats) AGGREGATE(@count)", schema: bench.planeSchema)
        let inbox = ChangeInbox()
        let (number, initial) = try bench.engine.observe(query, by: 1, inbox, now: bench.now)
        initial.read()
        let first = try #require(told(inbox.take()))
        #expect(first.isWhole && first.groups.count == 10)
        // One plane goes from a group to another, and then to one that is new.
        try put([(3, 4)])
        let moved = try #require(told(inbox.take()))
        #expect(!moved.isWhole && Set(moved.groups) == [[.int(3)], [.int(4)]] && moved.gone == [])
        try put([(3, 70)])
        let new = try #require(told(inbox.take()))
        #expect(!new.isWhole && Set(new.groups) == [[.int(4)], [.int(70)]])
        // It goes from group to group while nobody takes, so that groups come and go.
        for seats in 71...80 as ClosedRange<Int64> { try put([(3, seats)]) }
        let late = try #require(told(inbox.take()))
        #expect(late.isWhole && late.groups.count == 11 && late.groups.contains([.int(80)]))
        #expect(told(inbox.take()) == nil)
        try put([(3, 4)])
        let back = try #require(told(inbox.take()))
        #expect(!back.isWhole && back.groups == [[.int(4)]] && back.gone == [[.int(80)]])
        bench.engine.endObservation(number)
    }
}
