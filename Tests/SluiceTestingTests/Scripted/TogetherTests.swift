import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceTesting
import TestSupport
import Testing

import func TestSupport.seeds

/// A reader that pauses and then reads several commits at once has what it would have had one by one, and what the server
/// has.
@Suite(.ownThread) struct TogetherTests {
    /// What somebody does while the reader reads nothing. Items have a number and may have an owner; owners have a rank.
    enum Step: Sendable {
        case create(String, Int64, by: Int = 0, owner: String? = nil)
        case set(String, Int64, by: Int = 0)
        case link(String, to: String?, by: Int = 0)
        case delete(String, by: Int = 0)
        case owner(String, Int64, by: Int = 0)
        case rank(String, Int64, by: Int = 0)
        case deleteOwner(String, by: Int = 0)
        /// The reader itself writes; its upload is acknowledged among what it has not read.
        case ownSet(String, Int64)
        case ownDelete(String)
        case ownCreate(String, Int64)
        /// The reader observes another query, whose pages come among the commits.
        case observe(String)
    }

    struct Situation: Sendable, CustomTestStringConvertible {
        let name: String
        let steps: [Step]

        init(_ name: String, _ steps: Step...) {
            self.name = name
            self.steps = steps
        }

        init(_ name: String, all steps: [Step]) {
            self.name = name
            self.steps = steps
        }

        var testDescription: String { name }
    }

    static let queries = [
        "Item WHERE n > 0", "Item WHERE n > 50", "Item WHERE n > 0 SORT(n DESC) LIMIT(2)", "Item WHERE id == 'k'",
        "Item WHERE owner.rank > 0", "Item WHERE n > 0 EXCLUDE(owner, text)", "Item WHERE owner == NULL",
    ]

    /// There are the items k (32, of the owner o), x (1) and y (99, of o), and the owner o (1).
    static let situations = [
        Situation("deleted, and created by another", .delete("k"), .create("k", 85, by: 1)),
        Situation("deleted, and created by the same", .delete("k"), .create("k", 85)),
        Situation("deleted, and created with the same values", .delete("x"), .create("x", 1, by: 1)),
        Situation("created and deleted", .create("m", 85), .delete("m")),
        Situation("created, deleted and created", .create("m", 85), .delete("m"), .create("m", 86, by: 1)),
        Situation("deleted, created and deleted", .delete("k"), .create("k", 85), .delete("k")),
        Situation("deleted, created and set", .delete("k"), .create("k", 85), .set("k", 60)),
        Situation("set, deleted and created", .set("k", 40), .delete("k"), .create("k", 7, by: 1)),
        Situation("leaves and comes back", .set("k", -5), .set("k", 70)),
        Situation("leaves and comes back twice", .set("k", -5), .set("k", 70), .set("k", -6), .set("k", 71)),
        Situation("comes, leaves and comes", .set("k", 70), .set("k", 2), .set("k", 72)),
        Situation("leaves, is deleted and created", .set("k", -5), .delete("k"), .create("k", 85, by: 1)),
        Situation("deleted, created outside and comes", .delete("k"), .create("k", -5), .set("k", 60)),
        Situation("a window", .delete("y"), .create("y", 98, by: 1), .set("x", 97), .set("x", 2)),
        Situation("an owner is deleted and created", .deleteOwner("o"), .owner("o", 2, by: 1)),
        Situation("an owner is deleted and created below", .deleteOwner("o"), .owner("o", -2), .rank("o", 3, by: 1)),
        Situation(
            "an owner is left, deleted, created and linked again",
            .link("k", to: nil), .link("y", to: nil), .deleteOwner("o"), .owner("o", 2), .link("k", to: "o", by: 1)),
        Situation("an owner is left and linked again", .link("k", to: nil), .link("y", to: nil), .link("k", to: "o")),
        Situation(
            "another owner comes and goes", .owner("p", 5), .link("k", to: "p"), .deleteOwner("p"), .owner("p", 6)),
        Situation("a link is there before its target", .link("k", to: "p"), .owner("p", 5, by: 1), .deleteOwner("p")),
        Situation(
            "item and owner are deleted and created",
            .delete("k"), .deleteOwner("o"), .owner("o", 2), .create("k", 85, by: 1, owner: "o")),
        Situation(
            "deleted and created, with a write of the reader before",
            .ownSet("k", 5), .delete("k"), .create("k", 85, by: 1)),
        Situation(
            "deleted and created, with a write of the reader after",
            .delete("k"), .create("k", 85, by: 1), .ownSet("k", 5)),
        Situation(
            "deleted and created, with a write of the reader between",
            .delete("k"), .ownSet("k", 5), .create("k", 85, by: 1)),
        Situation("deleted by the reader and created by another", .ownDelete("k"), .create("k", 85, by: 1)),
        Situation("deleted by another and created by the reader", .delete("k"), .ownSet("x", 3), .ownCreate("m", 4)),
        Situation("set by another, and out of the query by the reader", .set("k", 70), .ownSet("k", -5)),
        Situation("out of the query by the reader, and set by another", .ownSet("k", -5), .set("k", 70)),
        Situation("a query begins between", .delete("k"), .observe("Item"), .create("k", 85, by: 1)),
        Situation("a query begins before", .observe("Item"), .delete("k"), .create("k", 85, by: 1), .set("k", 86)),
        Situation(
            "a query of owners begins between",
            .deleteOwner("o"), .observe("Owner WHERE rank > 0"), .owner("o", 2, by: 1), .rank("o", 4)),
    ]

