import Sluice
import SluiceJSON
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceTesting
import TestSupport
import Testing

/// Random users, memberships, writes and rules. Whatever happens, every client, of either form of the protocol, ends each
/// step with exactly what its user may read, and nothing else was ever sent to it: ``RuledWorld`` reads the rules naively
/// and judges every frame.
@Suite(.ownThread) struct RuledWorldTests {
    private typealias World = RuledWorld

    private static let users = ["ada", "bob", "cyd"]
    private static let window = "Document SORT(id DESC) LIMIT(3)"
    private static let shared = "Document WHERE isPublic == TRUE"
    private static let graded = "Document WHERE grade > 4"

    /// The rules, where the members of team 1 alone read grades, and teams and documents hide who they are.
    private static let rules = HiddenFieldTests.rules(
        fields: "\"grade\": {\"read\": \"$role.grader OR $role.admin\", \"write\": \"TRUEPREDICATE\"}"
    )
    .replacing("\"Team\": {", with: "\"Team\": {\"hideIdentity\": true, ")
    .replacing("\"Document\": {", with: "\"Document\": {\"hideIdentity\": true, ")
    .replacing("\"database\": {", with: "\"database\": {\"rules\": \"$role.admin\", ")

    /// In every third run users are hidden from those with whom they are in no team.
    @Test(arguments: seeds(12))
    func everyClientHoldsWhatItsUserMayReadAndWasNeverSentMore(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var limits = DatabaseLimits()
        limits.pageRowCount = 3
        let hidesUsers = seed % 3 == 0
        let rules = hidesUsers ? RuledWorld.hidingUsers(Self.rules) : Self.rules
        let world = try World(rules: rules, users: Self.users, limits: limits)
        world.hidden = { [unowned world] client in
            let mayRead = try client.user == "root" || !world.regime.hidesGrades || world.isMember(client, of: .int(1))
            return mayRead ? [:] : [World.ClassIndex.document: [World.Field.grade]]
        }
        world.veiled = [World.ClassIndex.team, World.ClassIndex.document]
        if hidesUsers { world.veiled.insert(World.ClassIndex.user) }
        for user in Self.users {
            for query in ["Document", Self.window, Self.shared, Self.graded] { try world.observe(user, query) }
        }
        // Each user also reads on a page, which is away at other times.
        var readers: [String: JSONReader] = [:]
        for user in Self.users {
            let reader = world.addReader(user)
            readers[user] = reader
            for query in ["Document", Self.window, Self.shared, Self.graded] { reader.observe(query) }
            world.settle()
        }
        let administrator = world.addReader("root")
        var closedPages: Set<String> = []
        var away: Set<String> = []
        for step in 0..<60 {
            let user = Self.users.randomElement(using: &generator)!
            let key = Int64.random(in: 1...12, using: &generator)
            switch Int.random(in: 0..<14, using: &generator) {
            case 0, 1:
                let members = Self.users.filter { _ in Bool.random(using: &generator) }
                try world.setTeam(Int64.random(in: 1...2, using: &generator), members)
            case 2, 3: try create(key, by: "root", world, &generator)
            case 4, 5: try create(key, by: user, world, &generator)
            case 6:
                try world.write(user) { writer in
                    if try writer.row(World.document(key)) != nil { try writer.delete(World.document(key)) }
                }
            case 7, 8:
                let author = Bool.random(using: &generator) ? user : "root"
                try change(key, by: author, world, &generator)
            case 9, 10:
                if away.remove(user) != nil {
                    world.connect(user)
                } else {
                    world.disconnect(user)
                    away.insert(user)
                }
            case 11, 12:
                try deploy(rules, world, administrator, readers, without: closedPages, &generator)
            default:
                // A group with a change of membership in its middle.
                let others = Self.users.filter { _ in Bool.random(using: &generator) }
                try world.write("root") { writer in
                    guard try writer.row(World.team(1)) != nil else { return }
                    try writer.update(
                        World.team(1), [FieldOperation(1, .set(.list(others.map { .link(.string($0)) })))])
                    if try writer.row(World.document(key)) != nil {
                        try writer.update(
                            World.document(key), [FieldOperation(World.Field.text, .set(.string("\(step)")))])
                    }
                }
            }
            if step % 7 == 3, let reader = readers[user] {
                if closedPages.remove(user) != nil {
                    world.connect(reader)
                } else {
                    world.disconnect(reader)
                    closedPages.insert(user)
                }
            }
            try compare(world, without: away, "seed \(seed), step \(step)")
            for (user, reader) in readers where !closedPages.contains(user) {
                try compare(world, reader, "seed \(seed), step \(step)")
            }
        }
        // Whoever was away comes back to other rules than those that it left.
        try world.deploy(RuledRegime(sharesPublic: !world.regime.sharesPublic), of: rules)
        for user in away { world.connect(user) }
        for user in closedPages.sorted() { if let reader = readers[user] { world.connect(reader) } }
        try compare(world, without: [], "seed \(seed), at the end")
        for reader in readers.values { try compare(world, reader, "seed \(seed), at the end") }
    }

