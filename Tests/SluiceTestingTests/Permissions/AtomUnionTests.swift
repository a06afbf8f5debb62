import Sluice
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceTesting
import TestSupport
import Testing

import func TestSupport.seeds

/// Clients whose views are found by atoms: what they hold is what the whole rule says, whatever happens.
@Suite(.ownThread) struct AtomUnionTests {
    private typealias World = RuledWorld

    private static let users = ["ada", "bob", "cyd"]
    private static let plain = "Document EXCLUDE(owner, team, parent)"
    /// The condition of the rules reads what the query leaves out.
    private static let bare = "Document WHERE grade > 2 EXCLUDE(owner, team, parent, isPublic)"

    private static let linked = "Document WHERE grade < 3"

    @Test(arguments: seeds(8))
    func everyClientHoldsTheUnionOfItsAtoms(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var limits = DatabaseLimits()
        limits.pageRowCount = 2
        // In some runs a reader of two teams has a view of its own.
        if seed % 4 == 0 { limits.atomCountMax = 3 }
        // In a file, what readers gain and lose is found beside the writer.
        let isFile = seed > 9
        limits.contextStepCountMax = seed % 3 == 0 ? 200 : 0
        let world = try World(users: Self.users, limits: limits, isFile: isFile)
        func observe(_ user: String) throws {
            if isFile { try world.observe(user, Self.linked) }
            try world.observe(user, Self.plain)
            try world.observe(user, Self.bare)
        }
        for user in Self.users { try observe(user) }
        var away: Set<String> = []
        for step in 0..<70 {
            let user = Self.users.randomElement(using: &generator)!
            let key = Int64.random(in: 1...10, using: &generator)
            if isFile, Int.random(in: 0..<3, using: &generator) == 0 { world.delaysReadings = true }
            switch Int.random(in: 0..<14, using: &generator) {
            case 0, 1, 2:
                let members = Self.users.filter { _ in Bool.random(using: &generator) }
                try world.setTeam(Int64.random(in: 1...3, using: &generator), members)
            case 3, 4, 5:
                let row = World.document(
                    key, "step \(step)", owner: Self.users.randomElement(using: &generator)!,
                    team: Int64.random(in: 1...3, using: &generator), parent: nil,
                    isPublic: Int.random(in: 0..<5, using: &generator) == 0,
                    grade: Int64.random(in: 0..<5, using: &generator))
                try world.write("root") { writer in
                    if try writer.row(World.document(key)) == nil {
                        try writer.insert(row, ofClass: World.ClassIndex.document)
                    } else {
                        // From one atom to others in one commit.
                        let fields = [World.Field.isPublic, World.Field.owner, World.Field.team, World.Field.grade]
                        try writer.update(World.document(key), fields.map { FieldOperation($0, .set(row.values[$0])) })
                    }
                }
            case 6:
                try world.write("root") { writer in
                    if try writer.row(World.document(key)) != nil { try writer.delete(World.document(key)) }
                }
            case 7, 8:
                try world.write("root") { writer in
                    guard try writer.row(World.document(key)) != nil else { return }
                    try writer.update(World.document(key), [FieldOperation(World.Field.text, .set(.string("\(step)")))])
                }
            case 9, 10:
                if away.remove(user) != nil {
                    world.connect(user)
                } else {
                    world.disconnect(user)
                    away.insert(user)
                }
            case 11:
                // A membership that changes while pages are on their way.
                guard !away.contains(user) else { continue }
                try world.crash(user)
                world.sendsPages = false
                world.connect(user)
                try observe(user)
                world.step()
                try world.setTeam(Int64.random(in: 1...3, using: &generator), [user])
                world.sendsPages = true
                world.settle()
            case 12: try world.crashServer()
            default:
                // A membership and a document of that team in one transaction.
                let members = Self.users.filter { _ in Bool.random(using: &generator) }
                try world.write("root") { writer in
                    guard try writer.row(World.team(1)) != nil else { return }
                    try writer.update(
                        World.team(1), [FieldOperation(1, .set(.list(members.map { .link(.string($0)) })))])
                    guard try writer.row(World.document(key)) != nil else { return }
                    try writer.update(World.document(key), [FieldOperation(World.Field.team, .set(.link(.int(1))))])
                }
            }
            if world.delaysReadings, Bool.random(using: &generator) { continue }
            world.readBeside()
            try compare(world, without: away, "seed \(seed), step \(step)")
        }
        world.delaysReadings = false
        for user in away { world.connect(user) }
        try compare(world, without: [], "seed \(seed), at the end")
    }

    private func compare(_ world: RuledWorld, without away: Set<String>, _ place: String) throws {
        #expect(world.problems.isEmpty, "\(place): \(world.problems.first ?? "")")
        for user in Self.users where !away.contains(user) {
            let readable = try world.readable(user)
            func keys(_ query: String) -> Set<ObjectKey> { Set(world[user].results[query]?.map(\.key) ?? []) }
            #expect(keys(Self.plain) == Set(readable.map { .int($0) }), "\(place): \(user)'s documents")
            let graded = try readable.filter {
                guard case .int(let grade)? = try world.server.row(World.document($0))?.values[World.Field.grade] else {
                    return false
                }
                return grade > 2
            }
            #expect(keys(Self.bare) == Set(graded.map { .int($0) }), "\(place): \(user)'s grades")
            if world[user].observations[Self.linked] != nil {
                let low = try readable.filter {
                    guard case .int(let grade)? = try world.server.row(World.document($0))?.values[World.Field.grade]
                    else { return false }
                    return grade < 3
                }
                #expect(keys(Self.linked) == Set(low.map { .int($0) }), "\(place): \(user)'s low grades")
            }
            for key in readable {
                let held = try world[user].storage.row(World.document(key))
                let stored = try world.server.row(World.document(key))
                for field in [World.Field.text, World.Field.isPublic, World.Field.grade] {
                    #expect(held?.values[field] == stored?.values[field], "\(place): \(user)'s copy of \(key)")
                }
            }
        }
    }

    @Test func whatLeavesOneAtomLeavesOnlyThoseWhoHaveNoOther() throws {
        let world = try World(users: Self.users)
        try world.setTeam(1, ["ada", "bob"])
        try world.setTeam(2, ["bob"])
        for user in Self.users { try world.observe(user, Self.plain) }
        try world.write("root") {
            try $0.insert(
                World.document(1, "a", owner: "cyd", team: 1, parent: nil, isPublic: false, grade: 1),
                ofClass: World.ClassIndex.document)
        }
        #expect(Self.users.map { world[$0].results[Self.plain]?.count } == [1, 1, 1])
        try world.write("root") {
            try $0.update(World.document(1), [FieldOperation(World.Field.team, .set(.link(.int(2))))])
        }
        #expect(Self.users.map { world[$0].results[Self.plain]?.count } == [0, 1, 1])
        #expect(world["ada"].removals[.int(1)] == .permission)
        #expect(world["bob"].removals[.int(1)] == nil)
    }

    @Test func everyViewAndAtomIsGoneOnceAllClientsAre() throws {
        let world = try World(users: Self.users)
        try world.setTeam(1, ["ada", "bob"])
        try world.setTeam(2, ["bob", "cyd"])
        for user in Self.users { try world.observe(user, Self.plain) }
        #expect(world.engine.liveViewCount > 3)
        for user in Self.users { world.disconnect(user) }
        try world.setTeam(3, ["bob"])
        #expect(world.engine.liveViewCount == 0)
    }
}