    static let generated = seeds(60).map { seed in
        var random = SeededGenerator(seed: seed)
        func key() -> String { ["k", "x", "y", "m"].randomElement(using: &random) ?? "k" }
        func owner() -> String { ["o", "p"].randomElement(using: &random) ?? "o" }
        func number() -> Int64 { [-5, 1, 2, 60, 70].randomElement(using: &random) ?? 1 }
        func author() -> Int { Int.random(in: 0...1, using: &random) }
        let steps = (0..<Int.random(in: 2...9, using: &random)).map { _ -> Step in
            switch Int.random(in: 0..<16, using: &random) {
            case 0...2: .delete(key(), by: author())
            case 3...5: .create(key(), number(), by: author(), owner: owner())
            case 6, 7: .set(key(), number(), by: author())
            case 8: .link(key(), to: owner(), by: author())
            case 9: .link(key(), to: nil, by: author())
            case 10: .deleteOwner(owner(), by: author())
            case 11: .owner(owner(), number(), by: author())
            case 12: .rank(owner(), number(), by: author())
            case 13: .ownSet(key(), number())
            case 14: .ownDelete(key())
            default:
                .observe(
                    ["Item", "Owner WHERE rank > 0", "Item EXCLUDE(owner)"].randomElement(using: &random) ?? "Item")
            }
        }
        return Situation("seed \(seed)", all: steps)
    }

    @Test(arguments: situations + generated)
    func whatComesTogetherLeavesWhatComesOneByOneLeaves(_ situation: Situation) throws {
        let together = try World(isTogether: true, situation.steps)
        let alone = try World(isTogether: false, situation.steps)
        #expect(together.contents == alone.contents)
        #expect(together.frameCount == alone.frameCount)
        for world in [together, alone] {
            world.sync.settle()
            #expect(world.sync.violations == [])
            for text in Self.queries + world.observed { try world.compare(text) }
        }
        #expect(try together.reader.contents() == alone.reader.contents())
    }

    /// Two writers, the reader, and somebody who asks last.
    struct World {
        let sync: HandDrivenSync
        /// What the reader has when it has read everything.
        private(set) var contents: [String] = []
        private(set) var frameCount = 0
        private(set) var observed: [String] = []

        var reader: SQLiteClientStorage { sync.storage(2) }

