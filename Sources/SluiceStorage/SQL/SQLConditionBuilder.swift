internal import SluiceModel
internal import SluiceQuery

/// Builds conditions and values over the tables of one statement.
///
/// SQL's logic has three values, the query's two: every condition made here is true where the query's is, and false or
/// null elsewhere. A negation is therefore `(…) IS NOT TRUE`.
struct SQLConditionBuilder {
    let schema: Schema
    let layout: TableLayout
    /// Whether paths become lookups for each row instead of sets that are computed once.
    let looksUp: Bool
    /// What the conditions and values made here see.
    var context: ReadContext
    /// The tables of the objects that paths begin at: the queried object, then the objects of the enclosing subqueries.
    var scopes: [Scope]
    /// The table expressions that the conditions and values made here use, each after those that it uses itself.
    var expressions: [SQLStatement] = []
    private var aliasCount = 0
    /// How many values are remembered, each in a slot of its own.
    var slotCount = 0

    /// The table of an object that paths begin at.
    struct Scope {
        let alias: String
        let classIndex: Int
    }

    init(schema: Schema, layout: TableLayout, looksUp: Bool, context: ReadContext, root: Scope) {
        self.schema = schema
        self.layout = layout
        self.context = context
        self.looksUp = looksUp
        scopes = [root]
    }

    mutating func nextAlias() -> String {
        aliasCount += 1
        return "t\(aliasCount)"
    }

    mutating func condition(_ predicate: Query.Predicate) -> SQLStatement {
        switch predicate {
        case .constant(let isTrue): return isTrue ? "1" : "0"
        case .comparison(let comparison): return condition(comparison, isNegated: false)
        case .not(let comparison): return condition(comparison, isNegated: true)
        case .and(let operands): return .balanced(conditions(operands, isConjunction: true)[...], by: " AND ")
        case .or(let operands): return .balanced(conditions(operands, isConjunction: false)[...], by: " OR ")
        }
    }

    private mutating func conditions(_ operands: [Query.Predicate], isConjunction: Bool) -> [SQLStatement] {
        var result: [SQLStatement] = []
        let (memberships, others) = TupleMembership.split(operands, isConjunction: isConjunction)
        for membership in memberships {
            let isMember = shallow(condition(membership), SQLDepth.conditionMax)
            result.append(isConjunction ? "(\(isMember)) IS NOT TRUE" : isMember)
        }
        for operand in others { result.append(shallow(condition(operand), SQLDepth.conditionMax)) }
        return result
    }

    /// Tests the values of a row against a list of tuples. SQLite builds the list once and looks the values up.
    private mutating func condition(_ membership: TupleMembership) -> SQLStatement {
        var values: [SQLStatement] = []
        for path in membership.paths { values.append(shallow(value: value(of: path))) }
        let columns = values.indices.map { SQLStatement("column" + String($0 + 1), []) }
        var rows: [SQLStatement] = []
        for tuple in membership.tuples {
            let constants = tuple.map { value -> SQLStatement in "\(SQLBinding(value) ?? .null)" }
            rows.append("(\(.joined(constants, by: ", ")))")
        }
        // SQLite uses an index of several columns for IN with a plain SELECT, but not with VALUES of several rows.
        return """
            (\(.joined(values, by: ", "))) IN (SELECT \(.joined(columns, by: ", ")) \
            FROM (VALUES \(.joined(rows, by: ", "))))
            """
    }

    private mutating func condition(_ comparison: Query.Comparison, isNegated: Bool) -> SQLStatement {
        if comparison.quantifier == nil {
            let isDifferent = comparison.comparison == .notEqual
            let condition = wholes(comparison, isDifferent ? .equal : comparison.comparison)
            return isDifferent == isNegated ? condition : "(\(condition)) IS NOT TRUE"
        }
        guard let (path, quantifier, test) = subject(of: comparison) else {
            let condition = quantified(comparison)
            return isNegated ? "(\(condition)) IS NOT TRUE" : condition
        }
        let alias = scopes[path.scope].alias
        guard path.isToMany else { return condition(path, from: 0, alias: alias, isNegated ? test.negated : test) }
        let isAll = quantifier == .all
        let any = condition(path, from: 0, alias: alias, isAll ? test.negated : test)
        return isAll != isNegated ? "(\(any)) IS NOT TRUE" : any
    }

