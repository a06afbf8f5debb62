internal import SluiceModel

/// Builds conditions and values over the tables of one statement.
///
/// SQL's logic has three values, the query's two: every condition made here is true where the query's is, and false or
/// null elsewhere. A negation is therefore `(…) IS NOT TRUE`.
struct SQLConditionBuilder {
    let schema: Schema
    let layout: TableLayout
    /// Whether paths become lookups for each row instead of sets made once.
    let looksUp: Bool
    private var aliasCount = 0

    init(schema: Schema, layout: TableLayout, looksUp: Bool) {
        self.schema = schema
        self.layout = layout
        self.looksUp = looksUp
    }

    mutating func condition(_ predicate: Query.Predicate) -> SQLStatement {
        switch predicate {
        case .constant(let isTrue): return isTrue ? "1" : "0"
        case .comparison(let comparison): return condition(comparison, isNegated: false)
        case .not(let comparison): return condition(comparison, isNegated: true)
        case .and(let operands): return .balanced(conditions(operands)[...], by: " AND ")
        case .or(let operands): return .balanced(conditions(operands)[...], by: " OR ")
        }
    }

    private mutating func conditions(_ operands: [Query.Predicate]) -> [SQLStatement] {
        var result: [SQLStatement] = []
        for operand in operands { result.append(condition(operand)) }
        return result
    }

    private mutating func condition(_ comparison: Query.Comparison, isNegated: Bool) -> SQLStatement {
        let (path, test) = subject(of: comparison)
        guard path.isToMany else {
            return condition(path, from: 0, alias: SQLCompiler.rootAlias, isNegated ? test.negated : test)
        }
        let isAll = comparison.quantifier == .all
        let any = condition(path, from: 0, alias: SQLCompiler.rootAlias, isAll ? test.negated : test)
        return isAll != isNegated ? "(\(any)) IS NOT TRUE" : any
    }

    /// The path that is tested, that with many values first, and the test that the other side makes.
    private mutating func subject(of comparison: Query.Comparison) -> (Query.Path, SQLTest) {
        let ignoresCase = comparison.ignoresCase
        switch (comparison.left, comparison.right) {
        case (.path(let path), .constant(let value)):
            return (path, SQLTest(comparison.comparison, .right(value), ignoresCase: ignoresCase))
        case (.path(let path), .list(let values)):
            return (path, SQLTest(comparison.comparison, .list(values), ignoresCase: ignoresCase))
        case (.constant(let value), .path(let path)):
            return (path, SQLTest(comparison.comparison, .left(value), ignoresCase: ignoresCase))
        case (.path(let left), .path(let right)):
            let isTurned = right.isToMany
            let other = SQLTest.Other(
                value: value(of: isTurned ? left : right), type: isTurned ? left.type : right.type)
            let operand: SQLTest.Operand = isTurned ? .leftExpression(other) : .rightExpression(other)
            return (isTurned ? right : left, SQLTest(comparison.comparison, operand, ignoresCase: ignoresCase))
        default: preconditionFailure("a checked comparison has a path on one side at least")
        }
    }

    // MARK: Paths

    /// Whether any value of a path, followed from an object, passes a test.
    mutating func condition(
        _ path: Query.Path, from index: Int, alias: String, _ test: SQLTest
    ) -> SQLStatement {
        guard index < path.steps.count else { return leaf(path, alias: alias, test) }
        let isSingle = path.hasOneValue(from: index)
        if isSingle, test.isOfExpression {
            return test.condition(value(of: path, from: index, alias: alias), path.type)
        }
        if isSingle, test.passes(path.brokenValue) {
            // The test passes where a link leads nowhere; its negation needs an object at the end.
            return "(\(condition(path, from: index, alias: alias, test.negated))) IS NOT TRUE"
        }
        let step = path.steps[index]
        guard step.isToMany else {
            return target("\(sql: column(step.property, step.classIndex, alias))", path, index, test)
        }
        let element = nextAlias()
        let inner = target("\(sql: element).value", path, index, test)
        return owner(step.classIndex, step.property, element, of: alias, where: inner)
    }

