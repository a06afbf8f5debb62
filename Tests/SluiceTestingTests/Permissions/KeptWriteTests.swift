import Sluice
import SluiceModel
import SluiceServer
import SluiceStorage
import Testing

/// Refused writes: told until somebody has heard, and kept where the store is opened so.
@Suite struct KeptWriteTests {
    private typealias World = RuledWorld

    private func world(keeps: Bool = true) throws -> RuledWorld {
        let world = try World(users: ["ada"], configure: { $0.keepsRejectedWrites = keeps })
        try world.create(World.document(1, owner: "ada"), World.document(4, "of all", isPublic: true))
        try world.observe("ada", "Document")
        return world
    }

    private func text(_ world: RuledWorld, _ key: Int64 = 4) throws -> Value? {
        try world["ada"].storage.row(World.document(key))?.values[World.Field.text]
    }

    @Test func refusedValuesStayVisibleAndAreNeverSentAgain() throws {
        let world = try world()
        try world.update("ada", 4, World.Field.text, .string("mine"))
        #expect(try text(world) == .string("mine"))
        #expect(world["ada"].rejections.map(\.object?.key) == [.int(4)])
        #expect(world["ada"].storage.outboxCount == 0)
        try world.restart("ada")
        #expect(try text(world) == .string("mine"))
        #expect(try world.server.row(World.document(4))?.values[World.Field.text] == .string("of all"))
        // The server's changes of other properties still come.
        try world.observe("ada", "Document")
        try world.update("root", 4, World.Field.grade, .int(7))
        #expect(try world["ada"].storage.row(World.document(4))?.values[World.Field.grade] == .int(7))
        #expect(try text(world) == .string("mine"))
        #expect(world["ada"].rejections.count == 1)
    }

    @Test func aRefusedCreationStaysAmongTheResults() throws {
        let world = try world()
        try world.write("ada") { writer in
            try writer.insert(World.document(9, "draft", owner: "root"), ofClass: World.ClassIndex.document)
        }
        #expect(world["ada"].rejections.count == 1)
        #expect(try text(world, 9) == .string("draft"))
        #expect(world["ada"].results["Document"]?.map(\.key).contains(.int(9)) ?? false)
        #expect(try world["ada"].engine.purgeUnsubscribed() == 0)
        try world["ada"].engine.discardRejectedWrites(of: nil)
        world.settle()
        #expect(try text(world, 9) == nil)
        #expect(world["ada"].results["Document"]?.map(\.key).contains(.int(9)) == false)
    }

    @Test func whatTheApplicationOverwritesOrDiscardsIsTheServersAgain() throws {
        let world = try world()
        try world.update("ada", 4, World.Field.text, .string("mine"))
        try world["ada"].engine.discardRejectedWrites(of: Identity(className: "Document", key: .int(4)))
        #expect(try text(world) == .string("of all"))
        #expect(try world["ada"].storage.objectsWithBaseImage.isEmpty)
        // Document 1 is ada's, whose grade is not.
        try world.update("ada", 1, World.Field.grade, .int(9))
        #expect(try world["ada"].storage.row(World.document(1))?.values[World.Field.grade] == .int(9))
        try world.write("ada") { try $0.delete(World.document(1)) }
        #expect(try world.server.row(World.document(1)) == nil && text(world, 1) == nil)
        #expect(world["ada"].storage.keptObjects.isEmpty)
    }

    @Test func whatIsHiddenGoesAlsoFromUnderRefusedValues() throws {
        let world = try world()
        try world.update("ada", 4, World.Field.text, .string("mine"))
        try world.update("root", 4, World.Field.isPublic, .bool(false))
        #expect(try world.held("ada") == [1])
        world.disconnect("ada")
        world.connect("ada")
        #expect(try world.held("ada") == [1])
    }

    @Test func aWriteThatFailsChangesNothingOfWhatIsKept() throws {
        struct Stop: Error {}
        let world = try world()
        try world.update("ada", 4, World.Field.text, .string("mine"))
        #expect(throws: Stop.self) {
            try world["ada"].engine.write { writer in
                try writer.update(World.document(4), [FieldOperation(World.Field.text, .set(.string("other")))])
                throw Stop()
            }
        }
        #expect(try text(world) == .string("mine"))
        #expect(world["ada"].storage.keptObjects == [World.document(4)])
    }

    @Test func aRejectionIsToldAgainAfterARestartUntilSomebodyHasHeard() throws {
        let world = try world(keeps: false)
        try world.update("ada", 4, World.Field.text, .string("mine"))
        #expect(try text(world) == .string("of all"))
        try world.restart("ada")
        let unreported = world["ada"].engine.unreportedRejections
        #expect(unreported.map(\.rejectedValues) == [["text": .string("mine")]])
        #expect(unreported.map(\.reason.code) == [.notPermitted])
        world["ada"].engine.noteReported(unreported[0])
        try world.restart("ada")
        #expect(world["ada"].engine.unreportedRejections.isEmpty)
    }
}
