import SluiceModel
import SluiceServer

/// A1: many sessions under one rule that is the same for all, beside as many without rules: the views that they need,
/// how often a commit is encoded, and what it costs to hand it to all of them.
struct SharedRuleRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    private struct Run {
        var seconds = 0.0
        var viewCount = 0
        var encodedCount = 0
    }

    func measure() throws -> [Measurement] {
        let count = workbench.options.size(100_000, quick: 100)
        let (few, many) = (try run(count / 4, hasRules: true), try run(count, hasRules: true))
        let without = try run(count, hasRules: false)
        let title = "\(Double(count).shown) sessions under one rule"
        return [
            Measurement(.sharedRule, "\(title): views", ours: Double(many.viewCount), unit: "views", goal: .atMost(1)),
            Measurement(
                .sharedRule, "\(title): encodings of a commit", ours: Double(many.encodedCount), unit: "blocks",
                goal: .atMost(1)),
            Measurement(
                .sharedRule, "\(title): a commit for one, beside one without rules",
                ours: many.seconds * 1e6 / Double(count), floor: without.seconds * 1e6 / Double(count), unit: "µs",
                goal: .ratioAtMost(1.1)),
            Measurement(
                .sharedRule, "\(title): the same, beside a quarter as many sessions",
                ours: many.seconds * 1e6 / Double(count), floor: few.seconds * 4e6 / Double(count), unit: "µs",
                goal: .ratioAtMost(1.5)),
        ]
    }

    private func run(_ count: Int, hasRules: Bool) throws -> Run {
        let world = try AccessWorld(rules: hasRules ? AccessWorld.rules(reading: "group == 1") : nil) { filler in
            for number in 0..<20 { try filler.insertDocument(number, owner: "nobody", group: 1) }
        }
        for number in 0..<count {
            let id = try world.open("u\(number)")
            try check(try world.subscribe(id, "Document EXCLUDE(team)"), is: 20, "the documents of a user")
        }
        var times: [Double] = []
        var run = Run(viewCount: world.engine.liveViewCount)
        for round in 0..<9 {
            let commit = world.change(round, AccessWorld.Field.text, to: .string("text \(round)"))
            // The writer is told too.
            try check(commit.receiverCount, is: count + 1, "the sessions that were told of a commit")
            times.append(commit.seconds)
            run.encodedCount = max(run.encodedCount, commit.encodedCount)
        }
        run.seconds = times.median
        return run
    }
}
