package import SluiceModel

extension Query {
    /// A checked condition in canonical form.
    ///
    /// AND and OR are flat: they have at least two operands, never an operand of their own kind, sorted by canonical
    /// text. Constants occur only at the root, and `not` only above a comparison that has no exact complement.
    package indirect enum Predicate: Sendable {
        case constant(Bool)
        case comparison(Comparison)
        case not(Comparison)
        case and([Predicate])
        case or([Predicate])
    }

    /// A checked comparison of the values of two sides, either of which may have one or many.
    package struct Comparison: Sendable {
        /// How many values of a side must pass.
        package enum Quantifier: Hashable, Sendable {
            /// At least one. Also used for a side with one value.
            case any
            /// All of them; true if there is none.
            case all
        }

        /// How the values of two sides are compared.
        package enum Relation: Hashable, Sendable {
            /// By nested quantifiers, that of the left side outside: for any (or all) values on the left, the operator
            /// holds with any (or all) values on the right.
            case each(Quantifier, Quantifier)
            /// Both sides as wholes: they have the same number of values, and the operator holds between the values at
            /// the same place. `!=` is the negation of `==`.
            case inOrder
            /// Both sides as sets, by `==` or `!=`.
            case asSets
        }

        package indirect enum Operand: Sendable {
            case path(Path)
            /// A constant of the other side's type, or null. Text is folded if the comparison ignores case. A list or a
            /// set where sides are compared as wholes.
            case constant(Value)
            /// A list of constants, on the right side only: sorted and distinct under `isIn`; with other operators the
            /// quantifier applies to them.
            case list([Value])
            /// `$now`, plus so many microseconds; on the right side only, under an operator of order.
            case now(offset: Int64)
            /// Arithmetic of numbers; the type is that of the result.
            case arithmetic(ArithmeticOperator, Operand, Operand, ScalarType)
        }

        package let relation: Relation
        /// A path or arithmetic; in a text search it may be a constant.
        package let left: Operand
        /// Never `between`, which becomes two comparisons.
        package let comparison: ComparisonOperator
        package let ignoresCase: Bool
        package let right: Operand

        package init(
            _ relation: Relation, _ left: Operand, _ comparison: ComparisonOperator, _ right: Operand, ignoresCase: Bool
        ) {
            if case .each(let own, let other) = relation {
                self.relation = .each(left.isToMany ? own : .any, right.isToMany ? other : .any)
            } else {
                self.relation = relation
            }
            self.left = left
            self.comparison = comparison
            self.ignoresCase = ignoresCase
            self.right = right
        }

        /// The quantifier of the left side; nil where sides are compared as wholes.
        package var quantifier: Quantifier? { if case .each(let quantifier, _) = relation { quantifier } else { nil } }

        /// The quantifier of the right side; nil where sides are compared as wholes.
        package var rightQuantifier: Quantifier? {
            if case .each(_, let quantifier) = relation { quantifier } else { nil }
        }

        /// The paths of both sides.
        package var paths: [Path] { left.paths + right.paths }
    }
}

extension Query.Comparison.Quantifier {
    /// The quantifier that a negation turns this one into: not all pass if any fails.
    package var complement: Query.Comparison.Quantifier { self == .any ? .all : .any }
}

extension Query.Comparison.Operand {
    /// Every path in the operand.
    package var paths: [Query.Path] {
        switch self {
        case .path(let path): [path]
        case .constant, .list, .now: []
        case .arithmetic(_, let left, let right, _): left.paths + right.paths
        }
    }

    /// Whether the operand yields any number of values instead of one.
    package var isToMany: Bool {
        switch self {
        case .path(let path): path.isToMany
        case .constant, .now: false
        case .list: true
        case .arithmetic(_, let left, let right, _): left.isToMany || right.isToMany
        }
    }

    /// The type of a path or of arithmetic, and of a constant that is a scalar.
    package var type: Query.Path.ValueType? {
        switch self {
        case .path(let path): path.type
        case .constant(let value): value.scalarType.map { .scalar($0) }
        case .list(let values): values.lazy.compactMap(\.scalarType).first.map { .scalar($0) }
        case .now: .scalar(.date)
        case .arithmetic(_, _, _, let type): .scalar(type)
        }
    }

    /// Whether a value may be null.
    package var canBeNull: Bool {
        switch self {
        case .path(let path): path.canBeNull
        case .constant(let value): value.isNull
        case .list(let values): values.contains(where: \.isNull)
        // Integers divided by zero and results beyond the range of their type are null.
        case .arithmetic: true
        case .now: false
        }
    }

    /// Whether any two values have an order, because neither null nor NaN occurs.
    var isTotallyOrdered: Bool {
        switch self {
        case .constant, .now: return true
        case .path(let path):
            guard !path.canBeNull, case .scalar(let type) = path.type else { return false }
            return type != .float && type != .double && type != .decimal
        case .list, .arithmetic: return false
        }
    }
}

extension Query.Predicate {
    /// Calls `body` with every comparison, in canonical order, except those inside subqueries.
    package func forEachComparison(_ body: (Query.Comparison) -> Void) {
        switch self {
        case .constant: break
        case .comparison(let comparison), .not(let comparison): body(comparison)
        case .and(let operands), .or(let operands): for operand in operands { operand.forEachComparison(body) }
        }
    }

    /// Whether the condition follows links backwards.
    package var readsBacklinks: Bool {
        var found = false
        forEachComparison { found = found || $0.paths.contains(where: \.readsBacklinks) }
        return found
    }
}

extension Query.Comparison.Operand {
    /// The operands that arithmetic combines, from left to right; of any other operand, itself.
    package var terms: [Query.Comparison.Operand] {
        guard case .arithmetic(_, let left, let right, _) = self else { return [self] }
        return left.terms + right.terms
    }
}
