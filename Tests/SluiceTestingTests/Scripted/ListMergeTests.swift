import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// What several people do to one list without a network, through the engines of clients and server.
@Suite(.ownThread) struct ListMergeTests {
    private static let object = ObjectRef(0, .int(1))

    /// People who have a box with a list of texts, and observe it.
    final class World {
        let sync: HandDrivenSync

        init(
            people: Int = 2, _ start: [Value], limits: DataLimits = HandDrivenSync.smallLimits
        ) throws {
            let schema = try Schema([
                ClassSchema(
                    "Box", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.int)),
                        Property("items", PropertyType(.scalar(.string), container: .list)),
                        Property("note", .scalar(.string)),
                    ])
            ])
            sync = try HandDrivenSync(clientCount: people, schema, limits: limits)
            for person in 0..<people {
                _ = try sync.engine(person).observe(Query.parse("Box", schema: schema)) { _ in }
            }
            sync.settle()
            try sync.engine(0).write {
                try $0.insert(
                    Row(key: .int(1), values: [.int(1), .list(start), .string("")]), ofClass: 0)
            }
            sync.settle()
        }

        func values(of person: Int) throws -> [Value] {
            guard case .list(let values)? = try sync.storage(person).row(ListMergeTests.object)?.values[1] else {
                return []
            }
            return values
        }

        var serverRow: Row? { get throws { try sync.server.row(ListMergeTests.object) } }

        /// Carries out the words of a rule.
        func apply(_ words: [Substring], by person: Int) throws {
            func value(_ word: Substring) -> Value { .string(String(word)) }
            try sync.engine(person).write { writer in
                guard let row = try writer.row(ListMergeTests.object), case .list(let values) = row.values[1] else {
                    return
                }
                func set(_ new: [Value]) throws {
                    try writer.update(
                        ListMergeTests.object, [writer.difference(from: row, to: .list(new), of: 1)])
                }
                func position(without moved: Value?) throws -> Int {
                    guard words[2] == "after" else { return 0 }
                    return try #require(values.filter { $0 != moved }.firstIndex(of: value(words[3]))) + 1
                }
                switch words[0] {
                case "clear": try writer.update(ListMergeTests.object, [FieldOperation(1, .clear)])
                case "all":
                    let whole = Value.list(words.dropFirst().map { value($0) })
                    try writer.update(ListMergeTests.object, [FieldOperation(1, .set(whole))])
                case "insert":
                    var new = values
                    new.insert(value(words[1]), at: try position(without: nil))
                    try set(new)
                case "erase": try set(values.filter { $0 != value(words[1]) })
                case "set":
                    let halves = words[1].split(separator: "=")
                    try set(values.map { $0 == value(halves[0]) ? value(halves[1]) : $0 })
                case "move":
                    let old = try #require(values.firstIndex(of: value(words[1])))
                    let new = try position(without: value(words[1]))
                    try writer.edit(1, of: ListMergeTests.object) {
                        .moving(from: old, to: new, in: $0, by: $1)
                    } or: {
                        $0
                    }
                default: Issue.record("\(words) is no operation")
                }
            }
        }
    }

    /// The transactions of a rule, by person, in the order of their times.
    private struct Rule {
        var start: [Value] = []
        var expected: [Value] = []
        var parts: [(person: Int, words: [Substring])] = []

        init(_ line: String) throws {
            var timed: [(time: Int, person: Int, words: [Substring])] = []
            for part in line.split(separator: ";") {
                let words = part.split(separator: " ")
                let values = words.dropFirst().map { Value.string(String($0)) }
                switch words[0] {
                case "start": start = values
                case "expected": expected = values
                default:
                    let person = try #require(["A": 0, "B": 1, "C": 2][words[0]] as Int?)
                    timed.append((try #require(Int(words[2].dropLast())), person, Array(words[3...])))
                }
            }
            parts = timed.sorted { $0.time < $1.time }.map { ($0.person, $0.words) }
        }
    }

    private static let orders = [[0, 1, 2], [0, 2, 1], [1, 0, 2], [1, 2, 0], [2, 0, 1], [2, 1, 0]]

    @Test(arguments: ListRules.lines)
    func everyRuleHoldsThroughTheEnginesInWhateverOrderPeopleComeBack(_ line: String) throws {
        let rule = try Rule(line)
        let people = line.contains("C at") ? 3 : 2
        for order in Self.orders where people == 3 || order[2] == 2 {
            let world = try World(people: people, rule.start)
            for person in 0..<people { world.sync.cut(person) }
            for part in rule.parts {
                try world.apply(part.words, by: part.person)
                world.sync.wait(1_000)
            }
            for person in order.prefix(people) {
                world.sync.mend(person)
                world.sync.settle()
            }
            let row = try #require(try world.serverRow)
            #expect(row.values[1] == .list(rule.expected), "back in the order \(order)")
            for person in 0..<people {
                #expect(try world.values(of: person) == rule.expected, "person \(person), order \(order)")
                let own = try #require(try world.sync.storage(person).row(Self.object))
                #expect(own.list(of: 1) == row.list(of: 1), "the elements of person \(person)")
                #expect(world.sync.storage(person).outboxCount == 0)
            }
            #expect(world.sync.violations == [])
        }
    }

    /// What an element is survives that its object leaves the store and comes again, in a page.
    @Test func elementsStayTheSameForSomebodyWhoComesLater() throws {
        let world = try World(people: 3, [.string("a"), .string("b")])
        world.sync.cut(2)
        for number in 0..<10 {
            try world.apply(["insert", "x\(number)", "first"], by: number % 2)
            world.sync.settle()
        }
        world.sync.mend(2)
        world.sync.settle()
        let expected = try #require(try world.serverRow?.list(of: 1))
        #expect(expected.elements.count == 12)
        #expect(try world.sync.storage(2).row(Self.object)?.list(of: 1) == expected)
        world.sync.cut(2)
        try world.apply(["move", "x3", "after", "b"], by: 2)
        try world.apply(["erase", "x3"], by: 0)
        try world.apply(["set", "x4=y"], by: 0)
        world.sync.settle()
        world.sync.mend(2)
        world.sync.settle()
        let names = ["x9", "x8", "x7", "x6", "x5", "y", "x2", "x1", "x0", "a", "b"]
        for person in 0...2 { #expect(try world.values(of: person) == names.map { .string($0) }) }
    }

    /// Bytes that one inserted element of 10 bytes adds to the uploads, and to what another client is sent.
    @Test(arguments: [10, 3_000]) func oneInsertedElementTakesFewBytesHoweverLongTheListIs(count: Int) throws {
        var limits = DataLimits.standard
        limits.operationCount = 1_000
        let world = try World((0..<count).map { .string("e\($0)") }, limits: limits)
        for number in 0..<3 {
            let before = (world.sync.sentByteCount(0), world.sync.receivedByteCount(1))
            try world.apply(["insert", "new\(number)......", "after", "e\(count / 2)"], by: 0)
            world.sync.settle()
            let (sent, received) = (
                world.sync.sentByteCount(0) - before.0, world.sync.receivedByteCount(1) - before.1
            )
            #expect(sent <= 100, "the upload")
            #expect(received <= 150, "the commit, with its author")
        }
        #expect(try world.values(of: 1).count == count + 3)
    }
}
