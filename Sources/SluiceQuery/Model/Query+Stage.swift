package import SluiceModel

extension Query {
    /// A step of a query with DISTINCT, or with SORT after LIMIT, that keeps some of the objects that the steps before
    /// it kept.
    package struct Stage: Sendable {
        package enum Filter: Sendable {
            /// Keeps this many, the first in ``order``.
            case limit(Int)
            /// Keeps one of the objects whose values of these paths are the same, the first in ``order``. The paths are
            /// positions in ``Query/positionPaths``.
            case distinct([Int])
        }

        /// A key of the order by which a filter chooses.
        package struct Key: Sendable {
            /// A position in ``Query/positionPaths``.
            package let position: Int
            package let isAscending: Bool
        }

        /// The order by which the filter chooses. Ties break by ascending object id.
        package let order: [Key]
        package let filter: Filter
    }

    /// The query whose results the first stage keeps, if that stage is a limit; else nil.
    package func leading(schema: Schema) -> Query? {
        guard case .limit = stages.first?.filter, var syntax = try? QuerySyntax.parse(canonicalText),
            let end = syntax.clauses.firstIndex(where: { if case .limit = $0 { true } else { false } })
        else { return nil }
        syntax.clauses.removeSubrange((end + 1)...)
        return try? Query(syntax, schema: schema).read(in: context)
    }

    /// Applies the stages, the sort and the limit to all objects that match, and returns the results in order.
    ///
    /// Costs one sort for each stage and one more.
    /// - Parameters:
    ///   - matches: in any order.
    ///   - values: returns what ``Evaluator/sortValues(of:in:)`` gives for an object.
    ///   - id: returns an object's id.
    package func results<Element>(
        among matches: [Element], values: (Element) -> [Value], id: (Element) -> ObjectID
    ) -> [Element] {
        var remaining = matches
        for stage in stages { remaining = stage.apply(to: remaining, values, id) }
        let order = SortOrder(sort)
        remaining.sort { order.precedes(values($0), id($0), values($1), id($1)) }
        if let limit, limit < remaining.count { remaining.removeSubrange(limit...) }
        return remaining
    }
}

extension Query.Stage {
    fileprivate func apply<Element>(
        to elements: [Element], _ values: (Element) -> [Value], _ id: (Element) -> ObjectID
    ) -> [Element] {
        let sorted = elements.sorted { left, right in
            let (leftValues, rightValues) = (values(left), values(right))
            for key in order {
                let order = Value.compare(leftValues[key.position], rightValues[key.position])
                if order != 0 { return key.isAscending ? order < 0 : order > 0 }
            }
            return id(left) < id(right)
        }
        switch filter {
        case .limit(let limit): return Array(sorted.prefix(limit))
        case .distinct(let positions):
            var seen: Set<[Value]> = []
            return sorted.filter { element in
                let values = values(element)
                return seen.insert(positions.map { values[$0] }).inserted
            }
        }
    }
}
