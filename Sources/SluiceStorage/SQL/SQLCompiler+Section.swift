internal import SluiceModel
internal import SluiceQuery
internal import SluiceViews

/// Places in the order of a query, as conditions on the root.
extension SQLCompiler {
    /// What holds for the objects in the section of the order that a query names.
    func section(of query: Query, _ builder: inout SQLConditionBuilder) -> SQLStatement {
        var conditions: [SQLStatement] = []
        for (place, isAfter) in [(query.section.after, true), (query.section.before, false)] {
            guard let place else { continue }
            let position = SortPosition(values: place.values, id: place.id)
            conditions.append(side(of: position, isAfter: isAfter, of: query, &builder))
        }
        return .joined(conditions, by: " AND ")
    }

    /// What holds for the objects on one side of a position in the order of a query.
    func side(
        of position: SortPosition, isAfter: Bool, of query: Query, _ builder: inout SQLConditionBuilder
    ) -> SQLStatement {
        let side = behind(position, isAfter: isAfter, of: query, from: 0, &builder)
        // Of the first key alone, so that an index of it serves.
        guard let bound = bound(position, isAfter: isAfter, of: query, &builder) else { return side }
        return "\(side) AND \(bound)"
    }

    private func bound(
        _ position: SortPosition, isAfter: Bool, of query: Query, _ builder: inout SQLConditionBuilder
    ) -> SQLStatement? {
        guard let key = query.sort.first, let value = position.values.first, let binding = SQLBinding(value) else {
            return nil
        }
        let own = builder.value(of: key.path)
        let isAbove = key.isAscending == isAfter
        if value.isNull { return isAbove ? nil : "\(own) IS NULL" }
        if isAbove { return "\(own) >= \(binding)" }
        // The primary key is never null, and OR would keep SQLite from looking it up.
        return isPrimaryKey(key.path, of: query)
            ? "\(own) <= \(binding)" : "(\(own) <= \(binding) OR \(own) IS NULL)"
    }

    /// Whether a path is the primary key of the queried object.
    func isPrimaryKey(_ path: Query.Path, of query: Query) -> Bool {
        guard let property = path.plainProperty else { return false }
        return property == schema[query.classIndex].primaryKeyIndex
    }

    /// What holds for the objects on one side of a position, which are equal to it in the keys before an index.
    private func behind(
        _ position: SortPosition, isAfter: Bool, of query: Query, from index: Int,
        _ builder: inout SQLConditionBuilder
    ) -> SQLStatement {
        guard index < query.sort.count else { return behind(position.id, isAfter: isAfter, of: query, builder) }
        let key = query.sort[index]
        let value = position.values[index]
        let binding = SQLBinding(value) ?? .null
        let own = builder.value(of: key.path)
        let beyond: SQLStatement
        if key.isAscending == isAfter {
            beyond = value.isNull ? "\(own) IS NOT NULL" : "\(own) > \(binding)"
        } else {
            beyond = value.isNull ? "0" : "(\(own) < \(binding) OR \(own) IS NULL)"
        }
        let rest = behind(position, isAfter: isAfter, of: query, from: index + 1, &builder)
        return "(\(beyond) OR \(builder.value(of: key.path)) IS \(binding) AND \(rest))"
    }

    /// What holds for the objects whose ids are above or below another.
    private func behind(
        _ id: ObjectID, isAfter: Bool, of query: Query, _ builder: SQLConditionBuilder
    ) -> SQLStatement {
        let declared = schema[query.classIndex]
        let root = builder.scopes[0].alias
        let side: SQLStatement = isAfter ? ">" : "<"
        guard declared.primaryKeyIndex == nil else {
            let own = SQLStatement(Self.idExpression(declared, alias: root, layout: layout))
            return "\(own) \(side) \(SQLBinding(.objectID(id)) ?? .null)"
        }
        let words: [SQLBinding] = [.integer(TableLayout.word(id.high)), .integer(TableLayout.word(id.low))]
        return "(\(sql: root)._hi, \(sql: root)._lo) \(side) (\(words[0]), \(words[1]))"
    }
}
