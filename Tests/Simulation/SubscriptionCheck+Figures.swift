import FoundationEssentials
import Sluice
import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceViews

extension SubscriptionCheck {
    /// Whether a figure, or each part of it, is no infinite number and not NaN.
    private static func isFinite(_ figure: Value) -> Bool {
        switch figure {
        case .double(let number): number.isFinite
        case .float(let number): number.isFinite
        case .decimal(let number): !number.isNaN
        case .list(let parts): parts.allSatisfy(isFinite)
        default: true
        }
    }

    /// What the server has said that a query computes is right at the client's version, and what is shown has the pending
    /// writes in it, wherever it says that it is exact.
    func checkFigures(_ snapshot: ViewSnapshot) throws {
        guard let aggregates = query.aggregates, let expected = snapshot.groups else { return }
        guard let said = record.figures.flatMap(aggregates.groups) else {
            throw fail("was not told what it computes, or what nothing can be: \(record.figures ?? [])")
        }
        let columns = aggregates.shown(said).map(aggregates.columns)
        guard Self.areSame(columns, expected) else { throw fail("was told \(columns) instead of \(expected)") }
        guard let shown = try storage.groups(of: query) else { throw fail("shows no figures") }
        let moves = try pendingMoves()
        guard !moves.isEmpty else {
            // A write may hide behind a link that is not here.
            guard shown.isExact || !query.dependencies.linkPaths.isEmpty else {
                throw fail("shows \(shown) as not exact")
            }
            guard !shown.isExact || Self.areSame(shown.groups.map(aggregates.columns), expected) else {
                throw fail("shows \(shown) without pending writes instead of \(expected)")
            }
            return
        }
        guard shown.isExact, let right = try groups(after: moves) else {
            // Counts, sums and averages are exact where all groups are here and everything can be judged, unless a sum
            // was infinite or NaN when it was sent: what is taken from it leaves nobody knows what.
            let isExact =
                query.dependencies.linkPaths.isEmpty && aggregates.limit == nil && !moves.contains(where: { $0 == nil })
                && !aggregates.functions.contains(where: \.isExtreme)
                && said.allSatisfy { $0.figures.allSatisfy(Self.isFinite) }
            if isExact, try groups(after: moves) != nil, !shown.isExact { throw fail("shows \(shown) as not exact") }
            return
        }
        guard Self.areSame(shown.groups.map(aggregates.columns), right) else {
            throw fail("shows \(shown.groups.map(aggregates.columns)) with its pending writes instead of \(right)")
        }
    }

    /// What each object had in the server's image and has now, where that differs; nil for one that cannot be judged.
    private func pendingMoves() throws -> [(was: [Value]?, now: [Value]?)?] {
        let former = try formerObjects()
        let evaluator = Evaluator(query, schema: storage.schema)
        func values(_ object: ObjectRef, _ source: any ObjectSource) throws -> (isKnown: Bool, values: [Value]?) {
            guard let row = try source.row(object) else { return (true, nil) }
            guard try evaluator.isJudgeable(row, in: source) else { return (false, nil) }
            guard try evaluator.matches(row, in: source) else { return (true, nil) }
            return (true, try evaluator.sortValues(of: row, in: source))
        }
        var moves: [(was: [Value]?, now: [Value]?)?] = []
        for object in try decidedHere() where object.classIndex == query.classIndex {
            let (was, now) = (try values(object, former), try values(object, storage))
            // The server may have what was made here with a primary key.
            let isGuess: Bool = if case .id = object.key { false } else { try former.row(object) == nil }
            guard was.isKnown, now.isKnown, !isGuess else {
                moves.append(nil)
                continue
            }
            if was.values != now.values { moves.append((was.values, now.values)) }
        }
        return moves
    }

    /// What the query computes of all matches at the server's version with the pending writes; nil where the server has
    /// other values of an object than its last image here, since nothing keeps that current.
    ///
    /// Either side may know a property in a wider type than the other, so everything is computed in the wider ones.
    private func groups(after moves: [(was: [Value]?, now: [Value]?)?]) throws -> [[Value]]? {
        let (state, query) = try state.joined(with: storage.schema, for: record.canonicalText)
        guard let aggregates = query.aggregates else { return nil }
        func widened(_ values: [Value]) -> [Value]? {
            let wide = zip(query.positionPaths, values).compactMap { path, value -> Value? in
                guard case .scalar(let type) = path.type, !value.isNull else { return value }
                return PropertyType(.scalar(type)).fitting(value)
            }
            return wide.count == values.count ? wide : nil
        }
        var rows: [[Value]] = []
        try state.figureRows(of: query, Evaluator(query, schema: state.schema)) { rows.append($0) }
        for move in moves {
            guard let move else { return nil }
            if let was = move.was {
                guard let was = widened(was), let place = rows.firstIndex(of: was) else { return nil }
                rows.remove(at: place)
            }
            if let now = move.now {
                guard let now = widened(now) else { return nil }
                rows.append(now)
            }
        }
        return Self.columns(aggregates, rows)
    }

    /// Whether columns are the same, in types that may be wider.
    private static func areSame(_ left: [[Value]], _ right: [[Value]]) -> Bool {
        left.count == right.count
            && zip(left, right).allSatisfy { left, right in
                left.count == right.count && zip(left, right).allSatisfy { areSame($0, $1) }
            }
    }

    /// Averages of integers are doubles, and those of decimals have more digits.
    private static func areSame(_ left: Value, _ right: Value) -> Bool {
        switch (left, right) {
        case (.double(let double), .decimal(let decimal)), (.decimal(let decimal), .double(let double)):
            Double("\(decimal)") == double
        default: left == right || DecimalKey.compare(left, right) == 0
        }
    }

    private static func columns(_ aggregates: Query.Aggregates, _ rows: [[Value]]) -> [[Value]] {
        var members: [[Value]: [[Value]]] = aggregates.isGrouped ? [:] : [[]: []]
        for row in rows { members[Array(row.prefix(aggregates.groups.count)), default: []].append(row) }
        let groups = members.map { keys, rows in
            keys
                + aggregates.functions.map { function in
                    guard case .value(let operation, let path, let type) = function else {
                        return .int(Int64(rows.count))
                    }
                    var aggregation = Aggregation(operation, of: type)
                    for row in rows { aggregation.add(row[path]) }
                    return aggregation.result
                }
        }
        return Array(groups.sorted { aggregates.compare($0, $1) < 0 }.prefix(aggregates.limit ?? .max))
    }
}

extension Query.Aggregates.Function {
    fileprivate var isExtreme: Bool {
        if case .value(let operation, _, _) = self { operation == .minimum || operation == .maximum } else { false }
    }
}