    /// Whether a link leads to a present object from which the rest of the path passes.
    private mutating func target(
        _ link: SQLStatement, _ path: Query.Path, _ index: Int, _ test: SQLTest
    ) -> SQLStatement {
        let step = path.steps[index]
        let alias = nextAlias()
        let inner = condition(path, from: index + 1, alias: alias, test)
        return looksUp
            ? "EXISTS \(object(alias, step.targetClass, "1", where: "\(sql: alias)._row = \(link) AND (\(inner))"))"
            : "\(link) IN \(object(alias, step.targetClass, "\(sql: alias)._row", where: "(\(inner))"))"
    }

    /// Whether a collection of an object has an element for which a condition holds.
    private func owner(
        _ classIndex: Int, _ property: Int, _ element: String, of alias: String, where condition: SQLStatement
    ) -> SQLStatement {
        let table = collection(property, classIndex)
        guard looksUp else {
            let owner: SQLStatement = "\(sql: element).owner"
            return "\(sql: alias)._row IN \(subquery(table, element, owner, where: condition))"
        }
        let isOwn: SQLStatement = "\(sql: element).owner = \(sql: alias)._row AND (\(condition))"
        return "EXISTS \(subquery(table, element, "1", where: isOwn))"
    }

    private mutating func leaf(_ path: Query.Path, alias: String, _ test: SQLTest) -> SQLStatement {
        switch path.leaf {
        case .elements(let property), .keys(let property):
            let element = nextAlias()
            let isKey = if case .keys = path.leaf { true } else { false }
            let column: SQLStatement = "\(sql: element).\(sql: isKey ? "key" : "value")"
            var inner: SQLStatement
            if case .link(let target) = path.type {
                let object = nextAlias()
                inner = isPresent(column, target, object)
                let identity = linkTest(column, target, test)
                inner = "\(inner) AND (\(identity))"
            } else {
                inner = test.condition(column, path.type)
            }
            return owner(path.leafClass, property, element, of: alias, where: inner)
        case .link(let property):
            guard !test.isOfExpression, case .link(let target) = path.type else {
                return test.condition(value(of: path, from: path.steps.count, alias: alias), path.type)
            }
            return linkTest("\(sql: column(property, path.leafClass, alias))", target, test)
        default:
            return test.condition(value(of: path, from: path.steps.count, alias: alias), path.type)
        }
    }

    /// A test of a link's identity; a link to what is not here is null.
    private mutating func linkTest(_ link: SQLStatement, _ target: Int, _ test: SQLTest) -> SQLStatement {
        let alias = nextAlias()
        guard let keys = test.linkKeys else {
            return test.isOfExpression
                ? test.condition(link, .link(target))
                : test.wantsNull ? "(\(isPresent(link, target, alias))) IS NOT TRUE" : isPresent(link, target, alias)
        }
        guard !keys.isEmpty else { return test.isExclusive ? "1" : "0" }
        let rows = object(alias, target, "\(sql: alias)._row", where: identity(keys, schema[target], alias))
        let isAmong: SQLStatement = "\(link) IN \(rows)"
        return test.isExclusive ? "(\(isAmong)) IS NOT TRUE" : isAmong
    }

    private func identity(_ keys: [ObjectKey], _ declared: ClassSchema, _ alias: String) -> SQLStatement {
        guard let primaryKey = declared.primaryKey else {
            let pairs = keys.map { key -> SQLStatement in
                guard case .id(let id) = key else { return "(NULL, NULL)" }
                return "(\(.integer(TableLayout.word(id.high))), \(.integer(TableLayout.word(id.low))))"
            }
            // An index serves two columns against a plain SELECT, and not against VALUES with several rows.
            let values: SQLStatement = "SELECT column1, column2 FROM (VALUES \(.joined(pairs, by: ", ")))"
            return "(\(sql: alias)._hi, \(sql: alias)._lo) IN (\(values))"
        }
        let values = keys.map { key -> SQLStatement in "\(SQLBinding(key.value) ?? .null)" }
        return "\(sql: alias).\(sql: layout.column(primaryKey)) IN (\(.joined(values, by: ", ")))"
    }

