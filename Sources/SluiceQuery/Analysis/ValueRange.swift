package import SluiceModel

/// The values between two bounds, either of which may be missing.
package struct ValueRange: Sendable, Hashable {
    package struct Bound: Sendable, Hashable {
        package let value: Value
        package let isIncluded: Bool

        package init(_ value: Value, isIncluded: Bool) {
            self.value = value
            self.isIncluded = isIncluded
        }
    }

    package private(set) var lower: Bound?
    package private(set) var upper: Bound?

    package init(from lower: Bound? = nil, to upper: Bound? = nil) {
        self.lower = lower
        self.upper = upper
    }

    /// Whether the range has both bounds.
    package var isClosed: Bool { lower != nil && upper != nil }

    /// The values that are both in this range and in another of the same type.
    package func intersection(_ other: ValueRange) -> ValueRange {
        ValueRange(
            from: Self.stricter(lower, other.lower) { Value.compare($0, $1) > 0 },
            to: Self.stricter(upper, other.upper) { Value.compare($0, $1) < 0 })
    }

    private static func stricter(_ left: Bound?, _ right: Bound?, _ isStricter: (Value, Value) -> Bool) -> Bound? {
        guard let left, let right else { return left ?? right }
        if left.value == right.value { return left.isIncluded ? right : left }
        return isStricter(left.value, right.value) ? left : right
    }

    /// Whether a value is within the bounds. Null sorts before everything, so only a range without a lower bound
    /// contains it.
    package func contains(_ value: Value) -> Bool {
        if let lower {
            let order = Value.compare(value, lower.value)
            if order < 0 || order == 0 && !lower.isIncluded { return false }
        }
        if let upper {
            let order = Value.compare(value, upper.value)
            if order > 0 || order == 0 && !upper.isIncluded { return false }
        }
        return true
    }
}
