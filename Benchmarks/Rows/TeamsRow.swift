import CAllocationCounter
import SluiceJSON
import SluiceModel
import SluiceServer

/// A3: users with 50 of 5,000 teams each, who subscribe to one query: the views that the server keeps current, the
/// memory of a user's session with its subscription, and what a write to one team's document finds and costs.
struct TeamsRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    private struct Run {
        var viewCount = 0
        var byteCount = 0.0
        var seconds = 0.0
        var found = 0
        var encodedCount = 0
        var receiverCount = 0
    }

    func measure() throws -> [Measurement] {
        // More users than this take longer to log in than the other rows together.
        let userCount = workbench.options.size(20_000, quick: 40)
        let teamCount = workbench.options.size(5_000, quick: 20)
        let few = try run(users: userCount / 4, teams: teamCount)
        let many = try run(users: userCount, teams: teamCount)
        let whole = try run(users: userCount / 4, teams: teamCount, isDivided: false)
        let title = "\(Double(userCount).shown) users with 50 of \(Double(teamCount).shown) teams"
        return [
            Measurement(
                .teams, "\(title): views", ours: Double(many.viewCount), floor: Double(few.viewCount), unit: "views",
                goal: .atMost(Double(teamCount))),
            Measurement(
                .teams, "\(title): found by a write", ours: Double(many.found), floor: Double(few.found), unit: "views",
                goal: .atMost(2)),
            Measurement(
                .teams, "\(title): encodings of a write", ours: Double(many.encodedCount), unit: "blocks",
                goal: .atMost(1)),
            Measurement(
                .teams, "\(title): memory of a session and its subscription", ours: many.byteCount,
                floor: few.byteCount, unit: "bytes", goal: .ratioAtMost(1.1)),
            Measurement(
                .teams, "\(Double(userCount / 4).shown) of them: the same, beside views of whole rules",
                ours: few.byteCount, floor: whole.byteCount, unit: "bytes", goal: .none),
            Measurement(
                .teams, "\(title): a write, for each of \(many.receiverCount) receivers",
                ours: many.seconds * 1e6 / Double(many.receiverCount),
                floor: few.seconds * 1e6 / Double(few.receiverCount), unit: "µs", goal: .ratioAtMost(1.5)),
            Measurement(
                .teams, "\(Double(userCount / 4).shown) of them: a write, beside views of whole rules",
                ours: few.seconds * 1e6, floor: whole.seconds * 1e6, unit: "µs", goal: .ratioAtMost(1)),
        ]
    }

    /// - Parameter isDivided: whether views are found by atoms, and not by whole rules.
    private func run(users userCount: Int, teams teamCount: Int, isDivided: Bool = true) throws -> Run {
        let teamsOfUser = 50
        var limits = DatabaseLimits()
        if !isDivided { limits.atomCountMax = 1 }
        let rules = AccessWorld.rules(reading: "group IN $user.claims.teams")
        let world = try AccessWorld(rules: rules, limits: limits) { filler in
            for number in 0..<teamCount { try filler.insertDocument(number, owner: "nobody", group: number) }
        }
        let before = held_byte_count()
        for number in 0..<userCount {
            // Different for each user, and alike for no two teams.
            let first = Int(Mixer.mix(number) % UInt64(teamCount))
            let step = 1 + number % 89
            let teams = Set((0..<teamsOfUser).map { (first + $0 * step) % teamCount })
            let claim = JSONValue.array(teams.sorted().map { .integer(Int64($0)) })
            let id = try world.open("u\(number)", claims: ["teams": claim])
            try check(try world.subscribe(id, "Document EXCLUDE(team)"), is: teams.count, "the documents of a user")
        }
        var run = Run(
            viewCount: world.engine.liveViewCount, byteCount: Double(held_byte_count() - before) / Double(userCount))
        var times: [Double] = []
        for round in 0..<workbench.options.size(100, quick: 5) {
            let commit = world.change(round * 7 % teamCount, AccessWorld.Field.text, to: .string("text \(round)"))
            times.append(commit.seconds)
            run.found = max(run.found, commit.foundCount)
            run.encodedCount = max(run.encodedCount, commit.encodedCount)
            run.receiverCount += commit.receiverCount
        }
        run.receiverCount /= times.count
        run.seconds = times.reduce(0, +) / Double(times.count)
        return run
    }
}
