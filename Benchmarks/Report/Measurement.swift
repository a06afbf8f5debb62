/// One line of the table.
struct Measurement: Encodable {
    /// How a value compares to its goal.
    enum Goal {
        /// Ours divided by the floor.
        case ratioAtLeast(Double)
        case atLeast(Double)
        case atMost(Double)
        /// Ours divided by the floor, where less is better.
        case ratioAtMost(Double)
        /// Shown for information, without a goal.
        case none
    }

    let row: String
    let name: String
    let ours: Double
    let floor: Double?
    let unit: String
    let goal: Goal
    /// All measured values, by name and run.
    let samples: [String: [Double]]

    init(
        _ row: Row, _ name: String, ours: Double, floor: Double? = nil, unit: String, goal: Goal,
        samples: [String: [Double]] = [:]
    ) {
        self.row = row.rawValue
        self.name = name
        self.ours = ours
        self.floor = floor
        self.unit = unit
        self.goal = goal
        self.samples = samples
    }

    /// Makes a line of the medians of several runs.
    init(_ row: Row, _ name: String, ours: [Double], floor: [Double], unit: String, goal: Goal) {
        self.init(
            row, name, ours: ours.median, floor: floor.median, unit: unit, goal: goal,
            samples: ["ours": ours, "floor": floor])
    }

    var ratio: Double? { floor.map { ours / $0 } }

    /// Whether the goal is met; nil where there is none.
    var isMet: Bool? {
        switch goal {
        case .ratioAtLeast(let goal): ratio.map { $0 >= goal }
        case .ratioAtMost(let goal): ratio.map { $0 <= goal }
        case .atLeast(let goal): ours >= goal
        case .atMost(let goal): ours <= goal
        case .none: nil
        }
    }

    var goalText: String {
        switch goal {
        case .ratioAtLeast(let goal): "≥ \(goal) × floor"
        case .ratioAtMost(let goal): "≤ \(goal) × floor"
        case .atLeast(let goal): "≥ \(goal.shown) \(unit)"
        case .atMost(let goal): "≤ \(goal.shown) \(unit)"
        case .none: ""
        }
    }

    private enum CodingKeys: String, CodingKey {
        case row, name, ours, floor, ratio, unit, goal, isMet, samples
    }

    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(row, forKey: .row)
        try container.encode(name, forKey: .name)
        try container.encode(ours, forKey: .ours)
        try container.encode(floor, forKey: .floor)
        try container.encode(ratio, forKey: .ratio)
        try container.encode(unit, forKey: .unit)
        try container.encode(goalText, forKey: .goal)
        try container.encode(isMet, forKey: .isMet)
        try container.encode(samples, forKey: .samples)
    }
}
