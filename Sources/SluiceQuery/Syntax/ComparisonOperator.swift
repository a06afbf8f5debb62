/// How a comparison relates its two sides.
package enum ComparisonOperator: String, Hashable, Sendable, CaseIterable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case lessOrEqual = "<="
    case greater = ">"
    case greaterOrEqual = ">="
    case isIn = "IN"
    case between = "BETWEEN"
    case beginsWith = "BEGINSWITH"
    case endsWith = "ENDSWITH"
    case contains = "CONTAINS"
    case like = "LIKE"
}

extension ComparisonOperator {
    /// Whether this looks for text inside text.
    package var isTextSearch: Bool {
        switch self {
        case .beginsWith, .endsWith, .contains, .like: true
        case .equal, .notEqual, .less, .lessOrEqual, .greater, .greaterOrEqual, .isIn, .between: false
        }
    }

    /// Whether this compares by order.
    package var isOrdering: Bool {
        switch self {
        case .less, .lessOrEqual, .greater, .greaterOrEqual: true
        case .equal, .notEqual, .isIn, .between, .beginsWith, .endsWith, .contains, .like: false
        }
    }

    /// The operator that says the same with its sides exchanged; nil if there is none.
    package var mirrored: ComparisonOperator? {
        switch self {
        case .equal, .notEqual: self
        case .less: .greater
        case .lessOrEqual: .greaterOrEqual
        case .greater: .less
        case .greaterOrEqual: .lessOrEqual
        case .isIn, .between, .beginsWith, .endsWith, .contains, .like: nil
        }
    }

    /// The operator that is true exactly when this one is false, given two values that have an order.
    package var complement: ComparisonOperator? {
        switch self {
        case .equal: .notEqual
        case .notEqual: .equal
        case .less: .greaterOrEqual
        case .lessOrEqual: .greater
        case .greater: .lessOrEqual
        case .greaterOrEqual: .less
        case .isIn, .between, .beginsWith, .endsWith, .contains, .like: nil
        }
    }
}
