internal import SluiceModel
internal import SluiceQuery

/// Many values as rows of joined tables: the contents of FROM and WHERE, and the value of each row.
struct SQLRows {
    var tables: [SQLStatement] = []
    var conditions: [SQLStatement] = []
    /// The terms that order the values of nested lists; other collections add none.
    var order: [SQLStatement] = []
    var value: SQLStatement

    /// Whether a condition holds for at least one value, or for all.
    func exists(_ condition: SQLStatement, isAll: Bool) -> SQLStatement {
        if tables.isEmpty { return condition }
        guard isAll else { return "EXISTS \(select("1", where: condition))" }
        return "NOT EXISTS \(select("1", where: "(\(condition)) IS NOT TRUE"))"
    }

    /// A SELECT over the rows, in parentheses.
    func select(_ output: SQLStatement, where condition: SQLStatement? = nil) -> SQLStatement {
        let all = conditions + (condition.map { ["(\($0))"] } ?? [])
        let from = SQLStatement.joined(tables, by: ", ")
        return all.isEmpty
            ? "(SELECT \(output) FROM \(from))" : "(SELECT \(output) FROM \(from) WHERE \(.joined(all, by: " AND ")))"
    }
}

extension SQLConditionBuilder {
    /// The values of one side of a comparison.
    mutating func rows(of operand: Query.Comparison.Operand) -> SQLRows {
        guard operand.isToMany else { return SQLRows(value: value(of: operand)) }
        switch operand {
        case .path(let path): return rows(of: path, from: scopes[path.scope].alias)
        case .arithmetic:
            var joined = SQLRows(value: "NULL")
            var values: [SQLStatement] = []
            for term in operand.terms {
                let rows = rows(of: term)
                joined.tables += rows.tables
                joined.conditions += rows.conditions
                joined.order += rows.order
                values.append(rows.value)
            }
            joined.value = arithmetic(operand, values)
            return joined
        case .constant, .list, .now: return SQLRows(value: "NULL")
        }
    }

    /// The values of a path with many values, followed from an object.
    ///
    /// - Parameter joinsAll: whether to-one links after the last collection are joined too, so that one that leads
    ///   nowhere yields no row.
    mutating func rows(of path: Query.Path, from root: String, joinsAll: Bool = false) -> SQLRows {
        var rows = SQLRows(value: "NULL")
        var alias = root
        var end = (path.steps.lastIndex(where: \.isToMany) ?? -1) + 1
        switch path.leaf {
        case .elements, .keys: end = path.steps.count
        default: if joinsAll { end = path.steps.count }
        }
        for step in path.steps[..<end] { alias = join(step, from: alias, in: &rows) }
        switch path.leaf {
        case .elements(let property), .keys(let property):
            let element = nextAlias()
            rows.tables.append("\(sql: collection(property, path.leafClass)) \(sql: element)")
            rows.conditions.append("\(sql: element).owner = \(sql: alias)._row")
            if isList(property, path.leafClass) { rows.order.append("\(sql: element).position") }
            if case .keys = path.leaf {
                rows.value = "\(sql: element).key"
                if let isShown = isShown(element, property, path.leafClass) { rows.conditions.append(isShown) }
            } else {
                rows.value = "\(sql: element).value"
                if case .link(let target) = path.type {
                    rows.conditions.append(isPresent(rows.value, target, nextAlias()))
                }
            }
        default: rows.value = value(of: path, from: end, alias: alias)
        }
        return rows
    }

    /// Joins the objects that a step leads to, and returns the alias of their table.
    mutating func join(_ step: Query.Path.Step, from alias: String, in rows: inout SQLRows) -> String {
        let next = nextAlias()
        var link: SQLStatement
        if step.isBacklink {
            link = linksTo(alias, step.classIndex, step.property, from: next)
        } else if step.isToMany {
            let element = nextAlias()
            rows.tables.append("\(sql: collection(step.property, step.classIndex)) \(sql: element)")
            rows.conditions.append("\(sql: element).owner = \(sql: alias)._row")
            if isList(step.property, step.classIndex) { rows.order.append("\(sql: element).position") }
            link = "\(sql: next)._row = \(sql: element).value"
        } else {
            link = "\(sql: next)._row = \(linkValue(step, alias))"
        }
        rows.tables.append("\(sql: layout.table(schema[step.targetClass].name)) \(sql: next)")
        rows.conditions.append(isPresent(next, step.targetClass))
        rows.conditions.append(link)
        return next
    }

    /// Whether the object of one table links to that of another.
    mutating func linksTo(
        _ target: String, _ classIndex: Int, _ property: Int, from alias: String
    ) -> SQLStatement {
        guard isCollection(property, classIndex) else {
            return "\(sql: column(property, classIndex, alias)) = \(sql: target)._row"
        }
        let element = nextAlias()
        let isTarget: SQLStatement = "\(sql: element).value = \(sql: target)._row"
        let owners = subquery(collection(property, classIndex), element, "\(sql: element).owner", where: isTarget)
        return "\(sql: alias)._row IN \(owners)"
    }

    /// The row id of the target of a single link, or of the element that a step selects.
    mutating func linkValue(_ step: Query.Path.Step, _ alias: String) -> SQLStatement {
        guard let selection = step.selection else { return "\(sql: column(step.property, step.classIndex, alias))" }
        return element(step.property, step.classIndex, selection, alias)
    }

    /// The value of one element of a collection.
    mutating func element(
        _ property: Int, _ classIndex: Int, _ selection: Query.Path.Selection, _ alias: String
    ) -> SQLStatement {
        let element = nextAlias()
        var condition: SQLStatement = "\(sql: element).owner = \(sql: alias)._row"
        if let isShown = isShown(element, property, classIndex) { condition = "\(condition) AND \(isShown)" }
        switch selection {
        case .key(let key): condition = "\(condition) AND \(sql: element).key = \(.text(key))"
        case .index(let index):
            condition = "\(condition) ORDER BY \(sql: element).position LIMIT 1 OFFSET \(.integer(Int64(index)))"
        case .last: condition = "\(condition) ORDER BY \(sql: element).position DESC LIMIT 1"
        }
        return subquery(collection(property, classIndex), element, "\(sql: element).value", where: condition)
    }

    /// Whether an element of a collection shows; nil if all do. A link to an object that hides who it is shows only where
    /// the object may be read.
    mutating func isShown(_ element: String, _ property: Int, _ classIndex: Int) -> SQLStatement? {
        guard let link = context.veiledLinks(ofClass: classIndex).first(where: { $0.property == property }) else {
            return nil
        }
        return isPresent("\(sql: element).value", link.targetClass, nextAlias())
    }
}
