internal import SluiceModel

/// Checks what was written against a schema and brings it into canonical form.
struct Checker {
    let schema: Schema

    /// The class of that name.
    func classIndex(_ name: String, at position: Int?) throws(QueryError) -> Int {
        if let index = schema.index(of: name) { return index }
        let nearest = NearestName.find(name, among: schema.classes.map(\.name))
        let names = schema.classes.prefix(12).map(\.name).joined(separator: ", ")
        let hint =
            nearest.map { "did you mean '\($0)'?" } ?? (names.isEmpty ? "there are no classes" : "there are \(names)")
        throw QueryError(.unknownClass, "there is no class '\(name)'; \(hint)", at: position)
    }

    /// The property of that name.
    func property(_ name: String, ofClass classIndex: Int, at position: Int?) throws(QueryError) -> Int {
        let owner = schema[classIndex]
        if let index = owner.index(of: name) { return index }
        let nearest = NearestName.find(name, among: owner.properties.map(\.name))
        let names = owner.properties.prefix(12).map(\.name).joined(separator: ", ")
        let hint = nearest.map { "did you mean '\($0)'?" } ?? (names.isEmpty ? "it has none" : "it has \(names)")
        throw QueryError(.unknownProperty, "\(owner.name) has no property '\(name)'; \(hint)", at: position)
    }

    /// A condition on objects of a class, in canonical form.
    func predicate(
        _ syntax: PredicateSyntax, ofClass classIndex: Int, depth: Int = 0
    ) throws(QueryError) -> Query.Predicate {
        // One level of parentheses can hold an OR of ANDs of negations.
        guard depth <= QueryLimits.depthMax * 4 else {
            throw QueryError(
                .limitExceeded, "conditions are nested more than \(QueryLimits.depthMax * 4) deep", at: nil)
        }
        switch syntax {
        case .constant(let isTrue): return .constant(isTrue)
        case .comparison(let comparison): return try self.comparison(comparison, ofClass: classIndex)
        case .not(let operand): return try predicate(operand, ofClass: classIndex, depth: depth + 1).negated()
        case .and(let operands): return .conjunction(try all(operands, ofClass: classIndex, depth: depth + 1))
        case .or(let operands): return .disjunction(try all(operands, ofClass: classIndex, depth: depth + 1))
        }
    }

    private func all(
        _ operands: [PredicateSyntax], ofClass classIndex: Int, depth: Int
    ) throws(QueryError) -> [Query.Predicate] {
        var result: [Query.Predicate] = []
        result.reserveCapacity(operands.count)
        for operand in operands { result.append(try predicate(operand, ofClass: classIndex, depth: depth)) }
        return result
    }

    /// Refuses what would not parse again, or not compile.
    func checkLimits(_ predicate: Query.Predicate) throws(QueryError) {
        var nodeCount = 0
        var constantCount = 0
        var listCount = 0
        predicate.forEachComparison { comparison in
            nodeCount += 1
            constantCount += 1
            if case .list(let values) = comparison.right {
                constantCount += values.count
                listCount = max(listCount, values.count)
            }
        }
        let limits = [
            (nodeCount, QueryLimits.nodeCountMax, "conditions"),
            (constantCount, QueryLimits.constantCountMax, "constants"),
            (listCount, QueryLimits.listCountMax, "elements in a list"),
            (predicate.parenthesesDepth, QueryLimits.depthMax, "parentheses within each other"),
        ]
        for (count, limit, what) in limits where count > limit {
            throw QueryError(.limitExceeded, "the query has \(count) \(what); the limit is \(limit)", at: nil)
        }
    }
}