        private static let schema = Result {
            try Schema([
                ClassSchema(
                    "Item", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.string)), Property("n", .scalar(.int)),
                        Property("text", .scalar(.string), default: .string("t")), Property("owner", .link("Owner")),
                    ]),
                ClassSchema(
                    "Owner", primaryKey: "id",
                    properties: [Property("id", .scalar(.string)), Property("rank", .scalar(.int))]),
            ])
        }

        init(isTogether: Bool, _ steps: [Step]) throws {
            sync = try HandDrivenSync(clientCount: 4, Self.schema.get())
            for step in [
                .owner("o", 1), .create("k", 32, owner: "o"), .create("x", 1), .create("y", 99, owner: "o"),
            ] as [Step] {
                try perform(step)
            }
            for client in 0..<2 { try observe("Item", client) }
            for client in 0..<2 { try observe("Owner", client) }
            for text in TogetherTests.queries { try observe(text, 2) }
            sync.settle()
            sync.pause(2)
            for step in steps { try perform(step) }
            frameCount = sync.unreadCount(2)
            sync.goOn(2, isTogether: isTogether)
            contents = try reader.contents()
        }

        private func observe(_ text: String, _ client: Int) throws {
            _ = try sync.engine(client).observe(try Query.parse(text, schema: sync.schema)) { _ in }
        }

        private mutating func perform(_ step: Step) throws {
            switch step {
            case .create(let key, let n, let author, let owner): try create(key, n, owner, author)
            case .ownCreate(let key, let n): try create(key, n, nil, 2)
            case .set(let key, let n, let author): try set(0, key, 1, .int(n), author)
            case .ownSet(let key, let n): try set(0, key, 1, .int(n), 2)
            case .link(let key, let owner, let author):
                try set(0, key, 3, owner.map { .link(.string($0)) } ?? .null, author)
            case .rank(let key, let rank, let author): try set(1, key, 1, .int(rank), author)
            case .delete(let key, let author): try delete(0, key, author)
            case .ownDelete(let key): try delete(0, key, 2)
            case .deleteOwner(let key, let author): try delete(1, key, author)
            case .owner(let key, let rank, let author):
                try sync.engine(author).write { writer in
                    guard try writer.row(ObjectRef(1, .string(key))) == nil else { return }
                    try writer.insert(Row(key: .string(key), values: [.string(key), .int(rank)]), ofClass: 1)
                }
            case .observe(let text):
                try observe(text, 2)
                observed.append(text)
            }
            sync.settle()
        }

        private func create(_ key: String, _ n: Int64, _ owner: String?, _ author: Int) throws {
            try sync.engine(author).write { writer in
                guard try writer.row(ObjectRef(0, .string(key))) == nil else { return }
                let values: [Value] = [
                    .string(key), .int(n), .string("by \(author)"), owner.map { .link(.string($0)) } ?? .null,
                ]
                try writer.insert(Row(key: .string(key), values: values), ofClass: 0)
            }
        }

        private func set(_ classIndex: Int, _ key: String, _ property: Int, _ value: Value, _ author: Int) throws {
            try sync.engine(author).write { writer in
                let object = ObjectRef(classIndex, .string(key))
                guard try writer.row(object) != nil else { return }
                try writer.update(object, [FieldOperation(property, .set(value))])
            }
        }

        private func delete(_ classIndex: Int, _ key: String, _ author: Int) throws {
            try sync.engine(author).write { writer in
                let object = ObjectRef(classIndex, .string(key))
                if try writer.row(object) != nil { try writer.delete(object) }
            }
        }

        /// Compares what the reader shows with what somebody is sent who asks for the first time.
        func compare(_ text: String) throws {
            try observe(text, 3)
            sync.settle()
            let query = try Query.parse(text, schema: sync.schema)
            func shown(_ client: Int) throws -> [String] {
                try sync.storage(client).results(of: query).visible.map { entry in
                    let excluded = query.exclusions.excludedRootProperties
                    let values = entry.row.values.indices.filter { !excluded.contains($0) }.map { entry.row.values[$0] }
                    return "\(entry.object.key) \(values)"
                }.sorted()
            }
            #expect(try shown(2) == shown(3), "\(text)")
        }
    }
}
