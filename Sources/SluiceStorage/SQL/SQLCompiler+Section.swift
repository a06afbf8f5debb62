internal import SluiceModel
internal import SluiceQuery

/// Places in the order of a query, as conditions on the root.
extension SQLCompiler {
    /// What holds for the objects in the section of the order that a query names.
    func section(of query: Query, _ builder: inout SQLConditionBuilder) -> SQLStatement {
        var conditions: [SQLStatement] = []
        for (place, isAfter) in [(query.section.after, true), (query.section.before, false)] {
            guard let place else { continue }
            conditions.append(behind(place, isAfter: isAfter, of: query, from: 0, &builder))
            // Of the first key alone, so that an index of it serves.
            if let bound = bound(place, isAfter: isAfter, of: query, &builder) { conditions.append(bound) }
        }
        return .joined(conditions, by: " AND ")
    }

    private func bound(
        _ place: Query.Place, isAfter: Bool, of query: Query, _ builder: inout SQLConditionBuilder
    ) -> SQLStatement? {
        guard let key = query.sort.first, let value = place.values.first, !value.isNull,
            let binding = SQLBinding(value)
        else { return nil }
        let own = builder.value(of: key.path)
        return key.isAscending == isAfter ? "\(own) >= \(binding)" : "(\(own) <= \(binding) OR \(own) IS NULL)"
    }

    /// What holds for the objects on one side of a place, which are equal to it in the keys before an index.
    private func behind(
        _ place: Query.Place, isAfter: Bool, of query: Query, from index: Int, _ builder: inout SQLConditionBuilder
    ) -> SQLStatement {
        guard index < query.sort.count else { return behind(place.id, isAfter: isAfter, of: query, builder) }
        let key = query.sort[index]
        let value = place.values[index]
        let binding = SQLBinding(value) ?? .null
        let own = builder.value(of: key.path)
        let beyond: SQLStatement
        if key.isAscending == isAfter {
            beyond = value.isNull ? "\(own) IS NOT NULL" : "\(own) > \(binding)"
        } else {
            beyond = value.isNull ? "0" : "(\(own) < \(binding) OR \(own) IS NULL)"
        }
        let rest = behind(place, isAfter: isAfter, of: query, from: index + 1, &builder)
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
