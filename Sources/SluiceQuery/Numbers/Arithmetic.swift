internal import FoundationEssentials
package import SluiceModel

/// Computes `+ - * /`. The result is null if an operand is null, or if the type of the result cannot hold it.
package enum Arithmetic {
    /// The type of a result: that of both operands if they have the same, decimal if one is a decimal, else double.
    package static func type(_ left: ScalarType, _ right: ScalarType) -> ScalarType {
        if left == right { return left }
        return left == .decimal || right == .decimal ? .decimal : .double
    }

    /// Computes in the type that ``type(_:_:)`` gives for those of the operands.
    ///
    /// Integers divide toward zero. Dividing an integer or a decimal by zero gives null; floating-point numbers follow
    /// IEEE 754.
    package static func apply(
        _ operation: ArithmeticOperator, _ left: Value, _ right: Value, as type: ScalarType
    ) -> Value {
        if left.isNull || right.isNull { return .null }
        switch type {
        case .int:
            guard case .int(let left) = left, case .int(let right) = right else { return .null }
            return integer(operation, left, right)
        case .float:
            guard case .float(let left) = left, case .float(let right) = right else { return .null }
            return .float(floating(operation, left, right))
        case .double:
            guard let left = double(left), let right = double(right) else { return .null }
            return .double(floating(operation, left, right))
        case .decimal:
            guard let left = decimal(left), let right = decimal(right) else { return .null }
            return decimal(operation, left, right)
        default: return .null
        }
    }

    private static func integer(_ operation: ArithmeticOperator, _ left: Int64, _ right: Int64) -> Value {
        let (result, overflow) =
            switch operation {
            case .add: left.addingReportingOverflow(right)
            case .subtract: left.subtractingReportingOverflow(right)
            case .multiply: left.multipliedReportingOverflow(by: right)
            case .divide: left.dividedReportingOverflow(by: right)
            }
        return overflow ? .null : .int(result)
    }

    private static func floating<Number: BinaryFloatingPoint>(
        _ operation: ArithmeticOperator, _ left: Number, _ right: Number
    ) -> Number {
        switch operation {
        case .add: left + right
        case .subtract: left - right
        case .multiply: left * right
        // 0.0 equals -0.0, so dividing by one gives the same as dividing by the other.
        case .divide: right == 0 ? left / 0 : left / right
        }
    }

    private static func decimal(_ operation: ArithmeticOperator, _ left: Decimal, _ right: Decimal) -> Value {
        if left.isNaN || right.isNaN { return .decimal(.nan) }
        let result: Decimal
        switch operation {
        case .add: result = left + right
        case .subtract: result = left - right
        case .multiply: result = left * right
        case .divide:
            if right.isZero { return .null }
            result = left / right
        }
        return result.isNaN ? .null : .decimal(result)
    }

    // MARK: Conversions

    private static func double(_ value: Value) -> Double? {
        switch value {
        case .int(let number): Double(number)
        case .float(let number): Double(number)
        case .double(let number): number
        default: nil
        }
    }

    /// Converts a number to a decimal: a floating-point number by its ``FloatingText``, or NaN if no decimal can hold
    /// it.
    private static func decimal(_ value: Value) -> Decimal? {
        switch value {
        case .decimal(let number): number
        case .int(let number): Decimal(number)
        case .float(let number): decimal(FloatingText.of(number), number.description)
        case .double(let number): decimal(FloatingText.of(number), number.description)
        default: nil
        }
    }

    /// The decimal of a number's digits, or of its shortest text if it has too many.
    private static func decimal(_ digits: String, _ shortest: String) -> Decimal {
        (try? DecimalText.parse(digits)) ?? (try? DecimalText.parse(shortest)) ?? .nan
    }
}
