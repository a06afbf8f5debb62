internal import SluiceModel
internal import SluiceQuery

/// What the server has said that a query computes over everything that it matches.
struct ServedFigures {
    /// The figures as they are stored; nil where the server has said none.
    private(set) var values: [Value]?
    /// The groups that they are of a query with AGGREGATE; nil until somebody asks for them.
    private var known: KnownGroups?

    init(_ values: [Value]?) { self.values = values }

    /// Takes in all of them.
    ///
    /// - Parameter figures: nil where the query computes nothing.
    /// - Throws: ``SyncError/Code/protocolViolation`` when these are not the figures that the query asks for.
    mutating func receive(_ figures: [Value]?, of query: Query) throws {
        let isRight: Bool
        var groups: KnownGroups?
        switch figures {
        case nil: isRight = !query.hasFigures
        case let figures?:
            if let aggregates = query.aggregates {
                groups = KnownGroups(aggregates, figures)
                isRight = groups != nil
            } else if query.countsMatches, figures.count == 1, case .int(let total) = figures[0] {
                isRight = total >= 0
            } else {
                isRight = false
            }
        }
        guard isRight else { throw SyncError(.protocolViolation, "figures that the query does not ask for, or none") }
        (values, known) = (groups?.values ?? figures, groups)
    }

    /// Takes in what a commit has changed of them: of a query with GROUP the groups that are others, else all figures.
    ///
    /// - Throws: ``SyncError/Code/protocolViolation`` when these are not the figures that the query asks for.
    mutating func receive(changed change: [Value], of query: Query) throws {
        guard groups(of: query) != nil else { return try receive(change, of: query) }
        guard known?.apply(change) ?? false else {
            throw SyncError(.protocolViolation, "a change of figures that the query does not ask for")
        }
        values = known?.values
    }

    /// The groups, in the order of the query; nil if the server has said none. O(1) once they were asked for.
    mutating func groups(of query: Query) -> [GroupFigures]? {
        if known == nil, let aggregates = query.aggregates, let values { known = KnownGroups(aggregates, values) }
        return known?.groups
    }

    /// Reads the groups anew when they are asked for, since the query is bound to another schema.
    mutating func forgetGroups() { known = nil }
}
