import SluiceAccess
import SluiceJSON
import SluiceModel
import SluiceQuery
import SluiceRules
import SluiceStorage
import SluiceTesting
import SluiceViews
import TestSupport
import Testing

import func TestSupport.seeds

@testable import SluiceServer

/// Views that changes find by the atoms of what their readers may read, compared after each commit with what the whole
/// rule says.
@Suite(.ownThread) struct AtomViewTests {
    private enum ClassIndex { static let (person, document) = (0, 1) }
    private enum Field { static let (text, isPublic, group, owner, readers) = (1, 2, 3, 4, 5) }

    private static let rules = """
        {"classes": {
          "Person": {"read": "TRUEPREDICATE"},
          "Document": {"read": "isPublic == TRUE OR group IN $user.claims.groups OR owner.name == $user.id \
        OR ANY readers.name IN $user.claims.names"}}}
        """

    /// Queries that include what the rule reads, and queries that do not, so that not all atoms see a change.
    private static let queries = [
        "Document EXCLUDE(owner, readers)", "Document WHERE text != 'b' EXCLUDE(owner, readers)",
        "Document EXCLUDE(owner, readers, group, isPublic)",
        "Document SORT(text ASC) EXCLUDE(owner, readers, isPublic)",
    ]

    private final class World {
        let storage: SQLiteServerStorage
        let hub: ViewHub
        let rules: AccessRules
        let schema: Schema
        private var version: UInt64 = 0

        init(limits: DatabaseLimits = DatabaseLimits()) throws {
            schema = try Schema([
                ClassSchema(
                    "Person", primaryKey: "id",
                    properties: [Property("id", .scalar(.int)), Property("name", .scalar(.string))]),
                ClassSchema(
                    "Document", primaryKey: "id",
                    properties: [
                        Property("id", .scalar(.int)), Property("text", .scalar(.string)),
                        Property("isPublic", .scalar(.bool)), Property("group", .scalar(.int)),
                        Property("owner", .link("Person")), Property("readers", .links("Person")),
                    ]),
            ])
            storage = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
            let schema = schema
            try storage.transaction { [storage] in
                _ = try storage.merge(schema, sides: ("the server", "the test"))
                for key in 1...4 as ClosedRange<Int64> {
                    try storage.insert(Row(key: .int(key), values: [.int(key), .string("p\(key)")]), ofClass: 0)
                }
            }
            hub = ViewHub(Database(name: "documents", storage: storage, limits: limits, log: nil))
            rules = AccessRules(try RulesFile(AtomViewTests.rules))
        }

        /// The view of a query for a user with some groups, who may read what some people may.
        func view(_ text: String, of user: String, groups: [Int], names: [String] = []) throws -> SharedView {
            let claims = JSONValue.object([
                .init(name: "groups", value: .array(groups.map { .integer(Int64($0)) })),
                .init(name: "names", value: .array(names.map { .string($0) })),
            ])
            let identity = LoginIdentity(userID: user, method: .custom, claims: claims)
            let binding = rules.bind(User(identity, mayExtendSchema: false), schema: schema) { _ in [] }
            let query = try binding.query(Query.parse(text, schema: schema))
            return try hub[query.key] ?? hub.insert(hub.make(query))
        }

        /// Stores changes of objects, and lets the views follow.
        ///
        /// - Returns: what each view has told.
        func commit(_ changes: [(object: ObjectRef, row: Row?)]) throws -> (CommitDelta, [ObjectIdentifier: ViewDelta])
        {
            var deltas: [ObjectDelta] = []
            try storage.transaction {
                for (object, row) in changes where !deltas.contains(where: { $0.object == object }) {
                    let old = try storage.row(object)
                    switch (old, row) {
                    case (nil, nil): continue
                    case (nil, let row?): try storage.insert(row, ofClass: object.classIndex)
                    case (_?, let row?):
                        try storage.update(
                            row, ofClass: object.classIndex, changed: PropertySet(row.values.indices.dropFirst()))
                    case (_?, nil): try storage.delete(object, version: version + 1)
                    }
                    deltas.append(ObjectDelta(object: object, old: old, new: row, authors: []))
                }
            }
            version += 1
            let commit = CommitDelta(changes: deltas, version: version)
            var told: [ObjectIdentifier: ViewDelta] = [:]
            let stragglers = hub.follow(commit) { view, delta in
                #expect(told[ObjectIdentifier(view)] == nil, "a view tells of a commit twice")
                told[ObjectIdentifier(view)] = delta
            }
            #expect(stragglers.failures.isEmpty)
            return (commit, told)
        }

