import CAllocationCounter
import FoundationEssentials
import SluiceModel
import SluiceQuery
import TestSupport
import Testing

@testable import SluiceViews

@Suite(.ownThread) struct ViewIndexTests {
    private let source = MemorySource()

    private func view(_ text: String) throws -> LiveView {
        let view = LiveView(try TestSchema.query(text), schema: TestSchema.schema)
        try view.activate(in: source)
        return view
    }

    private func candidates(_ index: ViewIndex, _ object: ObjectRef, _ old: [String: Value], _ new: [String: Value])
        -> [String]
    {
        found(index, object, TestSchema.row(object, old), TestSchema.row(object, new))
    }

    private func found(_ index: ViewIndex, _ object: ObjectRef, _ old: Row?, _ new: Row?) -> [String] {
        source.set(object, new)
        let commit = CommitDelta(
            changes: [ObjectDelta(object: object, old: old, new: new, authors: [0])], version: 1)
        let before = OldStateSource(commit, over: source, schema: source.schema)
        let views = (try? index.candidates(for: commit, in: source, before: before)) ?? []
        return views.map(\.query.canonicalText).sorted()
    }

    /// There may be a million views, and the C library gives memory in multiples of 16 bytes less 8.
    @Test func aViewIsAnObjectOf104Bytes() throws {
        let query = try TestSchema.query("Flight WHERE delay > 3 EXCLUDE(origin, plane)")
        let view = LiveView(query, schema: TestSchema.schema)
        #expect(byte_count_of(Unmanaged.passUnretained(view).toOpaque()) <= 104)
    }

    @Test func viewsAreFoundByRootPathAndLinkedClasses() throws {
        let plane = TestSchema.object(1, ofClass: TestSchema.plane)
        source.set(plane, TestSchema.row(plane, ["seats": .int(1)]))
        let flight = TestSchema.object(1, ofClass: TestSchema.flight)
        source.set(flight, TestSchema.row(flight, ["delay": .int(4), "plane": .link(plane.key)]))
        let own = try view("Plane WHERE seats > 3")
        let path = try view("Flight WHERE plane.seats > 3 EXCLUDE(plane, origin)")
        let linked = try view("Flight WHERE delay > 3")
        let other = try view("Flight EXCLUDE(plane)")
        let index = ViewIndex(schema: TestSchema.schema)
        for view in [own, path, linked, other] { index.insert(view) }
        let found = candidates(index, plane, ["seats": .int(1)], ["seats": .int(5)])
        #expect(found == [own, path, linked].map(\.query.canonicalText).sorted())
    }

    @Test func changesOfPropertiesThatNobodyReadsFindNothing() throws {
        let index = ViewIndex(schema: TestSchema.schema)
        index.insert(try view("Flight EXCLUDE(carrier)"))
        let flight = TestSchema.object(1, ofClass: TestSchema.flight)
        #expect(candidates(index, flight, ["carrier": .string("a")], ["carrier": .string("b")]).isEmpty)
        #expect(candidates(index, flight, ["delay": .int(1)], ["delay": .int(2)]).count == 1)
    }

    @Test func aRemovedViewIsFoundNoMore() throws {
        let (first, second) = (try view("Flight"), try view("Flight WHERE delay > 1"))
        let index = ViewIndex(schema: TestSchema.schema)
        index.insert(first)
        index.insert(second)
        index.remove(first)
        index.remove(first)
        #expect(index.count == 1)
        let flight = TestSchema.object(1, ofClass: TestSchema.flight)
        #expect(candidates(index, flight, ["delay": .int(1)], ["delay": .int(2)]) == [second.query.canonicalText])
    }

