internal import FoundationEssentials
internal import SluiceModel

/// One side of a comparison, as far as it can be checked without the other.
enum CheckedOperand {
    case side(OperandSide)
    case literal(LiteralSyntax)
    case list([LiteralSyntax], PathSyntax.Quantifier?, position: Int?)
}

extension Checker {
    func operand(_ syntax: ExpressionSyntax, depth: Int = 0) throws(QueryError) -> CheckedOperand {
        guard depth < QueryLimits.arithmeticTermCountMax else { throw Self.tooManyTerms(at: syntax.position) }
        switch syntax {
        case .path(let path): return .side(try side(path))
        case .literal(let literal): return .literal(literal)
        case .list(let literals, let quantifier, let position): return .list(literals, quantifier, position: position)
        case .subquery(let subquery):
            let path = try self.subquery(subquery)
            return .side(
                OperandSide(
                    operand: .path(path), type: path.type, quantifier: nil, name: "SUBQUERY(…).@count",
                    position: subquery.position))
        case .arithmetic(let arithmetic): return try self.arithmetic(arithmetic, depth: depth + 1)
        }
    }

    /// Checks a path and its quantifier.
    private func side(_ syntax: PathSyntax) throws(QueryError) -> OperandSide {
        let path = try path(syntax)
        if let quantifier = syntax.quantifier, !path.isToMany {
            throw QueryError(
                .typeMismatch,
                "the keypath following '\(quantifier.rawValue)' must contain a list; '\(path.text)' has none",
                at: syntax.position)
        }
        var name = path.text
        if let property = path.leafProperty, path.leaf.isOfPropertysType {
            name = "\(schema[path.leafClass].name).\(schema[path.leafClass].properties[property].name)"
        }
        return OperandSide(
            operand: .path(path), type: path.type, quantifier: syntax.quantifier, name: name, position: syntax.position)
    }

    // MARK: Arithmetic

    private func arithmetic(_ syntax: ArithmeticSyntax, depth: Int) throws(QueryError) -> CheckedOperand {
        let left = try operand(syntax.left, depth: depth)
        let right = try operand(syntax.right, depth: depth)
        for case .literal(let literal) in [left, right] {
            guard case .now = literal.kind else { continue }
            throw QueryError(
                .typeMismatch,
                "to and from '$now' spans of time are added and subtracted only, as in $now - 90m or "
                    + "$now + 1d; the units are d, h, m, s, ms and us", at: syntax.position)
        }
        switch (left, right) {
        case (.literal(let left), .literal(let right)):
            return .literal(try ConstantArithmetic.fold(syntax.operation, left, right, at: syntax.position))
        case (.side(let side), .literal(let literal)):
            let type = try number(side, syntax)
            guard let value = try term(literal, beside: type, syntax) else { return .literal(null(literal)) }
            return .side(try combine(side, syntax, value.0, type, value.1, side: side))
        case (.literal(let literal), .side(let side)):
            let type = try number(side, syntax)
            guard let value = try term(literal, beside: type, syntax) else { return .literal(null(literal)) }
            return .side(
                try make(.constant(value.0), syntax, side.operand, Arithmetic.type(value.1, type), side.quantifier))
        case (.side(let left), .side(let right)):
            let type = Arithmetic.type(try number(left, syntax), try number(right, syntax))
            if let own = left.quantifier, let other = right.quantifier, own != other {
                throw QueryError(
                    .typeMismatch,
                    "one side of a comparison takes one quantifier; this has \(own.rawValue) and \(other.rawValue)",
                    at: right.position)
            }
            return .side(
                try make(left.operand, syntax, right.operand, type, left.quantifier ?? right.quantifier))
        case (.list(let literals, let quantifier, let position), .literal(let right)):
            var results: [LiteralSyntax] = []
            for left in literals {
                results.append(try ConstantArithmetic.fold(syntax.operation, left, right, at: syntax.position))
            }
            return .list(results, quantifier, position: position)
        case (.literal(let left), .list(let literals, let quantifier, let position)):
            var results: [LiteralSyntax] = []
            for right in literals {
                results.append(try ConstantArithmetic.fold(syntax.operation, left, right, at: syntax.position))
            }
            return .list(results, quantifier, position: position)
        case (.list(_, _, let position), _), (_, .list(_, _, let position)):
            throw QueryError(
                .typeMismatch, "'\(syntax.operation.rawValue)' works on numbers; found a list", at: position)
        }
    }

    private func combine(
        _ left: OperandSide, _ syntax: ArithmeticSyntax, _ value: Value, _ type: ScalarType, _ valueType: ScalarType,
        side: OperandSide
    ) throws(QueryError) -> OperandSide {
        try make(left.operand, syntax, .constant(value), Arithmetic.type(type, valueType), side.quantifier)
    }