    /// The path to test (the side with many values, if there is one), its quantifier, and the test that the other side
    /// makes; nil if both sides have many values, or the side to test is arithmetic.
    private mutating func subject(
        of comparison: Query.Comparison
    ) -> (Query.Path, Query.Comparison.Quantifier?, SQLTest)? {
        let ignoresCase = comparison.ignoresCase
        func test(_ operand: SQLTest.Operand) -> SQLTest {
            SQLTest(comparison.comparison, operand, ignoresCase: ignoresCase)
        }
        switch (comparison.left, comparison.right) {
        case (.path(let path), .constant(let value)): return (path, comparison.quantifier, test(.right(value)))
        case (.path(let path), .list(let values)) where comparison.comparison == .isIn:
            return (path, comparison.quantifier, test(.list(values)))
        case (.constant(let value), .path(let path)): return (path, comparison.rightQuantifier, test(.left(value)))
        case (.path(let path), let other) where !other.isToMany:
            return (path, comparison.quantifier, test(.rightExpression(expression(of: other))))
        case (let other, .path(let path)) where !other.isToMany:
            return (path, comparison.rightQuantifier, test(.leftExpression(expression(of: other))))
        default: return nil
        }
    }

    private mutating func expression(of operand: Query.Comparison.Operand) -> SQLTest.Other {
        SQLTest.Other(value: value(of: operand), type: operand.type ?? .scalar(.int))
    }

    // MARK: Any comparison

    private mutating func quantified(_ comparison: Query.Comparison) -> SQLStatement {
        let left = rows(of: comparison.left)
        let type = comparison.left.type ?? .scalar(.int)
        let inner: SQLStatement
        switch comparison.right {
        case .list(let values) where comparison.comparison == .isIn:
            inner = SQLTest(.isIn, .list(values), ignoresCase: comparison.ignoresCase).condition(left.value, type)
        case .list(let values):
            let tests = values.map { value -> SQLStatement in
                let test = SQLTest(comparison.comparison, .right(value), ignoresCase: comparison.ignoresCase)
                return elementTest(test, left.value, type)
            }
            let isAll = comparison.rightQuantifier == .all
            inner = .balanced(tests[...], by: isAll ? " AND " : " OR ")
        case .constant(let value):
            let test = SQLTest(comparison.comparison, .right(value), ignoresCase: comparison.ignoresCase)
            inner = elementTest(test, left.value, type)
        case .path, .arithmetic, .now:
            let right = rows(of: comparison.right)
            let other = SQLTest.Other(value: right.value, type: comparison.right.type ?? .scalar(.int))
            let test = SQLTest(comparison.comparison, .rightExpression(other), ignoresCase: comparison.ignoresCase)
            inner = right.exists(test.condition(left.value, type), isAll: comparison.rightQuantifier == .all)
        }
        return left.exists(inner, isAll: comparison.quantifier == .all)
    }

    /// Tests a value or, where the type is a link, the row id of a present object.
    mutating func elementTest(
        _ test: SQLTest, _ value: SQLStatement, _ type: Query.Path.ValueType
    ) -> SQLStatement {
        guard case .link(let target) = type else { return test.condition(value, type) }
        return linkTest(value, target, test)
    }

    // MARK: Names

    func column(_ property: Int, _ classIndex: Int, _ alias: String) -> String {
        alias + "." + layout.column(schema[classIndex].properties[property].name)
    }

    func collection(_ property: Int, _ classIndex: Int) -> String {
        layout.table(schema[classIndex].name, collection: schema[classIndex].properties[property].name)
    }

    func isList(_ property: Int, _ classIndex: Int) -> Bool {
        schema[classIndex].properties[property].type.container == .list
    }

    func isCollection(_ property: Int, _ classIndex: Int) -> Bool {
        schema[classIndex].properties[property].type.isCollection
    }
}