        func document(
            _ key: Int64, text: String = "a", isPublic: Bool = false, group: Int = 0, owner: Int? = nil,
            readers: [Int] = []
        ) -> (ObjectRef, Row?) {
            let object = ObjectRef(ClassIndex.document, .int(key))
            let values: [Value] = [
                .int(key), .string(text), .bool(isPublic), .int(Int64(group)),
                owner.map { .link(.int(Int64($0))) } ?? .null, .list(readers.map { .link(.int(Int64($0))) }),
            ]
            return (object, Row(key: .int(key), values: values))
        }

        func person(_ key: Int64, name: String) -> (ObjectRef, Row?) {
            (ObjectRef(ClassIndex.person, .int(key)), Row(key: .int(key), values: [.int(key), .string(name)]))
        }
    }

    @Test(arguments: seeds(12))
    func viewsFoundByAtomsTellWhatTheWholeRuleTells(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        let world = try World()
        var views: [SharedView] = []
        func some(_ range: ClosedRange<Int>) -> [Int] { range.filter { _ in Bool.random(using: &generator) } }
        var (toldCount, workedOutCount) = (0, 0)
        for step in 0..<60 {
            if views.count < 8 || Int.random(in: 0..<4, using: &generator) == 0 {
                let view = try world.view(
                    Self.queries.randomElement(using: &generator)!, of: "p\(Int.random(in: 1...5, using: &generator))",
                    groups: some(0...5), names: some(1...3).map { "p\($0)" })
                if !views.contains(where: { $0 === view }) { views.append(view) }
            }
            if views.count > 8, Bool.random(using: &generator) {
                world.hub.remove(views.remove(at: Int.random(in: 0..<views.count, using: &generator)))
                if Bool.random(using: &generator) { world.hub.dropIdleAtoms() }
            }
            let changes = try (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                try change(world, &generator)
            }
            let before = world.hub.concernedCount
            let (commit, told) = try world.commit(changes)
            toldCount += told.count
            workedOutCount += Int(world.hub.concernedCount - before)
            let check = ViewCheck(commit, in: world.storage, schema: world.schema)
            for view in views {
                let problems = try check.problems(of: view.live, reporting: told[ObjectIdentifier(view)])
                #expect(problems.isEmpty, "seed \(seed), step \(step): \(problems.first ?? "")")
            }
            #expect(world.hub.index.problems().isEmpty, "seed \(seed), step \(step)")
        }
        #expect(views.contains { !world.hub.atoms(of: $0).isEmpty })
        #expect(toldCount > 20 && workedOutCount > 20, "too little has happened to show anything")
        for view in views { world.hub.remove(view) }
        world.hub.dropIdleAtoms()
        #expect(world.hub.filedCount == 0, "atoms outlive the views that hold them")
    }