    /// Stores other rules, by the operator or on a page of the administrator. Often, pages lose their connections while
    /// the server brings its clients there, and come back.
    private func deploy(
        _ rules: String, _ world: RuledWorld, _ administrator: JSONReader, _ readers: [String: JSONReader],
        without closed: Set<String>, _ generator: inout SeededGenerator
    ) throws {
        let regime = RuledRegime(
            sharesWithTeams: Bool.random(using: &generator), sharesPublic: Bool.random(using: &generator),
            hidesGrades: Bool.random(using: &generator))
        let isCutShort = Bool.random(using: &generator)
        world.sendsPages = !isCutShort
        try world.deploy(regime, of: rules, by: Bool.random(using: &generator) ? administrator : nil)
        if isCutShort {
            for user in Self.users where !closed.contains(user) {
                for _ in 0..<Int.random(in: 0..<3, using: &generator) { world.step() }
                guard let reader = readers[user], Bool.random(using: &generator) else { continue }
                world.disconnect(reader)
                if Bool.random(using: &generator) { world.step() }
                world.connect(reader)
            }
        }
        world.sendsPages = true
        world.settle()
    }

    private func create(
        _ key: Int64, by user: String, _ world: RuledWorld, _ generator: inout SeededGenerator
    ) throws {
        let owner = Bool.random(using: &generator) ? user : Self.users.randomElement(using: &generator)!
        let row = World.document(
            key, "by \(user)", owner: owner, team: Int64.random(in: 1...3, using: &generator),
            parent: Bool.random(using: &generator) ? Int64.random(in: 1...12, using: &generator) : nil,
            isPublic: Int.random(in: 0..<4, using: &generator) == 0, grade: Int64.random(in: 0..<9, using: &generator))
        try world.write(user) { writer in
            if try writer.row(World.document(key)) == nil { try writer.insert(row, ofClass: World.ClassIndex.document) }
        }
    }

    private func change(
        _ key: Int64, by user: String, _ world: RuledWorld, _ generator: inout SeededGenerator
    ) throws {
        let fields = [
            FieldOperation(World.Field.isPublic, .set(.bool(Bool.random(using: &generator)))),
            FieldOperation(World.Field.owner, .set(.link(.string(Self.users.randomElement(using: &generator)!)))),
            FieldOperation(World.Field.team, .set(.link(.int(Int64.random(in: 1...3, using: &generator))))),
            FieldOperation(World.Field.text, .set(.string("changed by \(user)"))),
            FieldOperation(World.Field.grade, .set(.int(Int64.random(in: 0..<9, using: &generator)))),
        ]
        try world.write(user) { writer in
            if try writer.row(World.document(key)) != nil {
                try writer.update(World.document(key), [fields.randomElement(using: &generator)!])
            }
        }
    }

