package import SluiceModel

extension Query {
    /// A checked condition in canonical form.
    ///
    /// AND and OR are flat, hold at least two operands, never an operand of their own kind, and are sorted by canonical
    /// text; constants stand only at the root; `not` stands only above a comparison that has no exact complement.
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
            /// At least one; also stands where a side has one value.
            case any
            /// All of them; true if there is none.
            case all
        }

        /// How two sides with many values meet.
        package enum Relation: Hashable, Sendable {
            /// Quantifiers within each other, the left side's outside: for so many values on the left it holds that for so many
            /// values on the right the operator holds.
            case each(Quantifier, Quantifier)
            /// Both sides as one: as many values on both, and the operator holds between those at the same place. `!=` is the
            /// negation of `==`.
            case inOrder
            /// Both sides as sets, by `==` or `!=`.
            case asSets
        }

        package indirect enum Operand: Sendable {
            case path(Path)
            /// Of the type of the other side, or null. Text is folded if the comparison ignores case. A list or a set
            /// where whole sides are compared.
            case constant(Value)
            /// On the right side alone. Of `isIn` sorted and distinct; of other operators what the quantifier speaks of.
            case list([Value])
            /// Of numbers; the type is that of the result.
            case arithmetic(ArithmeticOperator, Operand, Operand, ScalarType)
        }

        package let relation: Relation
        /// A path or arithmetic, but in text searches possibly a constant.
        package let left: Operand
        /// Never `between`, which is two comparisons.
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
    /// The quantifier of the negation: not all is any that is not.
    package var complement: Query.Comparison.Quantifier { self == .any ? .all : .any }
}

extension Query.Comparison.Operand {
    /// Every path in the operand.
    package var paths: [Query.Path] {
        switch self {
        case .path(let path): [path]
        case .constant, .list: []
        case .arithmetic(_, let left, let right, _): left.paths + right.paths
        }
    }

    /// Whether the operand yields any number of values instead of one.
    package var isToMany: Bool {
        switch self {
        case .path(let path): path.isToMany
        case .constant: false
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
        }
    }

    /// Whether of two values always one is less than, equal to or greater than the other: neither null nor NaN occurs.
    var isTotallyOrdered: Bool {
        switch self {
        case .constant: return true
        case .path(let path):
            guard !path.canBeNull, case .scalar(let type) = path.type else { return false }
            return type != .float && type != .double && type != .decimal
        case .list, .arithmetic: return false
        }
    }
}

extension Query.Predicate {
    /// Calls `body` with every comparison, in canonical order; not with those inside subqueries.
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
