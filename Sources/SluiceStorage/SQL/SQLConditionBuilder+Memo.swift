internal import SluiceModel
internal import SluiceQuery

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
        return value(of: Query.Path(to: last, by: steps), from: 0, alias: alias)
    }
}