    /// Compares what a page has with what its user may read.
    private func compare(_ world: RuledWorld, _ reader: JSONReader, _ place: String) throws {
        let user = reader.user
        let readable = try world.readable(user)
        func rows(_ keys: some Sequence<Int64>) -> [Row] {
            keys.compactMap { try? world.server.row(World.document($0)) }
        }
        #expect(Set(reader.keys("Document")) == Set(readable.map { "\($0)" }), "\(place): \(user)'s page")
        #expect(
            reader.keys(Self.window) == readable.suffix(3).reversed().map { "\($0)" },
            "\(place): \(user)'s page, window")
        let shared = rows(readable).filter { $0.values[World.Field.isPublic] == .bool(true) }
        #expect(
            Set(reader.keys(Self.shared)) == Set(shared.map { $0.key.description }), "\(place): \(user)'s page, list")
        let hidden = try world.hidden(world[user])[World.ClassIndex.document] ?? []
        #expect((reader.results[Self.graded]?.error == nil) == hidden.isEmpty, "\(place): \(user)'s page, refusal")
        let graded = rows(hidden.isEmpty ? readable : []).filter { row in
            if case .int(let grade) = row.values[World.Field.grade] { grade > 4 } else { false }
        }
        #expect(
            Set(reader.keys(Self.graded)) == Set(graded.map { $0.key.description }), "\(place): \(user)'s page, grades")
        for row in rows(readable) {
            let held = reader.results["Document"]?.rows["Document/\(row.key)"]
            #expect((held?["grade"] == nil) == !hidden.isEmpty, "\(place): \(user)'s page, grade of \(row.key)")
            if case .string(let text) = row.values[World.Field.text] {
                #expect(held?["text"]?.string == text, "\(place): \(user)'s page, text of \(row.key)")
            }
        }
    }

    private func compare(_ world: RuledWorld, without away: Set<String>, _ place: String) throws {
        #expect(world.problems.isEmpty, "\(place): \(world.problems.first ?? "")")
        for user in Self.users where !away.contains(user) {
            let readable = try world.readable(user)
            #expect(try world.held(user) == readable, "\(place): \(user) holds")
            func keys(_ query: String) -> [ObjectKey] { world[user].results[query]?.map(\.key) ?? [] }
            #expect(keys(Self.window) == readable.suffix(3).reversed().map { .int($0) }, "\(place): \(user)'s window")
            let shared = try readable.filter {
                try world.server.row(World.document($0))?.values[World.Field.isPublic] == .bool(true)
            }
            #expect(Set(keys(Self.shared)) == Set(shared.map { .int($0) }), "\(place): \(user)'s list")
            let hidden = try world.hidden(world[user])[World.ClassIndex.document] ?? []
            let graded = try readable.filter {
                guard case .int(let grade)? = try world.server.row(World.document($0))?.values[World.Field.grade] else {
                    return false
                }
                return hidden.isEmpty && grade > 4
            }
            #expect(Set(keys(Self.graded)) == Set(graded.map { .int($0) }), "\(place): \(user)'s grades")
            #expect((world[user].errors[Self.graded] == nil) == hidden.isEmpty, "\(place): \(user)'s refusal")
            for key in readable {
                guard let held = try world[user].storage.row(World.document(key)),
                    var stored = try world.server.row(World.document(key))
                else { continue }
                if !hidden.isEmpty { stored.values[World.Field.grade] = .int(0) }
                for (field, target) in [
                    (World.Field.team, World.ClassIndex.team), (World.Field.parent, World.ClassIndex.document),
                    (World.Field.owner, World.ClassIndex.user),
                ] { stored.values[field] = try world.shown(stored.values[field], target, to: user) }
                #expect(held.values == stored.values, "\(place): \(user)'s copy of \(key)")
                #expect(held.absent == hidden, "\(place): \(user)'s copy of \(key)")
            }
        }
    }
}
