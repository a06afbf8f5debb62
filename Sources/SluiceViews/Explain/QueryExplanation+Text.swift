internal import FoundationEssentials

extension QueryExplanation: CustomStringConvertible {
    /// The explanation for people, in several lines.
    public var description: String {
        var lines = ["query    \(query)", "hash     \(hash)"]
        if let plan {
            lines += Self.lines(plan, "sql")
        } else {
            let isLookup = query.hasPrefix("OBJECT(")
            lines.append("plan     " + (isLookup ? "a lookup by the object's id" : "none: the query shows no objects"))
        }
        if let totalPlan { lines += Self.lines(totalPlan, "total") }
        if !wantedIndexes.isEmpty {
            lines += Self.block("wanted", wantedIndexes.map(Self.line) + [wantedIndexRemark].compactMap(\.self))
        }
        lines += Self.block("view", view.lines)
        let width = writes.map { $0.title.count }.max() ?? 0
        lines += Self.block(
            "writes",
            writes.map { write in
                let effects = write.effects.isEmpty ? "nothing" : write.effects.map(\.phrase).joined(separator: ", ")
                return write.title + String(repeating: " ", count: width - write.title.count + 2) + effects
            })
        return lines.joined(separator: "\n")
    }

    /// The explanation as one line of JSON, with its members in alphabetical order.
    public var json: String {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            return String(decoding: try encoder.encode(self), as: UTF8.self)
        }
    }

    /// Decodes what ``json`` encodes.
    package init(json: some Sequence<UInt8>) throws {
        self = try JSONDecoder().decode(QueryExplanation.self, from: Data(json))
    }

    /// - Parameter title: stands before the statement.
    private static func lines(_ plan: Plan, _ title: String) -> [String] {
        block(title, [plan.sql]) + plan.parameters.enumerated().map { "         ?\($0 + 1) = \($1)" }
            + block("plan", plan.steps) + block("indexes", plan.indexes.map(line))
    }

    private static func block(_ title: String, _ lines: [String]) -> [String] {
        let lines = lines.isEmpty ? ["none"] : lines
        return lines.enumerated().map { number, line in
            let margin = number == 0 ? title : ""
            return margin + String(repeating: " ", count: 9 - margin.count) + line
        }
    }

    private static func line(_ index: Index) -> String {
        "\(index.className)(\(index.properties.joined(separator: ", ")))  \(index.origin.rawValue)  \(index.name)"
    }
}

extension QueryExplanation.WriteCost {
    fileprivate var title: String { className + "." + property }
}

extension QueryExplanation.Effect {
    fileprivate var phrase: String {
        switch self {
        case .evaluatesPredicate: "evaluates the predicate"
        case .movesInWindow: "moves in the window"
        case .findsRoots: "finds results through links"
        case .walksLinks: "walks links"
        case .sendsValue: "sends the value"
        case .computesFigure: "changes what is computed"
        }
    }
}

extension QueryExplanation.View {
    fileprivate var lines: [String] {
        var lines: [String] = []
        if let condition {
            let how =
                switch method {
                case .equality: "by value"
                case .list: "by one of several values"
                case .prefix: "by prefix"
                case .part: "by a part of the text"
                case .range: "by range"
                case .link: "by a linked object"
                case .computed: "by a computed value"
                case .alternatives: "by any of these"
                case .scan: "by class"
                }
            lines.append("found \(how): \(condition)")
        } else {
            lines.append("found by class: every change of it is looked at")
        }
        if !otherClasses.isEmpty { lines.append("and by every change of \(otherClasses.joined(separator: ", "))") }
        if let windowCapacity { lines.append("holds a window of at most \(windowCapacity) rows") }
        if let computes {
            let what = computes.joined(separator: ", ")
            lines.append("computes \(what) over everything that matches, then adds what comes and takes away what goes")
        }
        if let groups { lines.append("holds a group for each value of \(groups.joined(separator: ", "))") }
        if counts == true {
            lines.append("counts what matches once, unless a view of the same condition has, then adds what comes and")
            lines.append("takes away what goes, also beyond the window")
        }
        if !linkedClasses.isEmpty { lines.append("holds linked objects of \(linkedClasses.joined(separator: ", "))") }
        if !holdsMembers { lines.append("holds nothing: membership follows from the predicate") }
        return lines
    }
}
