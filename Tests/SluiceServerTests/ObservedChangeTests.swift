import SluiceModel
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
}
