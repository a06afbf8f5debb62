package import SluiceModel

extension Query {
    /// What a query with AGGREGATE computes over everything that its condition finds, in one group or in several.
    ///
    /// Such a query has no results: what it computes are its *figures*. It reads ``Query/positionPaths`` of each match:
    /// first the keys of GROUP, then what the functions work on.
    package struct Aggregates: Sendable {
        /// What is computed of a group.
        package enum Function: Hashable, Sendable {
            /// How many objects there are.
            case count
            /// An aggregate of the values of a path, which have a type.
            case value(AggregateOperation, path: Int, ScalarType)
        }

        /// A key of the order of the groups.
        package struct OrderKey: Hashable, Sendable {
            /// The position among a group's columns: its keys, then its functions.
            package let column: Int
            package let isAscending: Bool
        }

        /// In written order, each once.
        package let functions: [Function]
        /// The functions in the query language, such as `@avg.dep_delay`.
        package let names: [String]
        /// The paths whose values make a group; empty for one group of everything, which is there without a match too.
        package let groups: [Path]
        /// The order of the groups. Ties, and what has no order, are ascending by the groups' keys.
        package let order: [OrderKey]
        /// The most groups, the first in the order; nil for all.
        package let limit: Int?

        /// Whether there may be any number of groups.
        package var isGrouped: Bool { !groups.isEmpty }

        /// The names of a group's columns: of its keys, then of its functions.
        package var columnNames: [String] { groups.map(\.text) + names }
    }
}

extension Query {
    /// The same query over the objects of one group of it, and maybe of others.
    ///
    /// - Parameter keys: the values of GROUP's paths.
    package func inGroup(_ keys: [Value]) -> Query {
        guard let aggregates, !keys.isEmpty else { return self }
        // NaN equals nothing, so those who read have to look at the keys.
        let conditions = zip(aggregates.groups, keys).filter { !$1.isNotANumber }.map { path, key in
            Predicate.comparison(
                Comparison(.each(.any, .any), .path(path), .equal, .constant(key), ignoresCase: false))
        }
        var clauses = CheckedClauses()
        clauses.limit = 0
        clauses.positionPaths = positionPaths
        clauses.aggregates = aggregates
        return Query(.conjunction([predicate] + conditions), onClass: classIndex, className, clauses).read(in: context)
    }
}

/// What a query has computed of one group, in the form in which it is sent and stored.
///
/// The figure of `@count` is the number of objects, that of `@min` and `@max` the value or null. That of `@sum` is a list
/// of numbers whose exact sum is the sum, and that of `@avg` such a list with the number of values before it: so whoever
/// has it can add to it and take from it without an error.
package struct GroupFigures: Hashable, Sendable {
    /// The values of the group's paths; empty where there is one group of everything.
    package var keys: [Value]
    /// How many objects the group has.
    package var count: Int
    /// One figure for each function.
    package var figures: [Value]

    package init(keys: [Value] = [], count: Int, figures: [Value]) {
        self.keys = keys
        self.count = count
        self.figures = figures
    }
}

extension GroupFigures {
    /// The group as one value: a list of its keys, as a list, its count, and its figures.
    package var value: Value { .list([.list(keys), .int(Int64(count))] + figures) }

    /// The group that ``value`` is; nil if the value is none.
    package init?(_ value: Value) {
        guard case .list(let parts) = value, parts.count >= 2, case .list(let keys) = parts[0],
            case .int(let count) = parts[1]
        else { return nil }
        self.init(keys: keys, count: Int(count), figures: Array(parts[2...]))
    }
}

extension Query.Aggregates {
    /// Figures in the form in which they are sent and stored: of a query without GROUP its figures, else one value for each
    /// group.
    package func values(of groups: [GroupFigures]) -> [Value] {
        isGrouped ? groups.map(\.value) : groups.first?.figures ?? []
    }

