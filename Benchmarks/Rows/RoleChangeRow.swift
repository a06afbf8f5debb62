import SluiceModel
import SluiceServer
import SluiceWire

/// A5: some users lose a role by which they read 100,000 objects: how long everybody else waits, while their clients list
/// what they have and are sent what leaves.
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
                .roleChange, "\(title): nobody else is served for", ours: many.longestTurn * 1e3,
                floor: few.longestTurn * 1e3, unit: "ms", goal: .atMost(10)),
            Measurement(
                .roleChange, "\(title): until the last departure is sent", ours: many.seconds, floor: few.seconds,
                unit: "s", goal: .none),
        ]
    }

    private struct Run {
        /// The longest that the database's queue was held.
        var longestTurn = 0.0
        var seconds = 0.0
    }

    /// In a file, since a database in memory has one connection, which then finds everything itself.
    private func run(objects count: Int, users userCount: Int) throws -> Run {
        let rules = AccessWorld.rules(reading: "$role.editor OR owner == $user.id")
        let world = try AccessWorld(rules: rules, path: workbench.freshPath("role")) { filler in
            for number in 0..<count { try filler.insertDocument(number, owner: "nobody", group: 1) }
            for user in 0..<userCount {
                try filler.insert(AccessWorld.editor, .string("u\(user)"), [.string("u\(user)")])
            }
        }
        var sessions: [SessionID] = []
        for user in 0..<userCount {
            sessions.append(try world.open("u\(user)"))
            let found = try world.subscribe(sessions[user], "Document EXCLUDE(team)")
            try check(found, is: count, "the documents of an editor")
        }
        let start = ContinuousClock.now
        let commit = world.delete(AccessWorld.editor, (0..<userCount).map { .string("u\($0)") })
        let rest = try world.finish(sessions, asked: commit.actions, having: 0..<count)
        var run = Run()
        run.seconds = (ContinuousClock.now - start) / .seconds(1)
        run.longestTurn = max(commit.seconds, rest.longestTurn)
        for id in sessions {
            let messages = try AccessWorld.messages(of: commit.actions + rest.actions, to: id)
            try check(membersLeft(of: count, after: messages), is: 0, "what a user has of the documents")
        }
        return run
    }

    /// How many of its members a client has after messages: all but what they say has departed, or what a bootstrap has
    /// brought instead.
    private func membersLeft(of count: Int, after messages: [ServerMessage]) -> Int {
        messages.reduce(count) { count, message in
            switch message {
            case .page(let page) where page.kind == .bootstrap: page.content.objects.count
            case .page(let page): count - page.content.departures.count
            case .commit(let commit): commit.blocks.reduce(count) { $0 - $1.content.departures.count }
            default: count
            }
        }
    }
}