    @Test(arguments: [
        ("Flight WHERE carrier == 'a' AND delay > 1 EXCLUDE(plane, origin)", ["carrier": Value.string("a")], true),
        ("Flight WHERE carrier == 'a' EXCLUDE(plane, origin)", ["carrier": .string("b")], false),
        ("Flight WHERE carrier IN {'a', 'b'} EXCLUDE(plane, origin)", ["carrier": .string("b")], true),
        ("Flight WHERE carrier IN {'a', 'b'} EXCLUDE(plane, origin)", ["carrier": .string("c")], false),
        ("Flight WHERE carrier BEGINSWITH 'ab' EXCLUDE(plane, origin)", ["carrier": .string("abc")], true),
        ("Flight WHERE carrier BEGINSWITH 'ab' EXCLUDE(plane, origin)", ["carrier": .string("a")], false),
        ("Flight WHERE carrier CONTAINS 'ab' EXCLUDE(plane, origin)", ["carrier": .string("xabx")], true),
        ("Flight WHERE carrier CONTAINS 'ab' EXCLUDE(plane, origin)", ["carrier": .string("xaxb")], false),
        ("Flight WHERE carrier CONTAINS 'abcdefghij' EXCLUDE(plane, origin)", ["carrier": .string("abcdefghi")], false),
        (
            "Flight WHERE carrier CONTAINS 'abcdefghij' EXCLUDE(plane, origin)", ["carrier": .string("abcdefghijk")],
            true
        ),
        ("Flight WHERE carrier CONTAINS '' EXCLUDE(plane, origin)", ["carrier": .string("")], true),
        ("Flight WHERE carrier ENDSWITH 'ab' EXCLUDE(plane, origin)", ["carrier": .string("xab")], true),
        ("Flight WHERE carrier ENDSWITH 'ab' EXCLUDE(plane, origin)", ["carrier": .string("abx")], false),
        ("Flight WHERE carrier LIKE '*ab?c*' EXCLUDE(plane, origin)", ["carrier": .string("xabyc")], true),
        ("Flight WHERE carrier LIKE '*ab?c*' EXCLUDE(plane, origin)", ["carrier": .string("xacyb")], false),
        ("Flight WHERE carrier LIKE '*' EXCLUDE(plane, origin)", ["carrier": .string("x")], true),
        ("Flight WHERE delay BETWEEN {3, 5} EXCLUDE(plane, origin)", ["delay": .int(5)], true),
        ("Flight WHERE delay BETWEEN {3, 5} EXCLUDE(plane, origin)", ["delay": .int(6)], false),
        ("Flight WHERE delay > 3 EXCLUDE(plane, origin)", ["delay": .int(3)], false),
        ("Flight WHERE delay == NULL EXCLUDE(plane, origin)", ["delay": .null], true),
        ("Flight WHERE delay < 3 EXCLUDE(plane, origin)", ["delay": .int(7)], false),
        ("Flight WHERE delay != 3 EXCLUDE(plane, origin)", ["delay": .int(3)], true),
        ("Flight WHERE delay == 1 OR carrier == 'a' EXCLUDE(plane, origin)", ["delay": .int(3)], false),
        ("Flight WHERE delay == 1 OR carrier == 'a' EXCLUDE(plane, origin)", ["delay": .int(1)], true),
        ("Flight WHERE delay == 1 OR carrier != 'a' EXCLUDE(plane, origin)", ["delay": .int(3)], true),
        ("Flight WHERE plane.seats > 3 EXCLUDE(plane, origin)", ["delay": .int(3)], false),
        ("Flight WHERE delay > 3 SORT(delay ASC) LIMIT(2) EXCLUDE(plane, origin)", ["delay": .int(3)], false),
        ("User WHERE age == 3", ["age": .int(4)], false),
        ("User WHERE age == 3 EXCLUDE(friends, best)", ["age": .int(4)], false),
    ])
    func changesFindAViewByTheConditionItIsFiledUnder(text: String, values: [String: Value], isFound: Bool) throws {
        let view = try view(text)
        let object = TestSchema.object(1, ofClass: view.query.classIndex)
        let index = ViewIndex(schema: TestSchema.schema)
        index.insert(view)
        func finds(_ old: Row?, _ new: Row?) -> Bool { !found(index, object, old, new).isEmpty }
        let row = TestSchema.row(object, values)
        #expect(finds(nil, row) == isFound)
        #expect(finds(row, nil) == isFound)
        index.remove(view)
        #expect(!finds(nil, row))
    }

    @Test func aChangeFindsWhatItLeavesAndWhatItEnters() throws {
        let index = ViewIndex(schema: TestSchema.schema)
        for carrier in ["a", "b", "c"] {
            index.insert(try view("Flight WHERE carrier == '\(carrier)' EXCLUDE(plane, origin)"))
        }
        let flight = TestSchema.object(1, ofClass: TestSchema.flight)
        let found = candidates(index, flight, ["carrier": .string("a")], ["carrier": .string("c")])
        #expect(found.count == 2 && found[0].contains("\"a\"") && found[1].contains("\"c\""), "\(found)")
    }

    @Test(arguments: UInt64(1)...8) func theIntervalTableFindsWhatAScanFinds(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let table = IntervalTable()
        var all: [UInt64: ValueRange] = [:]
        // Numbers have exact order keys. Texts that begin alike have the same one.
        func value(_ number: Int64) -> Value {
            switch seed % 4 {
            case 0: .string("a common beginning \(number)")
            case 1: .double(Double(number) / 2)
            default: .int(number)
            }
        }
        func bound() -> ValueRange.Bound? {
            generator.chance(10)
                ? nil : .init(value(Int64.random(in: 0..<300, using: &generator)), isIncluded: generator.chance(50))
        }
        for number in UInt64(0)..<3_000 {
            if generator.chance(25), let (old, range) = all.min(by: { $0.key < $1.key }) {
                table.remove(range, old)
                all[old] = nil
            }
            let range = ValueRange(from: bound(), to: bound())
            table.insert(range, number)
            all[number] = range
        }
        for number in Int64(-1)...301 {
            var found: [UInt64] = []
            table.forEach(holding: value(number)) { found.append($0) }
            let expected = all.filter { $0.value.contains(value(number)) }.map(\.key)
            #expect(found.sorted() == expected.sorted(), "seed \(seed), value \(number)")
        }
        for range in all.values.prefix(100) {
            let (count, same) = (table.count(of: range), all.values.count { $0 == range })
            // Ranges of numbers that have the same values count as the same: above 3, and from 4 on.
            #expect(seed % 4 == 0 ? count == same : count >= same, "seed \(seed), \(range)")
        }
        for (number, range) in all { table.remove(range, number) }
        #expect(table.isEmpty)
    }

