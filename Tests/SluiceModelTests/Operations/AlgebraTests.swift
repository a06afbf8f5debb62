import SluiceModel
import TestSupport
import Testing

/// The algebra of changes of one property, checked on generated values: what is folded has the effect of what was folded,
/// and what is said to commute does.
struct AlgebraTests {
    private static let number = 1
    private static let set = 2
    private static let map = 3
    private static let list = 4

    /// An object, and changes of one of its properties that may follow each other.
    private struct Sample {
        let property: Int
        var row: Row
        var changes: [FieldOperation.Change]

        var fields: [FieldOperation] { changes.map { FieldOperation(property, $0) } }

        /// The object after some changes, one after the other.
        func applied(_ changes: [FieldOperation.Change]) -> Row {
            var row = row
            row.apply(changes.map { FieldOperation(property, $0) })
            row.closeLists()
            return row
        }
    }

    private static func sample(_ property: Int, count: Int, _ generator: inout SeededGenerator) -> Sample {
        func elements() -> [Value] {
            (0..<Int.random(in: 0...5, using: &generator)).map { _ in
                .string("\(Int.random(in: 0...3, using: &generator))")
            }
        }
        var row = Row(
            key: .int(1),
            values: [
                .int(1), ChangeTests.value(number, &generator), ChangeTests.value(set, &generator),
                ChangeTests.value(map, &generator), .list(elements()),
            ])
        var sample = Sample(property: property, row: row, changes: [])
        for step in 0..<count {
            let author = ListEdits.Author(
                origin: UInt64(step + 1), time: Int64(step + 1),
                ids: ObjectIDGenerator(origin: UInt64(step + 1), first: 1))
            let value = property == list ? .list(elements()) : ChangeTests.value(property, &generator)
            var change: FieldOperation.Change
            switch Int.random(in: 0...9, using: &generator) {
            case 0: change = .set(value)
            case 1: change = .setDefault(value)
            case 2 where property != number: change = .clear
            default:
                change =
                    property == list
                    ? .difference(from: row, to: value, of: list, by: author)
                    : RandomHistoryTests.change(property, &generator)
            }
            sample.changes.append(change)
            row.apply(FieldOperation(property, change))
            row.closeLists()
        }
        return sample
    }

    @Test(arguments: [number, set, map, list]) func `folded changes do what they do one after the other`(
        property: Int
    ) {
        var generator = SeededGenerator(seed: UInt64(property))
        for _ in 0..<3_000 {
            let count = Int.random(in: 2...5, using: &generator)
            let sample = Self.sample(property, count: count, &generator)
            let expected = sample.applied(sample.changes)
            let folded = [FieldOperation]().folding(sample.fields)
            #expect(sample.applied(folded.map(\.change)) == expected, "\(sample.changes)")
            // In whichever order pairs are folded.
            let (first, last) = (Array(sample.fields.prefix(1)), Array(sample.fields.dropFirst()))
            let other = first.folding([FieldOperation]().folding(last))
            #expect(sample.applied(other.map(\.change)) == expected, "\(sample.changes)")
        }
    }

    @Test(arguments: [number, set, map, list]) func `each pair of changes is what its relation says`(property: Int) {
        var generator = SeededGenerator(seed: UInt64(property) + 10)
        var relations: Set<FieldOperation.Change.Relation> = []
        for _ in 0..<3_000 {
            let sample = Self.sample(property, count: 2, &generator)
            let (earlier, later) = (sample.changes[0], sample.changes[1])
            let both = sample.applied([earlier, later])
            var one = earlier
            let relation = one.fold(later)
            relations.insert(relation)
            #expect((relation == .replaces) == later.isAssignment, "\(earlier), \(later)")
            switch relation {
            case .replaces: #expect(one == later && sample.applied([later]) == both, "\(earlier), \(later)")
            case .refines: #expect(one.isAssignment && earlier.isAssignment, "\(earlier), \(later)")
            case .joins: #expect(!one.isAssignment && !earlier.isAssignment, "\(earlier), \(later)")
            case .follows: #expect(one == earlier && earlier.isAssignment, "\(earlier), \(later)")
            }
            if relation != .follows { #expect(sample.applied([one]) == both, "\(earlier), \(later)") }
        }
        let isMergedByElement = property == Self.list
        #expect(
            relations == (isMergedByElement ? [.replaces, .joins, .follows] : [.replaces, .refines, .joins, .follows]))
    }

    @Test(arguments: [number, set, map, list])
    func `additions commute, and so do edits that name different elements`(property: Int) {
        var generator = SeededGenerator(seed: UInt64(property) + 20)
        var count = 0
        for _ in 0..<5_000 {
            var sample = Self.sample(property, count: 1, &generator)
            // Both are made of the same value, without knowing of each other.
            let second = Self.sample(property, count: 1, &generator)
            if property == Self.list {
                let values = second.row.values[property]
                let author = ListEdits.Author(
                    origin: 7, time: 7, ids: ObjectIDGenerator(origin: 7, first: 1))
                sample.changes.append(.difference(from: sample.row, to: values, of: property, by: author))
            } else {
                sample.changes += second.changes
            }
            guard Self.commute(sample.changes[0], sample.changes[1]) else { continue }
            count += 1
            #expect(
                sample.applied(sample.changes) == sample.applied(sample.changes.reversed()), "\(sample.changes)")
        }
        #expect(count > 50, "too few pairs commute for the test to say anything")
    }

    /// What the table of ``FieldOperation/Change`` says.
    private static func commute(_ one: FieldOperation.Change, _ other: FieldOperation.Change) -> Bool {
        switch (one, other) {
        case (.add, .add): true
        case (.edit(let one), .edit(let other)): Set(one.outcomes.keys).isDisjoint(with: other.outcomes.keys)
        case (.editList(let one), .editList(let other)):
            Set(one.outcomes.keys).isDisjoint(with: other.outcomes.keys)
        default: false
        }
    }
}