    /// The groups that ``values(of:)`` gave, in the types that the query's paths have; nil if they cannot be of this query.
    package func groups(_ values: [Value]) -> [GroupFigures]? {
        guard isGrouped else { return fitting(GroupFigures(count: 0, figures: values)).map { [$0] } }
        guard values.count <= limit.map({ min($0, Self.groupCountMax) }) ?? Self.groupCountMax else { return nil }
        var groups: [GroupFigures] = []
        groups.reserveCapacity(values.count)
        for value in values {
            guard let group = GroupFigures(value).flatMap(fitting) else { return nil }
            groups.append(group)
        }
        return groups
    }

    /// The change that ``FigureChange/values`` gave, in the types that the query's paths have; nil if it cannot be of this
    /// query.
    package func change(_ values: [Value]) -> FigureChange? {
        guard isGrouped else { return groups(values).map { FigureChange(changed: $0) } }
        var change = FigureChange()
        for value in values {
            if case .list(let parts) = value, parts.count == 1, case .list(let keys) = parts[0] {
                guard let keys = fitting(keys) else { return nil }
                change.removed.append(keys)
            } else {
                guard let group = GroupFigures(value).flatMap(fitting) else { return nil }
                change.changed.append(group)
            }
        }
        return change
    }

    /// A group in the types that the query's paths have, which may be wider than those that it was computed in; nil if it
    /// cannot be of this query.
    private func fitting(_ group: GroupFigures) -> GroupFigures? {
        guard let keys = fitting(group.keys), Figure.counts.contains(Int64(group.count)),
            group.figures.count == functions.count
        else { return nil }
        var figures: [Value] = []
        for (function, figure) in zip(functions, group.figures) {
            guard let known = Figure(function, from: figure) else { return nil }
            figures.append(known.value)
        }
        return GroupFigures(keys: keys, count: group.count, figures: figures)
    }

    private func fitting(_ keys: [Value]) -> [Value]? {
        guard keys.count == groups.count else { return nil }
        var fitting: [Value] = []
        for (path, key) in zip(groups, keys) {
            switch (path.type, key) {
            case (_, .null), (.link, .link): fitting.append(key)
            case (.scalar(let type), _):
                guard let value = PropertyType(.scalar(type)).nearest(key) else { return nil }
                fitting.append(value)
            case (.link, _): return nil
            }
        }
        return fitting
    }

    /// The most groups that a query may have, shown or not. More make it end with an error.
    package static let groupCountMax = 10_000
    /// The most bytes that the keys of all groups take.
    package static let groupSizeMax = 1 << 20

    /// The order of groups by their columns: negative if the left one comes first, zero only for the same keys.
    package func compare(_ left: [Value], _ right: [Value]) -> Int {
        for key in order {
            let order = Value.compare(left[key.column], right[key.column])
            if order != 0 { return key.isAscending ? order : -order }
        }
        for column in groups.indices {
            let order = Value.compare(left[column], right[column])
            if order != 0 { return order }
        }
        return 0
    }

    /// The columns of a group as they are shown: its keys, then the result of each function.
    package func columns(of group: GroupFigures) -> [Value] { group.keys + results(of: group.figures) }

    /// What the functions give, one value each.
    package func results(of figures: [Value]) -> [Value] {
        zip(functions, figures).map { Figure($0, from: $1)?.result ?? .null }
    }

    /// The groups as a query shows them: in order, and no more than its limit.
    package func shown(_ groups: [GroupFigures]) -> [GroupFigures] {
        let sorted = groups.map { ($0, columns(of: $0)) }.sorted { compare($0.1, $1.1) < 0 }
        return sorted.prefix(limit ?? .max).map(\.0)
    }
}

/// Why the figures of a query cannot be computed.
package struct FigureError: Error, Hashable, Sendable {
    package let message: String

    static let tooManyGroups = FigureError(
        message: "the query has more than \(Query.Aggregates.groupCountMax) groups, the most that are kept current; a "
            + "narrower condition, or another GROUP, has fewer")
    static let tooLargeGroups = FigureError(
        message: "the keys of the query's groups take more than \(Query.Aggregates.groupSizeMax) bytes; group by "
            + "something shorter")
}