    /// Ranges at the ends of a type, and null, which only a range without a lower end has.
    @Test func theIntervalTableMissesNothingAtTheEndsOfAType() {
        let values: [Value] = [.null, .int(.min), .int(.min + 1), .int(0), .int(.max - 1), .int(.max)]
        let bounds: [ValueRange.Bound?] =
            [nil] + values.dropFirst().flatMap { [.init($0, isIncluded: true), .init($0, isIncluded: false)] }
        for lower in bounds {
            for upper in bounds {
                let range = ValueRange(from: lower, to: upper)
                let table = IntervalTable()
                table.insert(range, 7)
                for value in values where range.contains(value) {
                    var found: [UInt64] = []
                    table.forEach(holding: value) { found.append($0) }
                    #expect(found == [7], "\(range) \(value)")
                }
            }
        }
    }

    @Test(arguments: UInt64(1)...5) func hashedNumbersAreThoseOfADictionary(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var table = HashedNumbers<Int>()
        var all: [Int: Set<UInt64>] = [:]
        let keyCount = generator.pick([3, 40, 2_000])
        // An entry has room for numbers below 2^31.
        let first = generator.pick([0, 1 << 31 - 10, .max - 20]) as UInt64
        for _ in 0..<6_000 {
            let key = Int.random(in: 0..<keyCount, using: &generator)
            let number = first + UInt64(Int.random(in: 0..<20, using: &generator))
            if generator.chance(45) {
                table.remove(number, for: key)
                all[key]?.remove(number)
            } else {
                table.insert(number, for: key)
                all[key, default: []].insert(number)
            }
        }
        for key in 0..<keyCount {
            var found: Set<UInt64> = []
            table.forEach(of: key) { found.insert($0) }
            #expect(found.isSuperset(of: all[key] ?? []) && table.count(of: key) == found.count, "seed \(seed)")
        }
        for (key, numbers) in all { for number in numbers { table.remove(number, for: key) } }
        #expect(table.isEmpty)
    }

    @Test func orderKeysNeverDescendWhereValuesAscend() throws {
        let numbers: [Double] = [
            -.infinity, -1e300, -2, -1, -.leastNonzeroMagnitude, -0.0, 0, 1e-300, 1, 1.5, .infinity,
        ]
        let groups: [[Value]] = [
            [.bool(false), .bool(true)], [.int(.min), .int(-1), .int(0), .int(1), .int(.max)],
            numbers.map { .double($0) } + [.double(.nan)], numbers.map { .float(Float($0)) } + [.float(.nan)],
            ["-1e30", "-2.5", "-2.4", "0", "1e-20", "3", "1e30"].compactMap { Decimal(string: $0) }.map {
                .decimal($0)
            },
            [Int64.min, -1, 0, 1, .max].map { .date(Timestamp(microseconds: $0)) },
            ["", "a", "a\u{0}", "aaaaaaaa", "aaaaaaaab", "b", "é"].map { .string($0) },
            [[], [0], [1], [255], [255, 255]].map { .data($0) },
        ]
        for group in groups {
            let sorted = ([.null] + group).sorted { Value.compare($0, $1) < 0 }
            for (left, right) in zip(sorted, sorted.dropFirst()) {
                #expect(left.orderKey <= right.orderKey, "\(left) \(right)")
            }
        }
        #expect(
            Value.int(1).orderKey < Value.int(2).orderKey && Value.string("a").orderKey < Value.string("b").orderKey)
    }

    @Test(arguments: UInt64(1)...5) func thePartTableFindsWhatAScanFinds(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        var table = PartTable()
        var all: [UInt64: String] = [:]
        func text(_ lengths: ClosedRange<Int>) -> String {
            String((0..<Int.random(in: lengths, using: &generator)).map { _ in generator.pick(["a", "b", "é"]) })
        }
        for number in UInt64(0)..<600 {
            if generator.chance(25), let (old, part) = all.min(by: { $0.key < $1.key }) {
                table.remove(.string(part), old)
                all[old] = nil
            }
            let part = text(1...12)
            table.insert(.string(part), number)
            all[number] = part
        }
        for _ in 0..<200 {
            let value = text(0...20)
            var found: Set<UInt64> = []
            table.forEach(within: .string(value)) { found.insert($0) }
            let expected = all.filter { part in
                let (own, other) = (Array(value.utf8), Array(part.value.utf8))
                return own.count >= other.count
                    && (0...own.count - other.count).contains { own[$0...].starts(with: other) }
            }
            #expect(found == Set(expected.keys), "seed \(seed), value \(value)")
        }
        for (number, part) in all { table.remove(.string(part), number) }
        #expect(table.isEmpty)
    }
}
