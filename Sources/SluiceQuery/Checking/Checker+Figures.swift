internal import SluiceModel

/// AGGREGATE and GROUP, with the SORT and LIMIT of groups.
extension Checker {
    /// Checks the clauses of a query that computes something instead of finding objects.
    ///
    /// - Parameter clauses: some are AGGREGATE or GROUP.
    func figures(_ clauses: [QuerySyntax.Clause]) throws(QueryError) -> CheckedClauses {
        var functions: [PathSyntax] = []
        var groups: [PathSyntax] = []
        var keys: [QuerySyntax.SortSyntax] = []
        var limit: Int?
        var (functionsAt, groupsAt): (Int?, Int?) = (nil, nil)
        for clause in clauses {
            switch clause {
            case .aggregate(let paths, let position):
                functions += paths
                functionsAt = functionsAt ?? position
            case .group(let paths, let position):
                groups += paths
                groupsAt = groupsAt ?? position
            // Of two SORTs the later is the stronger one, as elsewhere.
            case .sort(let sort, _): keys = sort + keys
            case .limit(let count, let position):
                guard count >= 0 else {
                    throw QueryError(
                        .typeMismatch, "LIMIT takes a whole number from 0; found \(count)", at: position)
                }
                limit = min(count, limit ?? .max)
            case .distinct(_, let position):
                throw refused("DISTINCT", "it computes over everything that the condition finds", position)
            case .place(let side, _, let position):
                throw refused(side.rawValue, "it computes over everything that the condition finds", position)
            case .exclude(_, let position): throw refused("EXCLUDE", "no objects are sent", position)
            case .total(let position):
                throw refused("TOTAL", "AGGREGATE(@count) says how many objects the condition finds", position)
            }
        }
        guard !functions.isEmpty else {
            throw QueryError(
                .unsupported, "GROUP says of what AGGREGATE computes its figures; add one, as in AGGREGATE(@count)",
                at: groupsAt)
        }
        for case .sort(_, let position) in clauses where groups.isEmpty {
            throw refused("SORT", "there is one group; objects are not sent, and GROUP makes groups to sort", position)
        }
        for case .limit(_, let position) in clauses where groups.isEmpty {
            throw refused(
                "LIMIT", "it computes over everything that the condition finds; GROUP makes groups to limit", position)
        }
        var checker = FigureChecker(self)
        for path in groups { try checker.addGroup(path) }
        for function in functions { try checker.addFunction(function) }
        for key in keys { try checker.addKey(key) }
        return checker.checked(limit: limit)
    }

    private func refused(_ clause: String, _ reason: String, _ position: Int?) -> QueryError {
        QueryError(.unsupported, "AGGREGATE goes with no \(clause): \(reason)", at: position)
    }
}

private struct FigureChecker {
    private let checker: Checker
    private var groups: [Query.Path] = []
    private var paths: [Query.Path] = []
    private var functions: [Query.Aggregates.Function] = []
    private var names: [String] = []
    private var order: [Query.Aggregates.OrderKey] = []

    init(_ checker: Checker) { self.checker = checker }

    mutating func addGroup(_ syntax: PathSyntax) throws(QueryError) {
        let path = try checker.single(syntax, in: "GROUP")
        guard !groups.contains(path) else { return }
        groups.append(path)
        paths.append(path)
        guard groups.count <= QueryLimits.groupKeyCountMax else {
            throw QueryError(
                .limitExceeded, "GROUP takes at most \(QueryLimits.groupKeyCountMax) paths", at: syntax.position)
        }
    }

    /// The operation of a function, and its path; nil for `@count`.
    private func parts(
        _ syntax: PathSyntax, in clause: String
    ) throws(QueryError) -> (AggregateOperation, PathSyntax)? {
        let example = "\(clause) takes @count, or @sum, @avg, @min or @max and a property, as in @avg.price"
        guard syntax.quantifier == nil, let first = syntax.components.first, case .operation(let name) = first.kind
        else { throw QueryError(.syntax, example, at: syntax.position) }
        let rest = Array(syntax.components.dropFirst())
        if name == "count" {
            guard let next = rest.first else { return nil }
            throw QueryError(
                .syntax, "@count counts objects and takes no property; a condition says which objects",
                at: next.position ?? syntax.position)
        }
        guard let operation = AggregateOperation(rawValue: name) else {
            let nearest = NearestName.find(name, among: ["avg", "count", "max", "min", "sum"])
            let hint = nearest.map { "; did you mean '@\($0)'?" } ?? ";"
            throw QueryError(
                .syntax, "there is no function '@\(name.shortened)'\(hint) \(example)",
                at: first.position ?? syntax.position)
        }
        guard !rest.isEmpty else {
            throw QueryError(
                .syntax, "@\(name) needs a property, as in @\(name).price", at: first.position ?? syntax.position)
        }
        return (operation, PathSyntax(rest, position: rest[0].position ?? syntax.position))
    }

