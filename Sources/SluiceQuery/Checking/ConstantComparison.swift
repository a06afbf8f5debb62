internal import FoundationEssentials
internal import SluiceModel

/// A comparison without any property: it is true or false by itself.
struct ConstantComparison {
    private let left: CheckedOperand
    private let right: CheckedOperand
    private let syntax: ComparisonSyntax

    init(_ left: CheckedOperand, _ right: CheckedOperand, _ syntax: ComparisonSyntax) {
        self.left = left
        self.right = right
        self.syntax = syntax
    }

    func isTrue() throws(QueryError) -> Bool {
        guard case .literal(let left) = left else {
            throw QueryError(
                .syntax, "a comparison needs a property or a value on its left",
                at: syntax.left.position ?? syntax.position)
        }
        let value = try value(left)
        switch (right, syntax.comparison) {
        case (.literal(let right), let comparison) where comparison != .isIn && comparison != .between:
            return try holds(value, comparison, self.value(right))
        case (.list(let literals, nil, _), .isIn):
            for literal in literals where try holds(value, .equal, self.value(literal)) { return true }
            return false
        case (.list(let literals, nil, _), .between) where literals.count == 2:
            guard try holds(value, .greaterOrEqual, self.value(literals[0])) else { return false }
            return try holds(value, .lessOrEqual, self.value(literals[1]))
        default:
            throw QueryError(
                .typeMismatch, "\(syntax.comparison.rawValue) does not compare a constant with such a list",
                at: syntax.position)
        }
    }

    private func holds(
        _ left: Value, _ comparison: ComparisonOperator, _ right: Value
    ) throws(QueryError) -> Bool {
        let isComparable =
            left.isNull || right.isNull || left.scalarType == right.scalarType
            || left.scalarType?.isNumeric == true && right.scalarType?.isNumeric == true
        guard isComparable else {
            throw QueryError(
                .typeMismatch, "unsupported comparison between type '\(left.kindName)' and type '\(right.kindName)'",
                at: syntax.position)
        }
        return ValueComparison(comparison, ignoresCase: syntax.ignoresCase).holds(left, right)
    }

    private func value(_ literal: LiteralSyntax) throws(QueryError) -> Value {
        switch literal.kind {
        case .value(.decimal(let number)): return .double(Double(number.description) ?? .nan)
        case .value(let value): return value
        case .number(let digits): return Int64(digits).map { .int($0) } ?? .double(Double(digits) ?? .nan)
        case .object:
            throw QueryError(.typeMismatch, "an object compares with links only", at: literal.position)
        }
    }
}
