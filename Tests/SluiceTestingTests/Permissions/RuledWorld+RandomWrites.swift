import Sluice
import SluiceModel
import SluiceStorage
import TestSupport

extension RuledWorld {
    /// Changes rights, teams, documents and their teams at random while two users observe queries, in a store and on a
    /// page, which comes and goes.
    ///
    /// - Parameter check: called after each change, with each query.
    static func writeAtRandom(
        seed: UInt64, observing queries: [String], _ check: (RuledWorld, String) throws -> Void
    ) throws {
        var random = SeededGenerator(seed: seed)
        let world = try RuledWorld(users: ["ada", "bob"])
        func document(_ key: Int64) -> Row {
            Self.document(key, team: random.pick([nil, 7, 8]), isPublic: Int.random(in: 0..<4, using: &random) == 0)
        }
        for team in [7, 8] as [Int64] { try world.setTeam(team, random.pick([[], ["ada"], ["bob"], ["ada", "bob"]])) }
        for key in 1...8 as ClosedRange<Int64> { try world.create(document(key)) }
        for user in ["ada", "bob"] {
            let reader = world.addReader(user)
            for query in queries {
                try world.observe(user, query)
                reader.observe(query)
            }
            world.settle()
        }
        for step in 0..<40 {
            if step % 5 == 4 {
                let reader = random.pick(world.readers)
                reader.isConnected ? world.disconnect(reader) : world.connect(reader)
            }
            let key = Int64.random(in: 1...10, using: &random)
            switch Int.random(in: 0..<6, using: &random) {
            case 0: try world.setTeam(random.pick([7, 8]), random.pick([[], ["ada"], ["bob"], ["ada", "bob"]]))
            case 1: try world.write("root") { try? $0.delete(Self.document(key)) }
            case 2 where try world.server.row(Self.document(key)) != nil:
                try world.update("root", key, Field.text, .string(random.pick(["x", "y"])))
            case 3 where try world.server.row(Self.document(key)) != nil:
                try world.update("root", key, Field.team, random.pick([.null, .link(.int(7)), .link(.int(8))]))
            default: if try world.server.row(Self.document(key)) == nil { try world.create(document(key)) }
            }
            for query in queries { try check(world, query) }
        }
    }
}