    private func change(_ world: World, _ generator: inout SeededGenerator) throws -> (ObjectRef, Row?) {
        if Int.random(in: 0..<8, using: &generator) == 0 {
            return world.person(
                Int64.random(in: 1...4, using: &generator), name: "p\(Int.random(in: 1...5, using: &generator))")
        }
        let key = Int64.random(in: 1...6, using: &generator)
        let object = ObjectRef(ClassIndex.document, .int(key))
        guard var row = try world.storage.row(object), Int.random(in: 0..<5, using: &generator) > 0 else {
            if Int.random(in: 0..<3, using: &generator) == 0 { return (object, nil) }
            return world.document(
                key, text: "a", isPublic: Int.random(in: 0..<4, using: &generator) == 0,
                group: Int.random(in: 0...6, using: &generator), owner: Int.random(in: 1...4, using: &generator),
                readers: (1...4).filter { _ in Int.random(in: 0..<3, using: &generator) == 0 })
        }
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: row.values[Field.isPublic] = .bool(Bool.random(using: &generator))
        case 1: row.values[Field.group] = .int(Int64.random(in: 0...6, using: &generator))
        case 2: row.values[Field.owner] = .link(.int(Int64.random(in: 1...4, using: &generator)))
        case 3:
            row.values[Field.readers] = .list(
                (1...4).filter { _ in Bool.random(using: &generator) }.map { .link(.int($0)) })
        default: row.values[Field.text] = .string(["a", "b", "c"].randomElement(using: &generator)!)
        }
        return (object, row)
    }

    @Test func aWriteToOneGroupIsWorkedOutOnceForAllWhoHaveIt() throws {
        let world = try World()
        _ = try world.commit([world.document(1, group: 1), world.document(2, group: 2)])
        // No two users have the same groups, and all have group 1.
        let views = try (2...21).map {
            try world.view("Document EXCLUDE(owner, readers)", of: "p9", groups: [1, $0, $0 + 30])
        }
        let before = world.hub.concernedCount
        let (_, told) = try world.commit([world.document(1, text: "other", group: 1)])
        #expect(told.count == views.count)
        #expect(world.hub.concernedCount - before == 1)
        #expect(Set(told.values).count == 1)
    }

    @Test func usersWithSomeOfManyGroupsShareTheViewsOfTheGroups() throws {
        let world = try World()
        func add(_ users: Range<Int>) throws {
            for user in users {
                let groups = (0..<10).map { ($0 * (user % 7 + 1) + user) % 40 }
                _ = try world.view("Document EXCLUDE(owner, readers)", of: "p9", groups: groups)
            }
        }
        try add(0..<50)
        // One for each group, and what is public, and what belongs to the user.
        #expect(world.hub.filedCount == 42)
        try add(50..<200)
        #expect(world.hub.filedCount == 42)
        #expect(world.hub.all.count > 100)
    }

    @Test func anObjectStaysAsLongAsOneAtomBringsIt() throws {
        let world = try World()
        let view = try world.view("Document EXCLUDE(owner, readers, group, isPublic)", of: "p1", groups: [1, 2])
        let object = ObjectRef(ClassIndex.document, .int(1))
        func tell(_ change: (ObjectRef, Row?)) throws -> ViewDelta? {
            try world.commit([change]).1[ObjectIdentifier(view)]
        }
        #expect(try tell(world.document(1, group: 1, owner: 1))?.entered.map(\.object) == [object])
        // By its owner, by another group, and by its owner again: nothing that the query includes has changed.
        #expect(try tell(world.document(1, group: 7, owner: 1)) == nil)
        #expect(try tell(world.document(1, group: 2, owner: 1)) == nil)
        #expect(try tell(world.document(1, isPublic: true, group: 2)) == nil)
        #expect(try tell(world.document(1, group: 1)) == nil)
        #expect(try tell(world.document(1))?.left == [ViewDeparture(object: object, reason: .permission)])
        _ = try tell(world.document(1, group: 1, owner: 1))
        #expect(try tell((object, nil))?.left == [ViewDeparture(object: object, reason: .deleted)])
    }

    @Test func aReaderOfMoreGroupsThanAreSharedHasAViewOfItsOwn() throws {
        var limits = DatabaseLimits()
        limits.atomCountMax = 5
        let world = try World(limits: limits)
        // What is public and what belongs to the user count too.
        let shared = try world.view("Document EXCLUDE(owner, readers)", of: "p1", groups: [1, 2, 3])
        let own = try world.view("Document EXCLUDE(owner, readers)", of: "p1", groups: [1, 2, 3, 4])
        #expect(world.hub.atoms(of: shared).count == 5 && world.hub.atoms(of: own).isEmpty)
        let (_, told) = try world.commit([world.document(1, group: 4), world.document(2, group: 3)])
        #expect(told[ObjectIdentifier(own)]?.entered.count == 2)
        #expect(told[ObjectIdentifier(shared)]?.entered.count == 1)
    }

    @Test(arguments: [
        "Document", "Document SORT(text ASC) LIMIT(2) EXCLUDE(owner, readers)",
        "Document SORT(text ASC) DISTINCT(text) EXCLUDE(owner, readers)", "Person",
    ])
    func aViewThatHoldsObjectsIsFoundAsAWhole(query: String) throws {
        let world = try World()
        let view = try world.view(query, of: "p1", groups: [1, 2])
        #expect(world.hub.atoms(of: view).isEmpty && world.hub.filedCount == 1)
    }

    @Test func rightsThatChangeLeaveTheAtomsThatStay() throws {
        let world = try World()
        let query = "Document EXCLUDE(owner, readers)"
        let former = try world.view(query, of: "p1", groups: [1, 2, 3])
        let kept = Set(world.hub.atoms(of: former))
        world.hub.remove(former)
        let now = try world.view(query, of: "p1", groups: [2, 3, 4])
        world.hub.dropIdleAtoms()
        let held = Set(world.hub.atoms(of: now))
        #expect(held.subtracting(kept).count == 1 && held.intersection(kept).count == 4)
        #expect(world.hub.filedCount == 5)
        #expect(world.hub.index.problems().isEmpty)
    }
}