    /// Makes arithmetic in canonical form. The operands of + and * change places where that saves parentheses;
    /// otherwise they are sorted by text, so that equal sums have equal texts.
    private func make(
        _ left: Query.Comparison.Operand, _ syntax: ArithmeticSyntax, _ right: Query.Comparison.Operand,
        _ type: ScalarType, _ quantifier: PathSyntax.Quantifier?
    ) throws(QueryError) -> OperandSide {
        var (left, right) = (left, right)
        if syntax.operation.isCommutative {
            let isLeftNested = left.needsParentheses(in: syntax.operation, isRight: true)
            let isRightNested = right.needsParentheses(in: syntax.operation, isRight: true)
            let isTurned =
                isLeftNested == isRightNested
                ? UTF8Order.less(CanonicalText.operand(right), CanonicalText.operand(left)) : isRightNested
            if isTurned { (left, right) = (right, left) }
        }
        let operand = Query.Comparison.Operand.arithmetic(syntax.operation, left, right, type)
        let terms = operand.terms
        guard terms.count <= QueryLimits.arithmeticTermCountMax else { throw Self.tooManyTerms(at: syntax.position) }
        let linkCount = terms.reduce(0) { $0 + $1.joinedLinkCount }
        guard linkCount <= QueryLimits.arithmeticLinkCountMax else {
            throw QueryError(
                .limitExceeded,
                "arithmetic goes through more than \(QueryLimits.arithmeticLinkCountMax) links and collections",
                at: syntax.position)
        }
        return OperandSide(
            operand: operand, type: .scalar(type), quantifier: quantifier, name: CanonicalText.operand(operand),
            position: syntax.left.position ?? syntax.position)
    }

    private static func tooManyTerms(at position: Int?) -> QueryError {
        QueryError(
            .limitExceeded, "arithmetic has more than \(QueryLimits.arithmeticTermCountMax) numbers", at: position)
    }

    private func number(_ side: OperandSide, _ syntax: ArithmeticSyntax) throws(QueryError) -> ScalarType {
        guard case .scalar(let type) = side.type, type.isNumeric else {
            throw QueryError(
                .typeMismatch,
                "operator '\(syntax.operation.rawValue)' not supported for type '\(side.typeName)' (\(side.name))",
                at: syntax.position)
        }
        return type
    }

    private func null(_ literal: LiteralSyntax) -> LiteralSyntax {
        LiteralSyntax(.value(.null), position: literal.position)
    }

    /// Converts a literal beside an operand of a type, and returns it with its own type; nil for null. Beside an
    /// integer, a literal that is written as an integer is one, and any other a double.
    private func term(
        _ literal: LiteralSyntax, beside type: ScalarType, _ syntax: ArithmeticSyntax
    ) throws(QueryError) -> (Value, ScalarType)? {
        if case .value(.null) = literal.kind { return nil }
        guard let digits = Self.number(literal) else {
            throw QueryError(
                .typeMismatch,
                "operator '\(syntax.operation.rawValue)' not supported for type '\(literal.typeName)'",
                at: literal.position)
        }
        if type == .int {
            if let number = Int64(digits) { return (.int(number), .int) }
            return try term(literal, beside: .double, syntax)
        }
        switch try numeric(digits, type, literal) {
        case .exact(let value): return (value, type)
        default: return (type == .decimal ? .decimal(.nan) : .double(.nan), type == .float ? .double : type)
        }
    }
}

extension Query.Comparison.Operand {
    /// How many links and collections a term with many values goes through; 0 for a term with one value.
    fileprivate var joinedLinkCount: Int {
        guard case .path(let path) = self, path.isToMany else { return 0 }
        if case .elements = path.leaf { return path.steps.count + 1 }
        return path.steps.count
    }
}

/// Computes arithmetic of constants before they take the type of what they are compared with.
private enum ConstantArithmetic {
    /// Integers stay integers; other numbers are computed as decimals, or as doubles where decimals cannot hold them.
    static func fold(
        _ operation: ArithmeticOperator, _ left: LiteralSyntax, _ right: LiteralSyntax, at position: Int?
    ) throws(QueryError) -> LiteralSyntax {
        if case .value(.null) = left.kind { return left }
        if case .value(.null) = right.kind { return right }
        guard let leftDigits = Checker.number(left), let rightDigits = Checker.number(right) else {
            let wrong = Checker.number(left) == nil ? left : right
            throw QueryError(
                .typeMismatch,
                "operator '\(operation.rawValue)' not supported for type '\(wrong.typeName)'",
                at: wrong.position)
        }
        if let leftNumber = Int64(leftDigits), let rightNumber = Int64(rightDigits) {
            let result = Arithmetic.apply(operation, .int(leftNumber), .int(rightNumber), as: .int)
            return LiteralSyntax(.value(result), position: left.position)
        }
        if let leftNumber = try? DecimalText.parse(leftDigits), let rightNumber = try? DecimalText.parse(rightDigits),
            case .decimal(let result) = Arithmetic.apply(
                operation, .decimal(leftNumber), .decimal(rightNumber), as: .decimal)
        {
            // A result is an integer only if both numbers are written as integers: 2.0 * 3 is 6.0.
            let digits = result.description.lowercased()
            let isFloating = digits.utf8.contains { $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "e") }
            return LiteralSyntax(.number(isFloating ? digits : digits + ".0"), position: left.position)
        }
        let result = Arithmetic.apply(
            operation, .double(Double(leftDigits) ?? .nan), .double(Double(rightDigits) ?? .nan), as: .double)
        return LiteralSyntax(.value(result), position: left.position)
    }
}
