import FoundationEssentials
import SluiceModel
import TestSupport
import Testing

@testable import SluiceQuery

/// Sums, averages and extremes while values come and go.
@Suite struct FigureTests {
    private func figure(_ operation: AggregateOperation, _ type: ScalarType) -> Figure {
        Figure(.value(operation, path: 0, type))
    }

    private func value(_ type: ScalarType, _ random: inout SeededGenerator) -> Value {
        if random.chance(10) { return .null }
        switch type {
        case .int: return .int(random.pick([.max, .min, 0, 1, -1, Int64.random(in: -1_000...1_000, using: &random)]))
        case .decimal:
            return .decimal(
                random.pick([
                    Decimal.nan, 0, 1, -1, Decimal(Int64.random(in: -99...99, using: &random)) / 100,
                    Decimal(sign: .minus, exponent: 20, significand: 7),
                    Decimal(string: "0.00000000000000000000000001")!,
                ]))
        default:
            return .double(
                random.pick([
                    .nan, .infinity, -.infinity, 1e300, 1.7e308, -1.7e308, .leastNonzeroMagnitude, 0.1, -0.1, 1e16, 3,
                    -0.0, Double.random(in: -1e3...1e3, using: &random),
                ]))
        }
    }

    /// Whatever comes and goes, a figure is what the values that are left give.
    @Test(arguments: seeds(20))
    func aFigureIsThatOfTheValuesThatAreLeft(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        for type in [ScalarType.int, .double, .decimal] {
            for operation in AggregateOperation.allCases {
                var held: [Value] = []
                var figure = figure(operation, type)
                for _ in 0..<200 {
                    if !held.isEmpty, random.chance(45) {
                        figure.change(by: held.remove(at: Int.random(in: held.indices, using: &random)), isAdded: false)
                    } else {
                        held.append(value(type, &random))
                        figure.change(by: held[held.count - 1], isAdded: true)
                    }
                    var naive = Aggregation(operation, of: type)
                    for value in held { naive.add(value) }
                    #expect(figure.isExact && figure.result == naive.result, "seed \(seed): \(operation) of \(held)")
                    let sent = try #require(Figure(.value(operation, path: 0, type), from: figure.value))
                    #expect(sent.result == figure.result, "seed \(seed): \(operation) of \(held) as \(figure.value)")
                }
            }
        }
    }

    @Test func anExtremeThatHasGoneIsReadAgain() throws {
        var extremes = FigureExtremes(isMaximum: true)
        for number in 0..<1_000 { extremes.change(by: .int(Int64(number)), isAdded: true) }
        #expect(extremes.first == .int(999))
        var gone = 0
        while extremes.isKnown {
            extremes.change(by: .int(Int64(999 - gone)), isAdded: false)
            gone += 1
        }
        #expect(gone >= FigureExtremes.countMin && gone <= FigureExtremes.countMax)
        // Until what follows is read, the last known one is shown.
        #expect(extremes.first == .int(Int64(1_000 - gone)))
        extremes.reset()
        for number in 0..<(1_000 - gone) { extremes.change(by: .int(Int64(number)), isAdded: true) }
        #expect(extremes.isKnown && extremes.first == .int(Int64(999 - gone)))
    }

    @Test func aSumIsSentAsFewNumbersWhoseSumItIs() throws {
        var sum = figure(.sum, .int)
        #expect(sum.value == .list([]))
        for _ in 0..<3 { sum.change(by: .int(.max), isAdded: true) }
        #expect(sum.value == .list([.decimal(Decimal(string: "27670116110564327421")!)]) && sum.result == .null)
        sum.change(by: .int(.max), isAdded: false)
        sum.change(by: .int(.max), isAdded: false)
        #expect(sum.value == .list([.int(.max)]) && sum.result == .int(.max))
        var average = figure(.average, .double)
        for _ in 0..<10 { average.change(by: .double(0.1), isAdded: true) }
        guard case .list(let parts) = average.value else {
            Issue.record("no list")
            return
        }
        #expect(parts[0] == .int(10) && parts.count == 3 && average.result == .double(0.1))
        #expect(Figure(.value(.average, path: 0, .double), from: .list([.double(1)])) == nil)
        #expect(Figure(.value(.sum, path: 0, .int), from: .list([.double(1)])) == nil)
        #expect(Figure(.value(.maximum, path: 0, .int), from: .double(1)) == nil)
        #expect(Figure(.count, from: .int(-1)) == nil)
    }

    @Test func `an average is right though the sum is beyond the range of its type`() throws {
        let large = Double.greatestFiniteMagnitude
        var (average, sum) = (figure(.average, .double), figure(.sum, .double))
        let numbers = [large, large, 3, large, -0x1p-1074, large]
        for number in numbers {
            average.change(by: .double(number), isAdded: true)
            sum.change(by: .double(number), isAdded: true)
        }
        var naive = Aggregation(.average, of: .double)
        for number in numbers { naive.add(.double(number)) }
        #expect(sum.result == .double(.infinity) && average.result == naive.result)
        // Whoever is sent them has the same, and comes back to what is finite.
        for value in numbers.prefix(2) {
            average = try #require(Figure(.value(.average, path: 0, .double), from: average.value))
            sum = try #require(Figure(.value(.sum, path: 0, .double), from: sum.value))
            #expect(average.isExact && sum.isExact)
            average.change(by: .double(value), isAdded: false)
            sum.change(by: .double(value), isAdded: false)
        }
        #expect(average.result == .double(large / 2) && sum.result == .double(.infinity))
        sum.change(by: .double(large), isAdded: false)
        sum.change(by: .double(large), isAdded: false)
        #expect(sum.result == .double(3))
        var whole = figure(.average, .int)
        for _ in 0..<4 { whole.change(by: .int(.max), isAdded: true) }
        whole.change(by: .int(.min), isAdded: true)
        #expect(whole.result == .double(3 * 0x1p63 / 5))
        var decimal = figure(.average, .decimal)
        let great = try DecimalText.parse("3" + String(repeating: "0", count: 165))
        for _ in 0..<2 { decimal.change(by: .decimal(great), isAdded: true) }
        #expect(decimal.result == .null)
        for wrong in [[Value.list([.double(.infinity)])], [.list([.int(1)])], [.list([.list([])])]] {
            #expect(Figure(.value(.sum, path: 0, .double), from: .list(wrong)) == nil)
            #expect(Figure(.value(.sum, path: 0, .decimal), from: .list(wrong)) == nil)
        }
    }

