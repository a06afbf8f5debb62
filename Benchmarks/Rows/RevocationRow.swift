import SluiceModel
import SluiceServer
import SluiceWire

/// A4: from the commit that takes a right away to the last removal in the queues of the connections, with many sessions:
/// one user leaves a team, and a team's document goes to another team.
struct RevocationRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() throws -> [Measurement] {
        let count = workbench.options.size(10_000, quick: 40)
        let (few, many) = (try run(count / 4), try run(count))
        let title = "revocation with \(Double(count).shown) sessions, p99"
        return [
            Measurement(
                .revocation, "\(title): a user leaves a team", ours: many.leaving.percentile(0.99) * 1e3,
                floor: few.leaving.percentile(0.99) * 1e3, unit: "ms", goal: .atMost(100)),
            Measurement(
                .revocation, "\(title): a team loses a document, \(many.memberCount) removals",
                ours: many.moving.percentile(0.99) * 1e3, floor: few.moving.percentile(0.99) * 1e3, unit: "ms",
                goal: .atMost(100)),
            Measurement(
                .revocation, "\(title): all of a team leave it, \(many.memberCount) removals",
                ours: many.dissolving * 1e3, floor: few.dissolving * 1e3, unit: "ms", goal: .atMost(100)),
        ]
    }

    private struct Run {
        var leaving: [Double] = []
        var moving: [Double] = []
        var dissolving = 0.0
        var memberCount = 0
    }

    private func run(_ userCount: Int) throws -> Run {
        let (teamCount, teamsOfUser) = (workbench.options.size(200, quick: 8), 5)
        let documentCount = 10
        func teams(of user: Int) -> [Int] { (0..<teamsOfUser).map { (user + $0 * (user % 7 + 1)) % teamCount } }
        let world = try AccessWorld(rules: AccessWorld.rules(reading: "team IN $user.teams")) { filler in
            for team in 0..<teamCount {
                try filler.insert(AccessWorld.team, .int(Int64(team)), [.int(Int64(team))])
                for number in 0..<documentCount {
                    try filler.insertDocument(team * documentCount + number, owner: "nobody", group: 1, team: team)
                }
            }
            for user in 0..<userCount {
                for (place, team) in teams(of: user).enumerated() {
                    let key = Int64(user * teamsOfUser + place)
                    try filler.insert(
                        AccessWorld.membership, .int(key),
                        [.int(key), .string("u\(user)"), .link(.int(Int64(team)))])
                }
            }
        }
        var sessions: [SessionID] = []
        for user in 0..<userCount {
            let id = try world.open("u\(user)")
            let count = try world.subscribe(id, "Document EXCLUDE(team)")
            try check(count, is: Set(teams(of: user)).count * documentCount, "the documents of a user")
            sessions.append(id)
        }
        var run = Run()
        let roundCount = workbench.options.size(200, quick: 5)
        for round in 0..<roundCount {
            let user = round * 37 % userCount
            let commit = world.delete(AccessWorld.membership, [.int(Int64(user * teamsOfUser))])
            let removed = try removedCount(commit, sessions[user])
            try check(removed, is: removed == 0 ? 0 : documentCount, "what left a user's view")
            run.leaving.append(commit.seconds)
        }
        for round in 0..<roundCount {
            let (from, to) = (round % teamCount, (round + teamCount / 2) % teamCount)
            let commit = world.change(
                from * documentCount + round / teamCount, AccessWorld.Field.team, to: .link(.int(Int64(to))))
            run.memberCount = max(run.memberCount, commit.receiverCount)
            run.moving.append(commit.seconds)
        }
        let last = teamCount - 1
        let keys = (0..<userCount).flatMap { user in
            teams(of: user).enumerated().filter { $0.element == last }.map {
                ObjectKey.int(Int64(user * teamsOfUser + $0.offset))
            }
        }
        run.dissolving = world.delete(AccessWorld.membership, keys).seconds
        return run
    }

    private func removedCount(_ commit: AccessWorld.Commit, _ id: SessionID) throws -> Int {
        try AccessWorld.messages(of: commit.actions, to: id).reduce(0) { count, message in
            guard case .commit(let commit) = message else { return count }
            return count + commit.blocks.reduce(0) { $0 + $1.content.departures.count }
        }
    }
}
