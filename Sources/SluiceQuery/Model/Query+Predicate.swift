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

    /// A checked comparison. At most one side is a path that yields many values.
    package struct Comparison: Sendable {
        package enum Quantifier: Hashable, Sendable {
            /// Of the values that a to-many path yields at least one; also stands in comparisons without such a path.
            case any
            /// All of them; true if there is none.
            case all
        }

        package enum Operand: Sendable {
            case path(Path)
            /// Of the type of the other side's path, or null. Text is folded if the comparison ignores case.
            case constant(Value)
            /// Sorted, distinct; the right side of `isIn` alone.
            case list([Value])
        }

        package let quantifier: Quantifier
        /// A path, but in text searches possibly a constant.
        package let left: Operand
        /// Never `between`, which is two comparisons.
        package let comparison: ComparisonOperator
        package let ignoresCase: Bool
        package let right: Operand

        /// The paths of both sides.
        package var paths: [Path] {
            [left, right].compactMap { operand in
                if case .path(let path) = operand { path } else { nil }
            }
        }
    }
}

extension Query.Predicate {
    /// Calls `body` with every comparison, in canonical order.
    package func forEachComparison(_ body: (Query.Comparison) -> Void) {
        switch self {
        case .constant: break
        case .comparison(let comparison), .not(let comparison): body(comparison)
        case .and(let operands), .or(let operands): for operand in operands { operand.forEachComparison(body) }
        }
    }
}
