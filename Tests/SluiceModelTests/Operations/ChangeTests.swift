import SluiceModel
import TestSupport
import Testing

/// What changes of all kinds do, checked on random values.
struct ChangeTests {
    static func value(_ property: Int, _ generator: inout SeededGenerator) -> Value {
        let names = ["a", "b", "c", "d", "e"].filter { _ in generator.chance(50) }
        return switch property {
        case 1: .int(Int64.random(in: -9...9, using: &generator))
        case 2: .set(of: names.map { .string($0) })
        default:
            .map(ValueMap(names.map { ($0, .string("\(Int.random(in: 0...3, using: &generator))")) }))
        }
    }

    @Test(arguments: RandomHistoryTests.properties)
    func theDifferenceOfTwoValuesLeadsFromOneToTheOther(property: Int) {
        var generator = SeededGenerator(seed: UInt64(property) + 20)
        for _ in 0..<2_000 {
            let (old, new) = (Self.value(property, &generator), Self.value(property, &generator))
            #expect(
                FieldOperation.Change.difference(from: old, to: new).applied(to: old).isIdentical(to: new))
        }
    }

    @Test func theDifferenceOfTwoSetsNamesOnlyWhatDiffers() {
        let (old, new) = (Value.set([.int(1), .int(2)]), Value.set([.int(2), .int(3)]))
        #expect(
            FieldOperation.Change.difference(from: old, to: new)
                == .edit(ElementEdits(inserting: [.int(3)], erasing: [.int(1)])))
        #expect(FieldOperation.Change.difference(from: old, to: .set([])) == .clear)
        // Who takes out the only element may mean no more than that.
        #expect(
            FieldOperation.Change.difference(from: .set([.int(1)]), to: .set([]))
                == .edit(ElementEdits(inserting: [], erasing: [.int(1)])))
        // They are equal as elements, and still two values.
        let (zero, negative) = (Value.set([.double(0)]), Value.set([.double(-0.0)]))
        #expect(FieldOperation.Change.difference(from: zero, to: negative).applied(to: zero).isIdentical(to: negative))
    }

    @Test func onlyCollectionsAreClearedAndOnlyTheirKindOfEditsFits() {
        let number = Property("n", .scalar(.double))
        let set = Property("s", PropertyType(.scalar(.double), container: .set))
        let map = Property("m", PropertyType(.scalar(.double), container: .map))
        #expect(FieldOperation.Change.clear.applied(to: .int(3)) == .int(3))
        #expect(number.fitting(.clear) == nil)
        #expect(set.fitting(.clear) == .clear)
        let edits = FieldOperation.Change.edit(ElementEdits(inserting: [.int(1)], erasing: [.int(2)]))
        #expect(
            set.fitting(edits) == .edit(ElementEdits(inserting: [.double(1)], erasing: [.double(2)])))
        #expect(map.fitting(edits) == nil)
        #expect(number.fitting(edits) == nil)
        let entries = FieldOperation.Change.edit(
            ElementEdits(setting: [.init(key: "k", value: .int(1))], erasing: ["l"]))
        #expect(
            map.fitting(entries)
                == .edit(ElementEdits(setting: [.init(key: "k", value: .double(1))], erasing: ["l"])))
        #expect(set.fitting(entries) == nil)
    }

    @Test func editsOfACollectionThatIsAbsentLeaveItAbsent() {
        var row = Row(key: .int(1), values: [.int(1), .set([])], absent: [1])
        row.apply([FieldOperation(1, .edit(ElementEdits(inserting: [.int(5)])))])
        #expect(row.absent.contains(1))
        #expect(row.values[1] == .set([]))
        row.apply([FieldOperation(1, .set(.set([.int(5)])))])
        #expect(!row.absent.contains(1))
    }

    @Test func theKindsOfEditsAreToldApart() {
        let object = ObjectRef(0, .int(1))
        func kinds(_ change: FieldOperation.Change) -> Set<OperationKind> {
            [ObjectOperation(object, .update([FieldOperation(1, change)]))].kinds
        }
        #expect(kinds(.clear) == [.clear])
        #expect(kinds(.edit(ElementEdits(inserting: [.int(1)]))) == [.setInsert])
        #expect(
            kinds(.edit(ElementEdits(inserting: [.int(1)], erasing: [.int(2)]))) == [
                .setInsert, .setErase,
            ])
        #expect(kinds(.edit(ElementEdits(setting: [.init(key: "k", value: .int(1))]))) == [.mapSet])
        #expect(kinds(.edit(ElementEdits(setting: [], erasing: ["k"]))) == [.mapErase])
    }
}
