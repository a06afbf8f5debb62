internal import SluiceModel
internal import SluiceQuery

extension SQLConditionBuilder {
    /// The value of a side with one value.
    mutating func value(of operand: Query.Comparison.Operand) -> SQLStatement {
        switch operand {
        case .path(let path): return shallow(value: value(of: path))
        case .constant(let value): return "\(SQLBinding(value) ?? .null)"
        case .list: return "NULL"
        // A query is compiled at one time, which has taken its place.
        case .now: return "NULL"
        case .arithmetic:
            var values: [SQLStatement] = []
            for term in operand.terms { values.append(value(of: term)) }
            return arithmetic(operand, values)
        }
    }

    /// Arithmetic over the values of its terms. It is one function, since SQLite's parser does not accept functions
    /// nested as deeply as sums.
    func arithmetic(_ operand: Query.Comparison.Operand, _ values: [SQLStatement]) -> SQLStatement {
        let program = ArithmeticProgram(operand)
        return "\(sql: TableLayout.Function.arithmetic)('\(sql: program.text)', \(.joined(values, by: ", ")))"
    }

    /// The value of a path with one value, as an expression over the object that it begins at.
    mutating func value(of path: Query.Path) -> SQLStatement {
        value(of: path, from: 0, alias: scopes[path.scope].alias)
    }

    mutating func value(of path: Query.Path, from index: Int, alias: String) -> SQLStatement {
        var value = chain(path, from: index, alias: alias)
        if index < path.steps.count, let broken = SQLBinding(path.brokenValue), broken != .null {
            value = "coalesce(\(value), \(broken))"
        }
        return remembered(value, of: path, from: index, alias: alias)
    }

    /// Reads the value by one statement that joins all objects on the way, since SQLite's parser does not accept
    /// statements nested as deeply as paths are long.
    private mutating func chain(_ path: Query.Path, from index: Int, alias: String) -> SQLStatement {
        guard index < path.steps.count else { return leafValue(path, alias: alias) }
        var rows = SQLRows(value: "NULL")
        var alias = alias
        for step in path.steps[index...] { alias = join(step, from: alias, in: &rows) }
        return rows.select(leafValue(path, alias: alias))
    }

    private mutating func leafValue(_ path: Query.Path, alias: String) -> SQLStatement {
        switch path.leaf {
        case .value(let property): return "\(sql: column(property, path.leafClass, alias))"
        case .size(let property):
            return "\(sql: TableLayout.Function.size)(\(sql: column(property, path.leafClass, alias)))"
        case .presence(let property, let target):
            return isPresent("\(sql: column(property, path.leafClass, alias))", target, nextAlias())
        case .link(let property):
            guard case .link(let target) = path.type else { return "NULL" }
            return presentRow("\(sql: column(property, path.leafClass, alias))", target)
        case .entry(let property, let key):
            guard case .string(let key) = key else { return "NULL" }
            return element(property, path.leafClass, .key(key), alias)
        case .element(let property, let selection): return element(property, path.leafClass, selection, alias)
        case .object: return "\(sql: alias)._row"
        case .count(let property): return count(property, path.leafClass, owner: "\(sql: alias)._row")
        case .backlinkCount(let backlinks):
            guard !backlinks.isEmpty else { return "0" }
            var counts: [SQLStatement] = []
            for backlink in backlinks {
                let linking = nextAlias()
                let link = linksTo(alias, backlink.classIndex, backlink.property, from: linking)
                counts.append(object(linking, backlink.classIndex, "count(*)", where: link))
            }
            return "(\(.joined(counts, by: " + ")))"
        case .aggregate(let operation, let elements):
            let rows = rows(of: elements, from: alias)
            guard case .scalar(let type) = elements.type else { return "NULL" }
            return rows.select("\(sql: TableLayout.Function.name(of: operation, type))(\(rows.value))")
        case .subquery(let subquery): return count(subquery)
        case .elements, .keys, .whole: preconditionFailure("a path with many values has no single one")
        }
    }

    /// The row id of a link's target; null unless the target is present.
    mutating func presentRow(_ link: SQLStatement, _ target: Int, _ alias: String) -> SQLStatement {
        let row: SQLStatement = "\(sql: alias)._row"
        return object(alias, target, row, where: "\(row) = \(link)")
    }

    private mutating func presentRow(_ link: SQLStatement, _ target: Int) -> SQLStatement {
        presentRow(link, target, nextAlias())
    }

    private mutating func count(_ property: Int, _ classIndex: Int, owner: SQLStatement) -> SQLStatement {
        let element = nextAlias()
        var isCounted: SQLStatement = "\(sql: element).owner = \(owner)"
        if let isShown = isShown(element, property, classIndex) { isCounted = "\(isCounted) AND \(isShown)" }
        return subquery(collection(property, classIndex), element, "count(*)", where: isCounted)
    }

    private mutating func count(_ subquery: Query.Subquery) -> SQLStatement {
        let (rows, condition) = objects(of: subquery)
        return rows.select("count(*)", where: condition)
    }

    /// Whether a count is greater than zero.
    mutating func existence(_ path: Query.Path, alias: String) -> SQLStatement {
        switch path.leaf {
        case .count(let property):
            let element = nextAlias()
            let table = collection(property, path.leafClass)
            var isCounted: SQLStatement = "\(sql: element).owner = \(sql: alias)._row"
            if let isShown = isShown(element, property, path.leafClass) {
                isCounted = "\(isCounted) AND \(isShown)"
            }
            return "EXISTS \(subquery(table, element, "1", where: isCounted))"
        case .backlinkCount(let backlinks):
            var conditions: [SQLStatement] = []
            for backlink in backlinks {
                let linking = nextAlias()
                let link = linksTo(alias, backlink.classIndex, backlink.property, from: linking)
                conditions.append("EXISTS \(object(linking, backlink.classIndex, "1", where: link))")
            }
            return conditions.isEmpty ? "0" : .balanced(conditions[...], by: " OR ")
        case .subquery(let subquery):
            let (rows, condition) = objects(of: subquery)
            return "EXISTS \(rows.select("1", where: condition))"
        default: preconditionFailure("only counts ask for existence")
        }
    }

    /// The objects that a subquery counts, and the condition on them.
    private mutating func objects(of subquery: Query.Subquery) -> (SQLRows, SQLStatement) {
        let collection = subquery.collection
        let rows = rows(of: collection, from: scopes[collection.scope].alias, joinsAll: true)
        let outer = scopes
        // The last table joined is the one of the objects counted.
        let alias = String(rows.value.text.dropLast("._row".count))
        scopes = scopes.prefix(subquery.scope) + [Scope(alias: alias, classIndex: collection.leafClass)]
        let condition = shallow(condition(subquery.predicate), SQLDepth.innerMax)
        scopes = outer
        return (rows, condition)
    }
}
