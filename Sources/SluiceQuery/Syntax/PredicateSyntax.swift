package import SluiceModel

/// A condition as written, unchecked: the parser makes it of text, and `where { }` of Swift code.
package indirect enum PredicateSyntax: Sendable {
    case constant(Bool)
    case comparison(ComparisonSyntax)
    case not(PredicateSyntax)
    case and([PredicateSyntax])
    case or([PredicateSyntax])

    /// Joins two conditions by AND; a chain stays flat.
    package static func && (left: PredicateSyntax, right: PredicateSyntax) -> PredicateSyntax {
        if case .and(let operands) = left { return .and(operands + [right]) }
        return .and([left, right])
    }

    /// Joins two conditions by OR; a chain stays flat.
    package static func || (left: PredicateSyntax, right: PredicateSyntax) -> PredicateSyntax {
        if case .or(let operands) = left { return .or(operands + [right]) }
        return .or([left, right])
    }

    package static prefix func ! (operand: PredicateSyntax) -> PredicateSyntax { .not(operand) }
}

/// A comparison as written: two sides and an operator.
package struct ComparisonSyntax: Sendable {
    package var left: ExpressionSyntax
    package var comparison: ComparisonOperator
    /// `[c]`: compare texts with their case folded.
    package var ignoresCase: Bool
    package var right: ExpressionSyntax
    /// Where the operator is in the text, in UTF-8 bytes.
    package var position: Int?

    package init(
        _ left: ExpressionSyntax, _ comparison: ComparisonOperator, _ right: ExpressionSyntax,
        ignoresCase: Bool = false, position: Int? = nil
    ) {
        self.left = left
        self.comparison = comparison
        self.ignoresCase = ignoresCase
        self.right = right
        self.position = position
    }

    /// Whether this is a path that stands alone as a condition, which must be a Boolean property.
    package private(set) var isTruth = false

    /// Makes the condition that a Boolean property is true: `isNew`.
    ///
    /// - Parameter position: where an operator is missing in the text, in UTF-8 bytes.
    package init(truthOf path: PathSyntax, position: Int? = nil) {
        self.init(.path(path), .equal, .value(.bool(true)), position: position)
        isTruth = true
    }

    /// Makes the condition that a variable is true: `$role.admin`.
    package init(truthOf variable: LiteralSyntax) {
        self.init(.literal(variable), .equal, .value(.bool(true)), position: variable.position)
    }
}

/// One side of a comparison.
package indirect enum ExpressionSyntax: Sendable {
    case path(PathSyntax)
    case literal(LiteralSyntax)
    /// `{a, b}`, possibly after a quantifier.
    case list([LiteralSyntax], quantifier: PathSyntax.Quantifier? = nil, position: Int? = nil)
    case arithmetic(ArithmeticSyntax)
    /// `SUBQUERY(collection, $x, condition).@count`.
    case subquery(SubquerySyntax)

    /// A constant from Swift code.
    package static func value(_ value: Value) -> ExpressionSyntax { .literal(LiteralSyntax(.value(value))) }

    /// Several constants from Swift code.
    package static func values(_ values: some Sequence<Value>) -> ExpressionSyntax {
        .list(values.map { LiteralSyntax(.value($0)) })
    }

    package var position: Int? {
        switch self {
        case .path(let path): path.position
        case .literal(let literal): literal.position
        case .list(_, _, let position): position
        case .arithmetic(let arithmetic): arithmetic.left.position ?? arithmetic.position
        case .subquery(let subquery): subquery.position
        }
    }
}

/// A constant.
package struct LiteralSyntax: Sendable {
    package enum Kind: Sendable {
        case value(Value)
        /// A decimal number as written. Its digits are converted directly to the type of what it is compared with. In
        /// arithmetic it is an integer if it is written as one.
        case number(String)
        /// A date between two microseconds, which no property holds: 1 to 999 nanoseconds after the first.
        case instant(Timestamp, nanoseconds: Int)
        /// A constant as text, such as an argument of a command line. It takes the type of what it is compared with.
        case untyped(String)
        /// `obj('Class', key)`: an object by its class and key.
        case object(className: String, key: Value)
        /// An object, by its key, of which the class is known: beside a link the object, beside a scalar its key. A
        /// rule's derived sets consist of them.
        case member(className: String, key: ObjectKey)
        /// `$now`, plus so many microseconds.
        case now(offset: Int64)
        /// A rule's variable, to be replaced before the condition is checked.
        case variable(VariableSyntax)
    }

    package var kind: Kind
    /// Where the constant is in the text, in UTF-8 bytes.
    package var position: Int?

    package init(_ kind: Kind, position: Int? = nil) {
        self.kind = kind
        self.position = position
    }
}
