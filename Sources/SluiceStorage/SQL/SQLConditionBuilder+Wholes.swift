internal import SluiceModel
internal import SluiceQuery

/// Compares two sides with many values as wholes: both have the same number of values, and there is no value without a
/// match at its place or, in sets, anywhere.
extension SQLConditionBuilder {
    /// - Parameter test: the operator, which is not `!=`.
    mutating func wholes(_ comparison: Query.Comparison, _ test: ComparisonOperator) -> SQLStatement {
        let ignoresCase = comparison.ignoresCase
        switch (comparison.left, comparison.right) {
        case (let side, .constant(let constants)):
            return whole(side, comparison.relation, constants) { SQLTest(test, .right($0), ignoresCase: ignoresCase) }
        case (.constant(let constants), let side):
            return whole(side, comparison.relation, constants) { SQLTest(test, .left($0), ignoresCase: ignoresCase) }
        case (let left, let right):
            let (own, other) = (Whole(numbered(left), nextAlias()), Whole(numbered(right), nextAlias()))
            let expression = SQLTest.Other(value: other.value, type: right.type ?? .scalar(.int))
            let isMatch = SQLTest(test, .rightExpression(expression), ignoresCase: ignoresCase)
                .condition(own.value, left.type ?? .scalar(.int))
            let count: SQLStatement = "\(own.rows.select("count(*)")) = \(other.rows.select("count(*)"))"
            let unmatched: SQLStatement
            if comparison.relation == .asSets {
                let matched: SQLStatement = "EXISTS (SELECT 1 FROM \(other.table) WHERE \(isMatch))"
                unmatched = "SELECT 1 FROM \(own.table) WHERE (\(matched)) IS NOT TRUE"
            } else {
                unmatched = """
                    SELECT 1 FROM \(own.table), \(other.table) \
                    WHERE \(own.number) = \(other.number) AND (\(isMatch)) IS NOT TRUE
                    """
            }
            return "(\(count) AND NOT EXISTS (\(unmatched)))"
        }
    }

    private mutating func whole(
        _ side: Query.Comparison.Operand, _ relation: Query.Comparison.Relation, _ constants: Value,
        _ test: (Value) -> SQLTest
    ) -> SQLStatement {
        let values: [Value]
        switch constants {
        case .list(let elements), .set(let elements): values = elements
        default: values = []
        }
        let whole = Whole(numbered(side), nextAlias())
        guard !values.isEmpty else { return "NOT EXISTS \(whole.rows.select("1"))" }
        var tests: [SQLStatement] = []
        for value in values { tests.append(elementTest(test(value), whole.value, side.type ?? .scalar(.int))) }
        let isMatched: SQLStatement
        if relation == .asSets {
            isMatched = .balanced(tests[...], by: " OR ")
        } else {
            let cases = tests.enumerated().map { position, test -> SQLStatement in
                "WHEN \(sql: String(position)) THEN \(test)"
            }
            isMatched = "CASE \(whole.number) \(.joined(cases, by: " ")) END"
        }
        return """
            (\(whole.rows.select("count(*)")) = \(sql: String(values.count)) \
            AND NOT EXISTS (SELECT 1 FROM \(whole.table) WHERE (\(isMatched)) IS NOT TRUE))
            """
    }

    /// The values of a side, numbered from 0 by the single term of `order`; the numbers of a set may be any.
    private mutating func numbered(_ side: Query.Comparison.Operand) -> SQLRows {
        guard case .path(let path) = side, case .whole(let property) = path.leaf else {
            var rows = rows(of: side)
            rows.order = ["row_number() OVER (ORDER BY \(.joined(rows.order, by: ", "))) - 1"]
            return rows
        }
        var rows = SQLRows(value: "NULL")
        var alias = scopes[path.scope].alias
        for step in path.steps { alias = join(step, from: alias, in: &rows) }
        let element = nextAlias()
        rows.tables.append("\(sql: collection(property, path.leafClass)) \(sql: element)")
        rows.conditions.append("\(sql: element).owner = \(sql: alias)._row")
        rows.value = "\(sql: element).value"
        if case .link(let target) = path.type { rows.value = presentRow(rows.value, target, nextAlias()) }
        // What is stored ascends, with gaps: between the elements of an edited list, and where one does not show.
        rows.order = ["row_number() OVER (ORDER BY \(sql: element).position) - 1"]
        if let isShown = isShown(element, property, path.leafClass) { rows.conditions.append(isShown) }
        return rows
    }
}

/// The values of one side as a table of their own.
private struct Whole {
    let rows: SQLRows
    private let alias: String

    init(_ rows: SQLRows, _ alias: String) {
        self.rows = rows
        self.alias = alias
    }

    /// The table with its alias, for FROM.
    var table: SQLStatement {
        "\(rows.select("\(rows.value) AS v, \(rows.order.first ?? "0") AS n")) \(sql: alias)"
    }

    var value: SQLStatement { "\(sql: alias).v" }

    var number: SQLStatement { "\(sql: alias).n" }
}
