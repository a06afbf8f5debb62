import SluiceModel

/// A6: commits to a class, beside sessions that read another class by rules, and beside as many without rules.
struct UntouchedRuleRow {
    private let workbench: Workbench

    init(_ workbench: Workbench) { self.workbench = workbench }

    func measure() throws -> [Measurement] {
        let count = workbench.options.size(1_000, quick: 20)
        var (ours, floor): ([Double], [Double]) = ([], [])
        for _ in 0..<max(3, workbench.options.runCount) {
            ours.append(try run(count, rules: AccessWorld.rules(reading: "owner == $user.id OR team IN $user.teams")))
            floor.append(try run(count, rules: AccessWorld.rules(reading: "FALSEPREDICATE")))
        }
        return [
            Measurement(
                .untouchedRule, "a commit to a class that \(Double(count).shown) users' rules do not concern",
                ours: ours, floor: floor, unit: "µs", goal: .ratioAtMost(1.05))
        ]
    }

    /// - Returns: microseconds.
    private func run(_ userCount: Int, rules: String) throws -> Double {
        let world = try AccessWorld(rules: rules) { filler in
            for number in 0..<50 {
                try filler.insert(AccessWorld.note, .int(Int64(number)), [.int(Int64(number)), .string("a note")])
                try filler.insertDocument(number, owner: "u\(number)", group: 1)
            }
        }
        for user in 0..<userCount { try world.subscribe(try world.open("u\(user)"), "Document EXCLUDE(team)") }
        let times = (0..<workbench.options.size(2_000, quick: 20)).map { round in
            world.commit([
                ObjectOperation(
                    ObjectRef(AccessWorld.note, .int(Int64(round % 50))),
                    .update([FieldOperation(1, .set(.string("note \(round)")))]))
            ]).seconds
        }
        return times.median * 1e6
    }
}
