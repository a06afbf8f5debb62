internal import SluiceModel

/// Collects SORT, LIMIT and DISTINCT in written order, and joins neighbours of the same kind.
struct ClauseChain {
    private enum Clause {
        case sort([SortTerm])
        case limit(Int)
        case distinct([Query.Path])
    }

    /// The position of the primary key; sort keys after it have no effect, since it leaves no ties.
    let uniqueKey: Int?
    private var clauses: [Clause] = []
    /// The position of each clause in the text; of joined neighbours, that of the last.
    private var positions: [Int?] = []
    /// The part of the order that the results are taken from.
    private(set) var section = Query.Section()

    init(uniqueKey: Int?) { self.uniqueKey = uniqueKey }

    /// Adds a sort. Of two neighbours the later is the stronger one, as if the objects were sorted by the earlier one
    /// first.
    mutating func sort(by keys: [SortTerm], at position: Int?) {
        if case .sort(let earlier) = clauses.last {
            replaceLast(with: .sort(significant(keys + earlier)), at: position)
        } else {
            append(.sort(significant(keys)), at: position)
        }
    }

    mutating func limit(to limit: Int, at position: Int?) {
        if case .limit(let earlier) = clauses.last {
            replaceLast(with: .limit(min(limit, earlier)), at: position)
        } else {
            append(.limit(limit), at: position)
        }
    }

    mutating func makeDistinct(by paths: [Query.Path], at position: Int?) {
        let sorted = paths.sorted { UTF8Order.less($0.text, $1.text) }
        if case .distinct(let earlier) = clauses.last, earlier == sorted { return }
        append(.distinct(sorted), at: position)
    }

    /// The keys of the order so far, which a place needs a value for each of; nil where no place can stand, behind a limit
    /// or DISTINCT.
    var placedKeys: [SortTerm]? {
        switch (clauses.first, clauses.count) {
        case (nil, _): []
        case (.sort(let keys), 1): keys
        case (.sort, _), (.limit, _), (.distinct, _): nil
        }
    }

    /// Takes the results from one side of a place.
    mutating func place(_ side: QuerySyntax.PlaceSide, _ place: Query.Place) {
        switch side {
        case .after: section.after = place
        case .before: section.before = place
        }
    }

    private mutating func append(_ clause: Clause, at position: Int?) {
        clauses.append(clause)
        positions.append(position)
    }

    private mutating func replaceLast(with clause: Clause, at position: Int?) {
        clauses[clauses.count - 1] = clause
        positions[clauses.count - 1] = position
    }

    /// Whether a SORT, and not only a DISTINCT, reads a path.
    func sorts(by path: Query.Path) -> Bool {
        clauses.contains { if case .sort(let keys) = $0 { keys.contains { $0.path == path } } else { false } }
    }

    /// The keys that have an effect: each path once, and none after the primary key.
    private func significant(_ keys: [SortTerm]) -> [SortTerm] {
        var result: [SortTerm] = []
        for key in keys where !result.contains(where: { $0.path == key.path }) {
            result.append(key)
            if let property = key.path.plainProperty, property == uniqueKey { break }
        }
        return result
    }

    func checkLimits() throws(QueryError) {
        for (clause, position) in zip(clauses, positions) {
            let (count, what) =
                switch clause {
                case .sort(let keys): (keys.count, "sorts by")
                case .distinct(let paths): (paths.count, "is distinct by")
                case .limit: (0, "")
                }
            guard count <= QueryLimits.sortKeyCountMax else {
                throw QueryError(
                    .limitExceeded, "the query \(what) \(count) keys; the limit is \(QueryLimits.sortKeyCountMax)",
                    at: position)
            }
        }
        guard clauses.count <= QueryLimits.stageCountMax else {
            throw QueryError(
                .limitExceeded,
                "the query has \(clauses.count) clauses in turn; the limit is \(QueryLimits.stageCountMax)",
                at: positions[QueryLimits.stageCountMax])
        }
    }

    // MARK: The result

    func checked() -> CheckedClauses {
        var result = CheckedClauses()
        result.text = text(of: clauses)
        result.section = section
        switch (clauses.first, clauses.dropFirst().first, clauses.count) {
        case (.sort(let keys), .limit(let limit), 2):
            (result.sort, result.limit) = (keys, limit)
            result.textWithoutLimit = text(of: clauses.dropLast())
        case (.sort(let keys), nil, 1): result.sort = keys
        case (.limit(let limit), nil, 1):
            result.limit = limit
            result.textWithoutLimit = text(of: [])
        default:
            for case .sort(let keys) in clauses { result.sort = significant(keys + result.sort) }
            var positions = result.sort.map(\.path)
            result.stages = stages(&positions)
            result.positionPaths = positions
            return result
        }
        result.positionPaths = result.sort.map(\.path)
        return result
    }

    /// - Parameter positions: the paths of the final sort; the other paths that the stages read are appended.
    private func stages(_ positions: inout [Query.Path]) -> [Query.Stage] {
        func position(_ path: Query.Path) -> Int {
            if let known = positions.firstIndex(of: path) { return known }
            positions.append(path)
            return positions.count - 1
        }
        var order: [SortTerm] = []
        var stages: [Query.Stage] = []
        for clause in clauses {
            let filter: Query.Stage.Filter
            switch clause {
            case .sort(let keys):
                order = significant(keys + order)
                continue
            case .limit(let limit): filter = .limit(limit)
            case .distinct(let paths): filter = .distinct(paths.map(position))
            }
            let keys = order.map { Query.Stage.Key(position: position($0.path), isAscending: $0.isAscending) }
            stages.append(Query.Stage(order: keys, filter: filter))
        }
        return stages
    }

    private func text(of clauses: [Clause]) -> String {
        var texts = clauses.map { clause in
            switch clause {
            case .sort(let keys):
                let keys = keys.map { "\($0.path.text) \($0.isAscending ? "ASC" : "DESC")" }
                return " SORT(\(keys.joined(separator: ", ")))"
            case .limit(let limit): return " LIMIT(\(limit))"
            case .distinct(let paths): return " DISTINCT(\(paths.map(\.text).joined(separator: ", ")))"
            }
        }
        let isSorted = if case .sort? = clauses.first { true } else { false }
        texts.insert(sectionText, at: isSorted ? 1 : 0)
        return texts.joined()
    }

    /// The places in canonical form, each after a blank.
    private var sectionText: String {
        [(QuerySyntax.PlaceSide.after, section.after), (.before, section.before)].map { side, place in
            guard let place else { return "" }
            let values = (place.values + [place.key.value]).map { CanonicalText.literal($0) }
            return " \(side.rawValue)(\(values.joined(separator: ", ")))"
        }.joined()
    }
}
