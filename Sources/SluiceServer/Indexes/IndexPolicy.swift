internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// Which indexes a query wants. Pure: neither when it is worth making them nor how.
enum IndexPolicy {
    /// Columns in one index: more serve hardly anything.
    private static let columnCountMax = 4

    /// The index that would serve a query best; nil if there is one by the schema, or nothing to serve.
    ///
    /// The columns that the query fixes to one value come first. With a limit its sort follows, so that the window is
    /// the index's first rows; else the most selective range, prefix or list. A live view without a limit asks the disk
    /// for new subscribers only, in no order, so a sort alone wants nothing.
    static func index(for query: Query, schema: Schema) -> TableIndex? {
        guard query.object == nil else { return nil }
        let declared = schema[query.classIndex]
        // Links are found by their own indexes, and through a subquery, which no second column can follow.
        let conditions = query.rootConditions(schema: schema).filter { condition in
            !declared.properties[condition.property].type.element.isLink
        }
        // One object at most: the key's own index.
        if conditions.contains(where: { $0.property == declared.primaryKeyIndex && $0.breadth <= 1 }) { return nil }
        let fixed = conditions.filter { condition in
            if case .equal = condition.test { true } else { false }
        }
        let order = query.limit == nil ? [] : sortColumns(of: query)
        var columns = fixed.filter { order != [] || $0.breadth == 0 }.map { TableIndex.Column($0.property) }
        columns.sort { $0.property < $1.property }
        var isOrdered = false
        if !order.isEmpty {
            columns += order.filter { column in !columns.contains { $0.property == column.property } }
            isOrdered = true
        } else if let next = conditions.first(where: { $0.breadth > 0 && $0.breadth < 5 }) {
            columns.append(TableIndex.Column(next.property))
        }
        guard !columns.isEmpty, columns.count <= columnCountMax else { return nil }
        if isServed(columns, declared) { return nil }
        // The order of results ends with the id: in a keyless class two columns, in a keyed one a hash of the key, which
        // is not worth storing.
        let endsWithID = isOrdered && declared.primaryKey == nil
        if !endsWithID, let first = columns.last, isOrdered, order.allSatisfy({ $0.isAscending == first.isAscending }) {
            // Read backwards it is the same.
            columns = columns.map { TableIndex.Column($0.property) }
        }
        return TableIndex(classIndex: query.classIndex, columns: columns, endsWithID: endsWithID)
    }

    /// The query's sort, if it reads nothing but single properties of the object; else empty.
    private static func sortColumns(of query: Query) -> [TableIndex.Column] {
        var columns: [TableIndex.Column] = []
        for key in query.sort {
            guard key.path.steps.isEmpty, case .value(let property) = key.path.leaf else { return [] }
            columns.append(TableIndex.Column(property, isAscending: key.isAscending))
        }
        return columns
    }

    /// Whether the schema's own indexes do as well.
    private static func isServed(_ columns: [TableIndex.Column], _ declared: ClassSchema) -> Bool {
        guard let only = columns.first, columns.count == 1 else { return false }
        let property = declared.properties[only.property]
        return property.isIndexed || only.property == declared.primaryKeyIndex
    }
}
