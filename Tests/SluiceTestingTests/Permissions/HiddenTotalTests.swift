import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import TestSupport
import Testing

/// Totals under rules: nobody's total says anything of what its reader may not read.
@Suite struct HiddenTotalTests {
    private typealias World = RuledWorld

    private static let queries = [
        "Document SORT(id ASC) LIMIT(2) TOTAL", "Document LIMIT(0) TOTAL",
        "Document WHERE text != 'x' SORT(id DESC) LIMIT(1) EXCLUDE(team) TOTAL",
        "Document WHERE team.id == 7 LIMIT(1) TOTAL",
        // The total is that of all pages, and a page behind or before a place tells nothing of what it does not have.
        "Document SORT(id ASC) AFTER(4, 4) LIMIT(2) TOTAL",
        "Document WHERE text != 'x' SORT(id DESC) BEFORE(3, 3) LIMIT(2) TOTAL",
    ]
    /// Stores count its results themselves, and pages are told.
    private static let whole = "Document WHERE text != 'x' TOTAL"

    @Test(arguments: queries) func whatIsHiddenIsInNoTotalAndNoWriteToItIsToldOf(query: String) throws {
        let world = try World(users: ["ada", "bob"])
        try world.setTeam(7, ["ada"])
        try world.create(World.document(1, team: 7), World.document(2), World.document(9, isPublic: true))
        for user in ["ada", "bob"] {
            try world.observe(user, query)
            world.addReader(user).observe(query)
            world.settle()
        }
        let told = world.readers.map(\.changeCount)
        let counts = ["ada", "bob"].map { world[$0].frames.count }
        // Documents of nobody and of another team come, change and go.
        try world.setTeam(8, ["root"])
        for key in 20..<30 as Range<Int64> { try world.create(World.document(key, team: key % 2 == 0 ? 8 : nil)) }
        for key in 20..<30 as Range<Int64> {
            try world.update("root", key, World.Field.text, .string("secret \(key)"))
            try world.write("root") { try $0.delete(World.document(key)) }
        }
        #expect(["ada", "bob"].map { world[$0].frames.count } == counts)
        #expect(world.readers.map(\.changeCount) == told, "pages are told of it")
        try expectTotals(world, query)
    }

    @Test(arguments: queries) func whoMayReadMoreOrLessHasAnotherTotalInTheSameVersion(query: String) throws {
        let world = try World(users: ["ada", "bob"])
        try world.setTeam(7, [])
        for key in 1...6 as ClosedRange<Int64> { try world.create(World.document(key, team: key < 5 ? 7 : nil)) }
        try world.create(World.document(9, isPublic: true))
        for user in ["ada", "bob"] { try world.observe(user, query) }
        try expectTotals(world, query)
        for members in [["ada"], ["ada", "bob"], ["bob"], [], ["bob", "ada"]] {
            try world.setTeam(7, members)
            try expectTotals(world, query)
            let last = try #require(world["ada"].frames.last)
            #expect(!last.contains { if case .subscriptionError = $0 { true } else { false } })
        }
    }

    /// By any sequence of writes: rights, teams, documents and their teams change at random, and after each change every
    /// total is what its reader may read.
    @Test(arguments: 1...12 as ClosedRange<UInt64>) func noSequenceOfWritesMakesATotalWrong(seed: UInt64) throws {
        try World.writeAtRandom(seed: seed, observing: Self.queries + [Self.whole], expectTotals)
    }

    /// Compares what each client shows with what its user may read, read naively.
    private func expectTotals(_ world: RuledWorld, _ query: String) throws {
        world.check()
        #expect(world.problems == [])
        for user in ["ada", "bob"] {
            let storage = world[user].storage
            let readable = try world.readable(user)
            let expected = try readable.count { key in
                guard let row = try world.server.row(World.document(key)) else { return false }
                if query.contains("text != 'x'") { return row.values[World.Field.text] != .string("x") }
                if query.contains("team.id == 7") {
                    guard row.values[World.Field.team] == .link(.int(7)) else { return false }
                    return try world.mayRead(world[user], World.team(7))
                }
                return true
            }
            let parsed = try Query.parse(query, schema: storage.schema)
            if parsed.countsMatches { #expect(try storage.total(of: parsed)?.count == expected, "\(user): \(query)") }
            for reader in world.readers where reader.user == user && reader.isConnected {
                #expect(reader.results[query]?.total == Int64(expected), "\(user)'s page: \(query)")
            }
        }
    }
}
