internal import FoundationEssentials
internal import SluiceModel

/// Evaluates a comparison of constants, which is true or false for all objects.
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
        switch (right, syntax.comparison) {
        case (.literal(let right), let comparison) where comparison != .isIn && comparison != .between:
            return try holds(left, comparison, right)
        case (.list(let literals, nil, _), .isIn):
            for literal in literals where try holds(left, .equal, literal) { return true }
            return false
        case (.list(let literals, nil, _), .between) where literals.count == 2:
            guard try holds(left, .greaterOrEqual, literals[0]) else { return false }
            return try holds(left, .lessOrEqual, literals[1])
        default:
            throw QueryError(
                .typeMismatch, "\(syntax.comparison.rawValue) does not compare a constant with such a list",
                at: syntax.position)
        }
    }

    private func holds(
        _ leftLiteral: LiteralSyntax, _ comparison: ComparisonOperator, _ rightLiteral: LiteralSyntax
    ) throws(QueryError) -> Bool {
        var (left, right) = (try value(leftLiteral), try value(rightLiteral))
        if left == right, case .date = left {
            // Dates in the same microsecond are ordered by their nanoseconds.
            (left, right) = (.int(leftLiteral.nanoseconds), .int(rightLiteral.nanoseconds))
        }
        let isComparable =
            left.isNull || right.isNull || left.scalarType == right.scalarType
            || left.scalarType?.isNumeric == true && right.scalarType?.isNumeric == true
        guard isComparable else {
            let isText = left.scalarType == .string || right.scalarType == .string
            throw QueryError(
                .typeMismatch,
                "unsupported comparison between type '\(left.kindName)' and type '\(right.kindName)'"
                    + (isText ? "; quotes make a string and never the name of a property" : ""),
                at: syntax.position)
        }
        if let order = Self.order(leftLiteral, rightLiteral) { (left, right) = (.int(order), .int(0)) }
        return ValueComparison(comparison, ignoresCase: syntax.ignoresCase).holds(left, right)
    }

    /// Compares two finite numbers exactly as they are written: negative, zero or positive; nil for anything else.
    private static func order(_ left: LiteralSyntax, _ right: LiteralSyntax) -> Int64? {
        guard let left = Checker.number(left).flatMap(ExactNumber.init),
            let right = Checker.number(right).flatMap(ExactNumber.init)
        else { return nil }
        return left < right ? -1 : left == right ? 0 : 1
    }

    private func value(_ literal: LiteralSyntax) throws(QueryError) -> Value {
        switch literal.kind {
        case .value(.decimal(let number)): return .double(Double(number.description) ?? .nan)
        case .value(let value): return value
        case .number(let digits): return Int64(digits).map { .int($0) } ?? .double(Double(digits) ?? .nan)
        case .instant(let date, _): return .date(date)
        case .untyped:
            throw QueryError(
                .typeMismatch, "an argument needs a property on the other side, whose type it takes",
                at: literal.position)
        case .member(_, let key): return key.value
        case .variable: throw literal.unbound
        case .now: throw Checker.misplacedNow("a constant", literal)
        case .object:
            throw QueryError(.typeMismatch, "an object compares with links only", at: literal.position)
        }
    }
}

extension LiteralSyntax {
    /// The nanoseconds of a date after its microsecond; 0 for any other literal.
    fileprivate var nanoseconds: Int64 {
        if case .instant(_, let nanoseconds) = kind { Int64(nanoseconds) } else { 0 }
    }
}
