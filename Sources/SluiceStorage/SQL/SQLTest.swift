internal import SluiceModel
internal import SluiceQuery

/// Compiles a comparison with one known side to SQL over the other side.
struct SQLTest {
    struct Other {
        let value: SQLStatement
        let type: Query.Path.ValueType
    }

    enum Operand {
        case right(Value)
        case left(Value)
        case list([Value])
        case rightExpression(Other)
        case leftExpression(Other)
    }

    private let comparison: ComparisonOperator
    private let operand: Operand
    private let ignoresCase: Bool
    private var isNegated = false

    init(_ comparison: ComparisonOperator, _ operand: Operand, ignoresCase: Bool) {
        self.comparison = comparison
        self.operand = operand
        self.ignoresCase = ignoresCase
    }

    /// The test that passes exactly where this one fails.
    var negated: SQLTest {
        var test = self
        test.isNegated.toggle()
        return test
    }

    /// Whether the known side is an expression and not a constant.
    var isOfExpression: Bool {
        switch operand {
        case .rightExpression, .leftExpression: true
        case .right, .left, .list: false
        }
    }

    /// Whether a value passes the test; false for a test against an expression.
    func passes(_ value: Value) -> Bool {
        let test: ValueTest
        switch operand {
        case .right(let constant): test = ValueTest(comparison, constant, ignoresCase: ignoresCase)
        case .left(let constant): test = ValueTest(constant, comparison, ignoresCase: ignoresCase)
        case .list(let values): test = ValueTest(isIn: values, ignoresCase: ignoresCase)
        case .rightExpression, .leftExpression: return false
        }
        return test.passes(value) != isNegated
    }

    // MARK: Links

    /// The keys that a link is tested against; nil for a test against null or an expression.
    var linkKeys: [ObjectKey]? {
        let values: [Value]
        switch operand {
        case .right(let value): values = [value]
        case .list(let list): values = list
        default: return nil
        }
        let keys = values.compactMap { value in
            if case .link(let key) = value { key } else { nil }
        }
        return keys.isEmpty && !values.isEmpty ? nil : keys
    }

    /// Whether null is among what a link is tested against.
    var listsNull: Bool { if case .list(let list) = operand { list.contains(.null) } else { false } }

    /// Whether a test against keys passes for every other key.
    var isExclusive: Bool { (comparison == .notEqual) != isNegated }

    /// Whether a test of a link against null passes for null.
    var wantsNull: Bool { (comparison == .equal || comparison == .isIn) != isNegated }

    // MARK: Counts

    /// For a test of a count: true if it passes for all counts above zero, false if it passes for zero alone. Nil for
    /// any other test.
    var wantsSome: Bool? {
        guard case .right(.int(let number)) = operand else { return nil }
        switch (comparison, number) {
        case (.greater, 0), (.greaterOrEqual, 1), (.notEqual, 0): return !isNegated
        case (.equal, 0), (.lessOrEqual, 0), (.less, 1): return isNegated
        default: return nil
        }
    }

    // MARK: Scalars

    /// The test as a condition on an expression of a type.
    func condition(_ expression: SQLStatement, _ type: Query.Path.ValueType) -> SQLStatement {
        if case .right(let constant) = operand, !constant.isNull, comparison == .equal || comparison == .notEqual {
            let wantsEqual = (comparison == .equal) != isNegated
            return "\(folded(expression)) \(sql: wantsEqual ? "=" : "IS NOT") \(SQLBinding(constant) ?? .null)"
        }
        let positive = positive(expression, type)
        return isNegated ? "(\(positive)) IS NOT TRUE" : positive
    }

    private func positive(_ expression: SQLStatement, _ type: Query.Path.ValueType) -> SQLStatement {
        switch operand {
        case .right(.null): return isNull(expression)
        case .right(let constant): return compare(expression, constant, type)
        case .list(let values): return isIn(expression, values)
        case .left(let constant):
            return search(in: "\(SQLBinding(constant) ?? .null)", for: folded(expression))
        case .rightExpression(let other):
            return comparison.isTextSearch
                ? search(in: folded(expression), for: folded(other.value))
                : compare(folded(expression), type, folded(other.value), other.type)
        case .leftExpression(let other):
            return comparison.isTextSearch
                ? search(in: folded(other.value), for: folded(expression))
                : compare(folded(other.value), other.type, folded(expression), type)
        }
    }

    private func isNull(_ expression: SQLStatement) -> SQLStatement {
        switch comparison {
        case .equal, .lessOrEqual, .greaterOrEqual, .like: "\(expression) IS NULL"
        case .notEqual: "\(expression) IS NOT NULL"
        case .beginsWith, .endsWith, .contains: "1"
        case .less, .greater, .isIn, .between: "0"
        }
    }

    private func folded(_ expression: SQLStatement) -> SQLStatement {
        ignoresCase ? "\(sql: TableLayout.Function.fold)(\(expression))" : expression
    }

    private func isIn(_ expression: SQLStatement, _ values: [Value]) -> SQLStatement {
        let bindings = values.filter { !$0.isNull }.map { SQLBinding($0) ?? .null }
        let membership: SQLStatement = bindings.isEmpty ? "0" : "\(folded(expression)) IN (\(.list(bindings)))"
        return bindings.count == values.count ? membership : "(\(expression) IS NULL OR \(membership))"
    }

