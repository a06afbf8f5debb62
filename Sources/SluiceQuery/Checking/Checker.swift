internal import SluiceModel

/// Checks parsed queries against a schema and brings them into canonical form.
struct Checker {
    /// An object that paths may begin at.
    struct Scope {
        let classIndex: Int
        /// The variable of a subquery for it; nil for the queried object.
        let variable: String?
    }

    let schema: Schema
    let inverses: InverseNames
    /// The queried object, then the objects of the enclosing subqueries, the innermost last.
    var scopes: [Scope] = []
    /// Whether ``QueryLimits`` holds for lists, constants and text. The server's own rules may be larger.
    let isLimited: Bool

    init(
        schema: Schema, inverses: InverseNames = InverseNames(), scopes: [Scope] = [], isLimited: Bool = true
    ) {
        self.schema = schema
        self.inverses = inverses
        self.scopes = scopes
        self.isLimited = isLimited
    }

    /// A checker for conditions on objects of a class, inside the scopes of this one.
    func on(_ classIndex: Int, variable: String? = nil) -> Checker {
        Checker(
            schema: schema, inverses: inverses, scopes: scopes + [Scope(classIndex: classIndex, variable: variable)],
            isLimited: isLimited)
    }

    /// The class of that name.
    func classIndex(_ name: String, at position: Int?) throws(QueryError) -> Int {
        if let index = schema.index(of: name) { return index }
        let nearest = NearestName.find(name, among: schema.classNames)
        let names = Self.list(schema.classNames)
        let hint =
            nearest.map { "did you mean '\($0)'?" } ?? (names.isEmpty ? "there are no classes" : "there are \(names)")
        throw QueryError(.unknownClass, "there is no class '\(name.shortened)'; \(hint)", at: position)
    }

    /// The property of that name.
    func property(_ name: String, ofClass classIndex: Int, at position: Int?) throws(QueryError) -> Int {
        let owner = schema[classIndex]
        if let index = owner.index(of: name) { return index }
        let nearest = NearestName.find(name, among: owner.propertyNames + inverses.names(on: owner.name))
        let names = Self.list(owner.propertyNames)
        let constant = ["true", "false"].first { $0 == name.lowercased() }
        let hint =
            (constant ?? nearest).map { "did you mean '\($0)'?" }
            ?? (names.isEmpty ? "it has none" : "it has \(names)")
        throw QueryError(
            .unknownProperty, "\(owner.name) has no property '\(name.shortened)'; \(hint)", at: position)
    }

    /// Names separated by commas; of many, the first 32.
    private static func list(_ names: [String]) -> String {
        names.prefix(32).joined(separator: ", ") + (names.count > 32 ? ", …" : "")
    }

    /// Checks a condition on the objects of the scopes and brings it into canonical form.
    func predicate(
        _ syntax: PredicateSyntax, depth: Int = 0
    ) throws(QueryError) -> Query.Predicate {
        // One level of parentheses can hold an OR of ANDs of negations. Parsed text is never deeper than this, and a
        // condition built in Swift has no position.
        guard depth <= QueryLimits.depthMax * 4 else {
            throw QueryError(
                .limitExceeded, "conditions are nested more than \(QueryLimits.depthMax * 4) deep", at: nil)
        }
        switch syntax {
        case .constant(let isTrue): return .constant(isTrue)
        case .comparison(let comparison): return try self.comparison(comparison)
        case .not(let operand): return try predicate(operand, depth: depth + 1).negated()
        case .and(let operands): return .conjunction(try all(operands, depth: depth + 1))
        case .or(let operands): return .disjunction(try all(operands, depth: depth + 1))
        }
    }

    private func all(
        _ operands: [PredicateSyntax], depth: Int
    ) throws(QueryError) -> [Query.Predicate] {
        var result: [Query.Predicate] = []
        result.reserveCapacity(operands.count)
        for operand in operands { result.append(try predicate(operand, depth: depth)) }
        return result
    }

    /// Refuses a predicate whose canonical text could not be parsed again, or that could not be compiled to SQL.
    func checkLimits(_ predicate: Query.Predicate, of syntax: PredicateSyntax) throws(QueryError) {
        guard isLimited else { return }
        var size = QuerySize()
        size.add(predicate)
        let limits = [
            (size.nodeCount, QueryLimits.nodeCountMax, "conditions", syntax.position),
            (size.constantCount, QueryLimits.constantCountMax, "constants", syntax.position),
            (size.listCount, QueryLimits.listCountMax, "elements in a list", syntax.position),
            (
                predicate.parenthesesDepth, QueryLimits.depthMax, "parentheses within each other",
                syntax.deepestPosition
            ),
        ]
        for (count, limit, what, position) in limits where count > limit {
            throw QueryError(.limitExceeded, "the query has \(count) \(what); the limit is \(limit)", at: position)
        }
    }
}

/// Counts the parts of a predicate that are limited.
private struct QuerySize {
    var nodeCount = 0
    var constantCount = 0
    var listCount = 0

    mutating func add(_ predicate: Query.Predicate) {
        var comparisons: [Query.Comparison] = []
        predicate.forEachComparison { comparisons.append($0) }
        for comparison in comparisons {
            nodeCount += 1
            constantCount += 1
            add(comparison.left)
            add(comparison.right)
        }
    }

    private mutating func add(_ operand: Query.Comparison.Operand) {
        switch operand {
        case .constant(.list(let values)), .constant(.set(let values)), .list(let values):
            constantCount += values.count
            listCount = max(listCount, values.count)
        case .constant, .now: break
        case .arithmetic(_, let left, let right, _):
            nodeCount += 1
            constantCount += 1
            add(left)
            add(right)
        case .path(let path):
            if case .subquery(let subquery) = path.leaf { add(subquery.predicate) }
        }
    }
}