    mutating func addFunction(_ syntax: PathSyntax) throws(QueryError) {
        guard let (operation, pathSyntax) = try parts(syntax, in: "AGGREGATE") else {
            return try add(.count, "@count", at: syntax.position)
        }
        let path = try checker.single(pathSyntax, in: "AGGREGATE")
        guard case .scalar(let type) = path.type, operation.result(of: type) != nil else {
            let kinds = operation.takesDates ? "numbers and dates" : "numbers"
            throw QueryError(
                .typeMismatch, "@\(operation.rawValue) works on \(kinds); '\(path.text)' is \(path.typeName)",
                at: pathSyntax.position)
        }
        var position = paths.firstIndex(of: path)
        if position == nil {
            paths.append(path)
            position = paths.count - 1
        }
        try add(
            .value(operation, path: position ?? 0, type), "@\(operation.rawValue).\(path.text)", at: syntax.position)
    }

    private mutating func add(
        _ function: Query.Aggregates.Function, _ name: String, at position: Int?
    ) throws(QueryError) {
        guard !functions.contains(function) else { return }
        functions.append(function)
        names.append(name)
        guard functions.count <= QueryLimits.functionCountMax else {
            throw QueryError(
                .limitExceeded, "AGGREGATE takes at most \(QueryLimits.functionCountMax) functions", at: position)
        }
    }

    /// Adds a key of SORT, which orders groups: one of GROUP's paths, or one of AGGREGATE's functions.
    mutating func addKey(_ key: QuerySyntax.SortSyntax) throws(QueryError) {
        var column: Int?
        let name: String
        if case .operation? = key.path.components.first?.kind {
            if let (operation, syntax) = try parts(key.path, in: "SORT of groups") {
                let path = try checker.single(syntax, in: "SORT")
                name = "@\(operation.rawValue).\(path.text)"
            } else {
                name = "@count"
            }
            column = names.firstIndex(of: name).map { groups.count + $0 }
        } else {
            let path = try property(key.path)
            name = path.text
            column = groups.firstIndex(of: path)
        }
        guard let column else {
            throw QueryError(
                .unsupported,
                "SORT orders groups by what GROUP and AGGREGATE name: \((groups.map(\.text) + names).joined(separator: ", ")); "
                    + "'\(name)' is not among it", at: key.path.position)
        }
        guard let earlier = order.first(where: { $0.column == column }) else {
            order.append(Query.Aggregates.OrderKey(column: column, isAscending: key.isAscending))
            return
        }
        guard earlier.isAscending != key.isAscending else { return }
        throw QueryError(
            .repeatedSortKey,
            "'\(name)' is sorted by twice, ascending and descending; the second key would decide nothing, remove it",
            at: key.path.position)
    }

    /// The path of a key of SORT. One that is no property may be a function without its `@`.
    private func property(_ syntax: PathSyntax) throws(QueryError) -> Query.Path {
        do throws(QueryError) { return try checker.single(syntax, in: "SORT") } catch {
            let written = syntax.components.compactMap { component -> String? in
                if case .property(let name) = component.kind { name } else { nil }
            }
            guard let function = NearestName.find("@" + written.joined(separator: "."), among: names) else {
                throw error
            }
            throw QueryError(
                error.code,
                "SORT orders groups by what GROUP and AGGREGATE name, and '\(written.joined(separator: ".").shortened)' "
                    + "is not among it; did you mean '\(function)'?", at: error.position ?? syntax.position)
        }
    }

    func checked(limit: Int?) -> CheckedClauses {
        let aggregates = Query.Aggregates(
            functions: functions, names: names, groups: groups, order: order, limit: limit)
        var result = CheckedClauses()
        var text = groups.isEmpty ? "" : " GROUP(\(groups.map(\.text).joined(separator: ", ")))"
        text += " AGGREGATE(\(names.joined(separator: ", ")))"
        if !order.isEmpty {
            let columns = aggregates.columnNames
            let keys = order.map { "\(columns[$0.column]) \($0.isAscending ? "ASC" : "DESC")" }
            text += " SORT(\(keys.joined(separator: ", ")))"
        }
        if let limit { text += " LIMIT(\(limit))" }
        result.text = text
        // It has no results.
        result.limit = 0
        result.positionPaths = paths
        result.aggregates = aggregates
        return result
    }
}
