import SluiceModel
import SluiceQuery
import Testing

/// The groups of a query as one who reads them keeps them.
@Suite struct KnownGroupsTests {
    private static let schema = try! Schema([
        ClassSchema(
            "Flight", primaryKey: "id",
            properties: [
                Property("id", .scalar(.int)), Property("carrier", .scalar(.string)), Property("delay", .scalar(.int)),
            ])
    ])

    private static func aggregates(_ text: String) throws -> Query.Aggregates {
        try #require(try Query.parse("Flight " + text, schema: schema).aggregates)
    }

    private static func group(_ carrier: String, _ count: Int64, sum: Int64) -> Value {
        .list([.list([.string(carrier)]), .int(count), .int(count), .list([.int(sum)])])
    }

    /// What is kept after any sequence of changes is what one makes of the same groups anew.
    @Test(
        arguments: [
            "GROUP(carrier) AGGREGATE(@count, @sum.delay)",
            "GROUP(carrier) AGGREGATE(@count, @sum.delay) SORT(@count DESC, @sum.delay)",
            "GROUP(carrier) AGGREGATE(@count, @sum.delay) SORT(@sum.delay) LIMIT(12)",
        ], 1...8 as ClosedRange<UInt64>)
    func `a change leaves the groups as whoever begins with them has them`(text: String, seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let aggregates = try Self.aggregates(text)
        var known = try #require(KnownGroups(aggregates, []))
        for step in 0..<60 {
            let carriers = known.groups.compactMap { if case .string(let name)? = $0.keys.first { name } else { nil } }
            var change = FigureChange()
            var room = 12 - carriers.count
            for name in (0..<3).map({ _ in "C\(Int.random(in: 0..<20, using: &random))" }).uniqued {
                let value = Self.group(
                    name, Int64.random(in: 1...4, using: &random), sum: Int64.random(in: 0...9, using: &random))
                if !carriers.contains(name) {
                    guard room > 0 else { continue }
                    room -= 1
                }
                change.changed.append(try #require(GroupFigures(value)))
            }
            if step % 2 == 0, let gone = carriers.randomElement(using: &random),
                !change.changed.contains(where: { $0.keys == [.string(gone)] })
            {
                change.removed.append([.string(gone)])
            }
            let before = known.values
            let isApplied = known.apply(change.values)
            #expect(isApplied)
            let whole = try #require(KnownGroups(aggregates, known.values))
            #expect(known.groups == whole.groups, "seed \(seed), step \(step)")
            // Whoever stores them writes few: a group that stays has its place.
            let moved = zip(before, known.values).filter { $0 != $1 }.count
            #expect(moved <= change.changed.count + change.removed.count)
        }
    }

    @Test(
        arguments: [
            [.list([.list([.string("none")])])], [.list([.list([.string("UA")])]), .list([.list([.string("UA")])])],
            [.int(3)], [.list([.list([.int(3)]), .int(1), .int(1), .list([.int(1)])])],
        ] as [[Value]])
    func `what cannot be a change changes nothing`(change: [Value]) throws {
        let aggregates = try Self.aggregates("GROUP(carrier) AGGREGATE(@count, @sum.delay)")
        var known = try #require(KnownGroups(aggregates, [Self.group("UA", 2, sum: 5)]))
        let before = known.values
        let isApplied = known.apply(change)
        #expect(!isApplied && known.values == before && known.groups.count == 1)
        #expect(KnownGroups(aggregates, before + before) == nil)
    }

    @Test func `no more groups are taken than the limit has`() throws {
        let aggregates = try Self.aggregates("GROUP(carrier) AGGREGATE(@count, @sum.delay) LIMIT(1)")
        var known = try #require(KnownGroups(aggregates, [Self.group("UA", 2, sum: 5)]))
        let isTooMany = !known.apply([Self.group("AA", 1, sum: 1)])
        let isReplaced = known.apply([Self.group("AA", 1, sum: 1), .list([.list([.string("UA")])])])
        #expect(isTooMany && isReplaced && known.groups.map(\.keys) == [[.string("AA")]])
    }

    @Test func `figures without groups are replaced as wholes`() throws {
        let aggregates = try Self.aggregates("AGGREGATE(@count)")
        var known = try #require(KnownGroups(aggregates, [.int(3)]))
        let isTaken = known.apply([.int(4)])
        #expect(isTaken && known.values == [.int(4)] && known.groups.count == 1)
        let isRefused = !known.apply([.string("4")])
        #expect(isRefused && known.values == [.int(4)])
    }
}

extension [String] {
    fileprivate var uniqued: [String] { Set(self).sorted() }
}