    private func isPresent(_ link: SQLStatement, _ target: Int, _ alias: String) -> SQLStatement {
        "EXISTS \(object(alias, target, "1", where: "\(sql: alias)._row = \(link)"))"
    }

    // MARK: Subqueries

    /// What a present object of a class yields, in parentheses.
    private func object(
        _ alias: String, _ classIndex: Int, _ output: SQLStatement, where condition: SQLStatement
    ) -> SQLStatement {
        let table = layout.table(schema[classIndex].name)
        return subquery(table, alias, output, where: "\(sql: alias)._state = 1 AND \(condition)")
    }

    private func subquery(
        _ table: String, _ alias: String, _ output: SQLStatement, where condition: SQLStatement
    ) -> SQLStatement {
        "(SELECT \(output) FROM \(sql: table) \(sql: alias) WHERE \(condition))"
    }

    // MARK: Values

    /// The value of a path that has one, as an expression over the root.
    mutating func value(of path: Query.Path) -> SQLStatement {
        value(of: path, from: 0, alias: SQLCompiler.rootAlias)
    }

    private mutating func value(of path: Query.Path, from index: Int, alias: String) -> SQLStatement {
        let value = chain(path, from: index, alias: alias)
        return index < path.steps.count && !path.brokenValue.isNull ? "coalesce(\(value), 0)" : value
    }

    private mutating func chain(_ path: Query.Path, from index: Int, alias: String) -> SQLStatement {
        guard index < path.steps.count else { return leafValue(path, alias: alias) }
        let step = path.steps[index]
        let next = nextAlias()
        let inner = chain(path, from: index + 1, alias: next)
        let link = column(step.property, step.classIndex, alias)
        return object(next, step.targetClass, inner, where: "\(sql: next)._row = \(sql: link)")
    }

    private mutating func leafValue(_ path: Query.Path, alias: String) -> SQLStatement {
        let element = nextAlias()
        switch path.leaf {
        case .value(let property): return "\(sql: column(property, path.leafClass, alias))"
        case .size(let property): return "length(CAST(\(sql: column(property, path.leafClass, alias)) AS BLOB))"
        case .presence(let property, let target):
            return isPresent("\(sql: column(property, path.leafClass, alias))", target, element)
        case .link(let property):
            guard case .link(let target) = path.type else { return "NULL" }
            let link = column(property, path.leafClass, alias)
            let row: SQLStatement = "\(sql: element)._row"
            return object(element, target, row, where: "\(row) = \(sql: link)")
        case .entry(let property, let key):
            let isOwn: SQLStatement = "\(sql: element).owner = \(sql: alias)._row"
            return subquery(
                collection(property, path.leafClass), element, "\(sql: element).value",
                where: "\(isOwn) AND \(sql: element).key = \(SQLBinding(key) ?? .null)")
        case .count(let property):
            return subquery(
                collection(property, path.leafClass), element, "count(*)",
                where: "\(sql: element).owner = \(sql: alias)._row")
        case .elements, .keys: preconditionFailure("a path with many values has no single one")
        }
    }

    // MARK: Names

    private func column(_ property: Int, _ classIndex: Int, _ alias: String) -> String {
        alias + "." + layout.column(schema[classIndex].properties[property].name)
    }

    private func collection(_ property: Int, _ classIndex: Int) -> String {
        layout.table(schema[classIndex].name, collection: schema[classIndex].properties[property].name)
    }

    private mutating func nextAlias() -> String {
        aliasCount += 1
        return "t\(aliasCount)"
    }
}

extension Query.Path {
    /// Whether the path has exactly one value when followed from the object before the step at `index`.
    fileprivate func hasOneValue(from index: Int) -> Bool {
        switch leaf {
        case .elements, .keys: false
        default: !steps[index...].contains(where: \.isToMany)
        }
    }
}