    private func compare(
        _ expression: SQLStatement, _ constant: Value, _ type: Query.Path.ValueType
    ) -> SQLStatement {
        let binding = SQLBinding(constant) ?? .null
        switch comparison {
        case .less, .lessOrEqual: return "\(expression) \(sql: comparison.rawValue) \(binding)"
        case .greater, .greaterOrEqual:
            if expression.isComputed {
                return "\(Self.withoutNaN(expression, type)) \(sql: comparison.rawValue) \(binding)"
            }
            let order: SQLStatement = "\(expression) \(sql: comparison.rawValue) \(binding)"
            return Self.isNumber(expression, type).map { "(\(order) AND \($0))" } ?? order
        case .beginsWith: return beginsWith(expression, constant)
        case .endsWith:
            let count = constant.byteCount ?? 0
            if count == 0 { return "\(expression) IS NOT NULL" }
            return Self.call(.endsWith, folded(expression), "\(binding)")
        case .contains: return Self.call(.contains, folded(expression), "\(binding)")
        case .like:
            return "\(sql: TableLayout.Function.like)(\(binding), \(expression), \(sql: ignoresCase ? "1" : "0"))"
        default: return "0"
        }
    }

    private static func call(
        _ comparison: ComparisonOperator, _ text: SQLStatement, _ needle: SQLStatement
    ) -> SQLStatement {
        "\(sql: TableLayout.Function.search(comparison))(\(text), \(needle))"
    }

    /// BEGINSWITH as a range of texts, which an index can serve.
    private func beginsWith(_ expression: SQLStatement, _ constant: Value) -> SQLStatement {
        let binding = SQLBinding(constant) ?? .null
        guard !ignoresCase else { return Self.call(.beginsWith, folded(expression), "\(binding)") }
        guard let end = PrefixRange.end(of: constant), let bound = SQLBinding(end) else {
            return "\(expression) >= \(binding)"
        }
        return "(\(expression) >= \(binding) AND \(expression) < \(bound))"
    }

    // MARK: Expressions

    /// A text search, where both texts are folded already. Null is found in everything, and nothing but null is found
    /// in null.
    private func search(in text: SQLStatement, for needle: SQLStatement) -> SQLStatement {
        switch comparison {
        case .contains, .beginsWith, .endsWith:
            return "(\(needle) IS NULL OR \(Self.call(comparison, text, needle)))"
        default:
            return """
                (CASE WHEN \(needle) IS NULL THEN \(text) IS NULL \
                ELSE \(sql: TableLayout.Function.like)(\(needle), \(text), 0) END)
                """
        }
    }

    /// Compares two expressions: null equals null, NaN equals nothing.
    private func compare(
        _ left: SQLStatement, _ leftType: Query.Path.ValueType, _ right: SQLStatement, _ rightType: Query.Path.ValueType
    ) -> SQLStatement {
        if leftType != rightType, leftType == .scalar(.decimal) || rightType == .scalar(.decimal) {
            return compare(
                Self.decimal(left, leftType), .scalar(.decimal), Self.decimal(right, rightType), .scalar(.decimal))
        }
        func equality() -> SQLStatement {
            let same: SQLStatement = "\(left) IS \(right)"
            return Self.isNaN(left, leftType).map { "(\(same) AND (\($0)) IS NOT TRUE)" } ?? same
        }
        switch comparison {
        case .equal: return equality()
        case .notEqual: return "(\(equality())) IS NOT TRUE"
        default:
            let isLess = comparison == .less || comparison == .lessOrEqual
            let (greater, type) = isLess ? (right, rightType) : (left, leftType)
            var order: SQLStatement = "\(left) \(sql: comparison.rawValue) \(right)"
            if greater.isComputed {
                let number = Self.withoutNaN(greater, type)
                order = "\(isLess ? left : number) \(sql: comparison.rawValue) \(isLess ? number : right)"
            } else if let bound = Self.isNumber(greater, type) {
                order = "(\(order) AND \(bound))"
            }
            let acceptsNulls = comparison == .lessOrEqual || comparison == .greaterOrEqual
            return acceptsNulls ? "(\(order) OR (\(left) IS NULL AND \(right) IS NULL))" : order
        }
    }

    /// A number as a decimal.
    private static func decimal(_ expression: SQLStatement, _ type: Query.Path.ValueType) -> SQLStatement {
        guard case .scalar(let type) = type, type != .decimal else { return expression }
        return "\(sql: TableLayout.Function.decimal)(\(sql: String(type.code)), \(expression))"
    }

    /// A condition that excludes NaN, which sorts above every number; nil for types without NaN.
    private static func isNumber(_ expression: SQLStatement, _ type: Query.Path.ValueType) -> SQLStatement? {
        switch type {
        case .scalar(.float), .scalar(.double): "\(expression) <= 9e999"
        case .scalar(.decimal): "\(expression) < x'04'"
        default: nil
        }
    }

    /// The number, or null for NaN; the expression is computed only once.
    private static func withoutNaN(_ expression: SQLStatement, _ type: Query.Path.ValueType) -> SQLStatement {
        switch type {
        case .scalar(.float), .scalar(.double): "nullif(\(expression), '\(sql: SQLBinding.notANumber)')"
        case .scalar(.decimal): "nullif(\(expression), x'04')"
        default: expression
        }
    }

    private static func isNaN(_ expression: SQLStatement, _ type: Query.Path.ValueType) -> SQLStatement? {
        switch type {
        case .scalar(.float), .scalar(.double): "\(expression) = '\(sql: SQLBinding.notANumber)'"
        case .scalar(.decimal): "\(expression) = x'04'"
        default: nil
        }
    }
}

extension SQLStatement {
    /// Whether this is more than a column.
    fileprivate var isComputed: Bool { text.utf8.contains(UInt8(ascii: "(")) }
}
