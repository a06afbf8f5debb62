internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// Decides which index a query wants. Whether it is worth creating is decided elsewhere.
enum IndexPolicy {
    /// The maximum number of columns in an index; more columns help hardly any query.
    private static let columnCountMax = 4

    /// The index that would serve a query best; nil if an index of the schema serves it, or if an index would not help.
    ///
    /// The columns that the query fixes to one value come first. For a query with a limit its sort follows, so that the
    /// window is at the beginning of the index; otherwise the most selective range, prefix or list. A live view without
    /// a limit reads the disk only for new subscribers, in any order, so a sort alone wants no index.
    static func index(for query: Query, schema: Schema) -> TableIndex? {
        guard query.object == nil else { return nil }
        // Which time it is does not matter: a comparison with it is a range.
        let query = query.at(Timestamp(microseconds: 0))
        let declared = schema[query.classIndex]
        // Links have their own indexes, and are searched through a subquery, which a second column could not serve.
        let conditions = query.rootConditions(schema: schema).filter { condition in
            condition.isServedByTables && !declared.properties[condition.property].type.element.isLink
        }
        // The key's own index finds at most one object.
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
        } else if let next = conditions.first(where: { $0.breadth > 0 && $0.breadth < 6 }) {
            columns.append(TableIndex.Column(next.property))
        }
        guard !columns.isEmpty, columns.count <= columnCountMax else { return nil }
        if isServed(columns, declared) { return nil }
        // Results of equal rank are ordered by object id: two columns in a keyless class. In a class with a primary key
        // it is a hash of the key, which is not worth storing.
        let endsWithID = isOrdered && declared.primaryKey == nil
        if !endsWithID, let first = columns.last, isOrdered, order.allSatisfy({ $0.isAscending == first.isAscending }) {
            // The index serves the descending order when it is read backwards.
            columns = columns.map { TableIndex.Column($0.property) }
        }
        return TableIndex(classIndex: query.classIndex, columns: columns, endsWithID: endsWithID)
    }

    /// The query's sort, if it uses only properties of the object itself; else empty.
    private static func sortColumns(of query: Query) -> [TableIndex.Column] {
        var columns: [TableIndex.Column] = []
        for key in query.sort {
            guard let property = key.path.plainProperty else { return [] }
            columns.append(TableIndex.Column(property, isAscending: key.isAscending))
        }
        return columns
    }

    /// Whether an index of the schema serves as well.
    private static func isServed(_ columns: [TableIndex.Column], _ declared: ClassSchema) -> Bool {
        guard let only = columns.first, columns.count == 1 else { return false }
        let property = declared.properties[only.property]
        return property.isIndexed || only.property == declared.primaryKeyIndex
    }
}
