import SluiceModel
import SluiceServer

/// A5: some users lose a role by which they read 100,000 objects: how often the departures are encoded, and how long
/// everybody else waits.
struct RoleChangeRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() throws -> [Measurement] {
        let count = workbench.options.size(100_000, quick: 400)
        let userCount = 16
        let few = try run(objects: count, users: userCount / 4)
        let many = try run(objects: count, users: userCount)
        let title = "\(userCount) users lose a role over \(Double(count).shown) objects"
        return [
            Measurement(
                .roleChange, "\(title): encodings", ours: Double(many.encodedCount), floor: Double(few.encodedCount),
                unit: "blocks", goal: .atMost(1)),
            Measurement(
                .roleChange, "\(title): nobody else is served for", ours: many.seconds * 1e3,
                floor: few.seconds * 1e3, unit: "ms", goal: .atMost(10)),
        ]
    }

    private func run(objects count: Int, users userCount: Int) throws -> AccessWorld.Commit {
        let rules = AccessWorld.rules(reading: "$role.editor OR owner == $user.id")
        let world = try AccessWorld(rules: rules) { filler in
            for number in 0..<count { try filler.insertDocument(number, owner: "nobody", group: 1) }
            for user in 0..<userCount {
                try filler.insert(AccessWorld.editor, .string("u\(user)"), [.string("u\(user)")])
            }
        }
        for user in 0..<userCount {
            let id = try world.open("u\(user)")
            try check(try world.subscribe(id, "Document EXCLUDE(team)"), is: count, "the documents of an editor")
        }
        let commit = world.delete(AccessWorld.editor, (0..<userCount).map { .string("u\($0)") })
        try check(commit.receiverCount, is: userCount + 1, "the sessions that were told")
        return commit
    }
}
