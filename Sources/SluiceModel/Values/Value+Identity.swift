extension Value {
    /// Whether writing one value over the other would change nothing: the values are equal, and zeros in them have the
    /// same sign. Queries ignore the sign of zero; stores, messages and exports keep it.
    package func isIdentical(to other: Value) -> Bool {
        switch (self, other) {
        case (.double(let left), .double(let right)):
            left == right ? left.sign == right.sign : left.isNaN && right.isNaN
        case (.float(let left), .float(let right)):
            left == right ? left.sign == right.sign : left.isNaN && right.isNaN
        case (.list(let left), .list(let right)), (.set(let left), .set(let right)):
            left.isSame(as: right)
                || left.count == right.count && zip(left, right).allSatisfy { $0.isIdentical(to: $1) }
        case (.map(let left), .map(let right)):
            left == right && zip(left.entries, right.entries).allSatisfy { $0.value.isIdentical(to: $1.value) }
        default: self == other
        }
    }
}
