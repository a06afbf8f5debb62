package import SluiceModel

/// A comparison with one known side, as a test that single values pass or fail.
package struct ValueTest {
    private enum Operand {
        /// The known side is on the right.
        case right(Value)
        /// The known side is on the left.
        case left(Value)
        /// The known values, sorted.
        case list([Value])
    }

    private let comparison: ValueComparison
    private let operand: Operand

    /// A test of values on the left of `value`.
    package init(_ comparison: ComparisonOperator, _ value: Value, ignoresCase: Bool) {
        self.comparison = ValueComparison(comparison, ignoresCase: ignoresCase)
        operand = .right(value)
    }

    /// A test of values on the right of `value`.
    package init(_ value: Value, _ comparison: ComparisonOperator, ignoresCase: Bool) {
        self.comparison = ValueComparison(comparison, ignoresCase: ignoresCase)
        operand = .left(value)
    }

    /// A test of whether a value is among those given, which must be sorted, and folded if the test ignores case.
    package init(isIn values: [Value], ignoresCase: Bool) {
        comparison = ValueComparison(.isIn, ignoresCase: ignoresCase)
        operand = .list(values)
    }

    package func passes(_ value: Value) -> Bool {
        switch operand {
        case .right(let constant): comparison.holds(value, constant)
        case .left(let constant): comparison.holds(constant, value)
        case .list(let values): comparison.isMember(value, of: values)
        }
    }
}
