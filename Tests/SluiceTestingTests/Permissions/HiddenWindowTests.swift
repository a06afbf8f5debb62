import Sluice
import SluiceModel
import SluiceServer
import Testing

/// Group 7 of the cases: what may not be read is left out before objects are sorted, counted and cut off, so that no gap
/// shows.
@Suite struct HiddenWindowTests {
    private typealias World = RuledWorld

    private static let query = "Document SORT(grade DESC) LIMIT(3)"

    /// Documents 1 to 10 with their key as grade; the even ones are readable.
    private func world() throws -> RuledWorld {
        let world = try World(users: ["ada"])
        for key in 1...10 as ClosedRange<Int64> {
            try world.create(World.document(key, team: 9, isPublic: key % 2 == 0, grade: key))
        }
        try world.observe("ada", Self.query)
        return world
    }

    private func shown(_ world: RuledWorld) -> [Int64] {
        (world["ada"].results[Self.query] ?? []).compactMap { if case .int(let key) = $0.key { key } else { nil } }
    }

    @Test func aWindowIsFilledWithWhatMayBeRead() throws {
        let world = try world()
        #expect(shown(world) == [10, 8, 6])
        #expect(try world.held("ada") == [6, 8, 10])
    }

    @Test(arguments: [true, false]) func aWindowThatLosesAnObjectTakesTheNextThatMayBeRead(isDeleted: Bool) throws {
        let world = try world()
        if isDeleted {
            try world.write("root") { try $0.delete(World.document(8)) }
        } else {
            try world.update("root", 8, World.Field.isPublic, .bool(false))
        }
        #expect(shown(world) == [10, 6, 4])
        #expect(world["ada"].removals[.int(8)] == (isDeleted ? .deleted : .permission))
    }

    @Test func aHiddenObjectThatWouldComeFirstChangesNothing() throws {
        let world = try world()
        let count = world["ada"].frames.count
        try world.create(World.document(20, grade: 100))
        try world.update("root", 9, World.Field.grade, .int(200))
        try world.write("root") { try $0.delete(World.document(7)) }
        #expect(world["ada"].frames.count == count)
        try world.update("root", 20, World.Field.isPublic, .bool(true))
        #expect(shown(world) == [20, 10, 8])
    }

    @Test func aWindowRunsOutWithoutShowingHowManyThereAre() throws {
        let world = try world()
        for key in [2, 4, 6, 8] as [Int64] { try world.update("root", key, World.Field.isPublic, .bool(false)) }
        #expect(shown(world) == [10])
        #expect(try world.held("ada") == [10])
    }

    @Test func oneOfEachKindIsChosenAmongWhatMayBeRead() throws {
        let world = try World(users: ["ada"])
        let query = "Document SORT(grade DESC) DISTINCT(text) LIMIT(2)"
        try world.create(
            World.document(1, "a", grade: 9), World.document(2, "a", isPublic: true, grade: 5),
            World.document(3, "b", grade: 8), World.document(4, "c", isPublic: true, grade: 1),
            World.document(5, "b", isPublic: true, grade: 2))
        try world.observe("ada", query)
        #expect(world["ada"].results[query]?.map(\.key) == [.int(2), .int(5)])
        try world.update("root", 2, World.Field.isPublic, .bool(false))
        #expect(world["ada"].results[query]?.map(\.key) == [.int(5), .int(4)])
    }
}