    @Test func moreGroupsThanAreKeptAreRefused() throws {
        let schema = try Schema([
            ClassSchema("A", properties: [Property("x", .scalar(.int)), Property("t", .scalar(.string))])
        ])
        let many = try Query.parse("A GROUP(x) AGGREGATE(@count)", schema: schema)
        var table = FigureTable(try #require(many.aggregates))
        for number in 0..<Query.Aggregates.groupCountMax { try table.add([.int(Int64(number))]) }
        #expect(throws: FigureError.tooManyGroups) { try table.add([.int(-1)]) }
        let large = try Query.parse("A GROUP(t) AGGREGATE(@count)", schema: schema)
        table = FigureTable(try #require(large.aggregates))
        try table.add([.string(String(repeating: "a", count: 1_000_000))])
        #expect(throws: FigureError.tooLargeGroups) { try table.add([.string(String(repeating: "b", count: 100_000))]) }
    }

    @Test func aChangeSaysWhatIsShownOtherwise() throws {
        let schema = try Schema([
            ClassSchema("A", properties: [Property("x", .scalar(.int)), Property("y", .scalar(.int))])
        ])
        let query = try Query.parse("A GROUP(x) AGGREGATE(@sum.y) SORT(@sum.y DESC) LIMIT(2)", schema: schema)
        var table = FigureTable(try #require(query.aggregates))
        for (x, y) in [(1, 5), (2, 7), (3, 1)] { try table.add([.int(Int64(x)), .int(Int64(y))]) }
        table.settle()
        #expect(table.shown.map(\.keys) == [[.int(2)], [.int(1)]])
        table.beginChange()
        try table.add([.int(3), .int(1)])
        let change1 = table.endChange()
        #expect(change1 == nil)
        table.beginChange()
        try table.add([.int(3), .int(4)])
        let made = table.endChange()
        let change = try #require(made)
        #expect(change.changed == [GroupFigures(keys: [.int(3)], count: 3, figures: [.list([.int(6)])])])
        #expect(change.removed == [[.int(1)]])
        table.beginChange()
        try table.add([.int(9), .int(0)])
        table.remove([.int(9), .int(0)])
        let change2 = table.endChange()
        #expect(change2 == nil)
    }

    /// Whatever comes and goes, a query with a limit shows the first groups of all, and says how these have changed.
    @Test(arguments: seeds(40))
    func theFirstGroupsAreShownWhateverComesAndGoes(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let schema = try Schema([
            ClassSchema("A", properties: [Property("x", .scalar(.int)), Property("y", .scalar(.int))])
        ])
        let clauses = random.pick([
            "AGGREGATE(@count) SORT(@count DESC)", "AGGREGATE(@count, @sum.y) SORT(@sum.y ASC, x DESC)",
            "AGGREGATE(@avg.y) SORT(@avg.y DESC)", "AGGREGATE(@max.y, @count) SORT(@max.y ASC)",
        ])
        let limit = Int.random(in: 0...6, using: &random)
        let functions = clauses.prefix { $0 != "S" }
        let first = try #require(try Query.parse("A GROUP(x) \(clauses) LIMIT(\(limit))", schema: schema).aggregates)
        let all = try #require(try Query.parse("A GROUP(x) \(functions)", schema: schema).aggregates)
        let pathCount = clauses.contains(".y") ? 2 : 1
        var table = FigureTable(first)
        var held: [[Value]] = []
        var told: [[Value]: GroupFigures] = [:]
        for step in 0..<80 {
            let place = "seed \(seed), step \(step)"
            table.beginChange()
            for _ in 0..<Int.random(in: 0...5, using: &random) {
                if !held.isEmpty, random.chance(50) {
                    table.remove(held.remove(at: Int.random(in: held.indices, using: &random)))
                } else {
                    let (x, y) = (Int64.random(in: 0...8, using: &random), Int64.random(in: -3...3, using: &random))
                    held.append(Array([.int(x), .int(y)].prefix(pathCount)))
                    try table.add(held[held.count - 1])
                }
            }
            let change = table.endChange()
            var whole = FigureTable(all)
            for values in held { try whole.add(values) }
            let expected = first.shown(whole.shown)
            #expect(table.shown == expected, "\(place)")
            for keys in change?.removed ?? [] { #expect(told.removeValue(forKey: keys) != nil, "\(place)") }
            for group in change?.changed ?? [] {
                #expect(told.updateValue(group, forKey: group.keys) != group, "\(place)")
            }
            #expect(told == Dictionary(uniqueKeysWithValues: expected.map { ($0.keys, $0) }), "\(place)")
        }
    }
}
