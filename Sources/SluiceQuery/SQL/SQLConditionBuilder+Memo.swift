internal import SluiceModel

/// Remembers values that many objects share while a statement runs: an aggregate over what links to an object is
/// computed once for that object, and not for each object that leads to it.
extension SQLConditionBuilder {
    /// A value of a path, computed once for each object that its leading links lead to.
    ///
    /// - Parameter value: the value, as an expression over the object that the path is followed from.
    mutating func remembered(
        _ value: SQLStatement, of path: Query.Path, from index: Int, alias: String
    ) -> SQLStatement {
        guard let shared = sharedObject(of: path, from: index, alias: alias) else { return value }
        slotCount += 1
        let place: SQLStatement = "\(sql: String(slotCount)), \(shared)"
        return """
            CASE WHEN \(sql: TableLayout.Function.knows)(\(place)) \
            THEN \(sql: TableLayout.Function.recall)(\(place)) \
            ELSE \(sql: TableLayout.Function.remember)(\(place), \(value)) END
            """
    }

    /// The row id of the object that alone determines a costly value; nil if that is the object that the path begins
    /// at, or the value is not costly.
    private mutating func sharedObject(of path: Query.Path, from index: Int, alias: String) -> SQLStatement? {
        if index < path.steps.count {
            return path.isCostly ? row(behind: Array(path.steps[index...]), from: alias) : nil
        }
        switch path.leaf {
        case .aggregate(_, let elements): return row(behind: elements.leadingLinks, from: alias)
        case .subquery(let subquery) where subquery.isSelfContained:
            let collection = subquery.collection
            return row(behind: collection.leadingLinks, from: scopes[collection.scope].alias)
        default: return nil
        }
    }

    private mutating func row(behind steps: [Query.Path.Step], from alias: String) -> SQLStatement? {
        guard let last = steps.last else { return nil }
        if steps.count == 1 { return linkValue(last, alias) }
        let path = Query.Path(
            steps: steps, leafClass: last.targetClass, leaf: .object, type: .link(last.targetClass), canBeNull: true,
            text: "")
        return value(of: path, from: 0, alias: alias)
    }
}

extension Query.Path {
    /// The links before the first step that leads to many objects, or backwards.
    var leadingLinks: [Step] { Array(steps.prefix { !$0.isToMany && !$0.isBacklink }) }

    /// Whether reading the value at the end requires a search, and the value depends on nothing but the object there.
    var isCostly: Bool {
        switch leaf {
        case .aggregate, .backlinkCount: true
        case .subquery(let subquery): subquery.isSelfContained
        default: false
        }
    }
}

extension Query.Subquery {
    /// Whether the condition reads only from the objects counted.
    var isSelfContained: Bool { predicate.staysWithin(scope) }
}

extension Query.Predicate {
    fileprivate func staysWithin(_ scope: Int) -> Bool {
        var stays = true
        forEachComparison { comparison in
            for path in comparison.paths {
                stays = stays && path.scope >= scope
                if case .subquery(let inner) = path.leaf {
                    stays = stays && inner.collection.scope >= scope && inner.predicate.staysWithin(scope)
                }
            }
        }
        return stays
    }
}
