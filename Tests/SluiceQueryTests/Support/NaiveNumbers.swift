import FoundationEssentials
import SluiceModel

@testable import SluiceQuery

/// Order, arithmetic and aggregates, as the documentation of the language describes them.
enum NaiveNumbers {
    // MARK: Order

    /// Compares two values; nil if they are neither less, equal nor greater. Null equals null.
    static func order(_ left: Value, _ right: Value, _ leftText: [UInt8]?, _ rightText: [UInt8]?) -> Int? {
        if left.isNull || right.isNull { return left.isNull && right.isNull ? 0 : nil }
        if let leftText, let rightText {
            return leftText == rightText ? 0 : leftText.lexicographicallyPrecedes(rightText) ? -1 : 1
        }
        if case .date(let date) = left, case .double(let part) = right {
            return Double(date.microseconds) < part ? -1 : 1
        }
        if case .double(let part) = left, case .date(let date) = right {
            return part < Double(date.microseconds) ? -1 : 1
        }
        guard isNumber(left), isNumber(right) else { return left == right ? 0 : left < right ? -1 : 1 }
        let isDecimal = isDecimal(left) || isDecimal(right)
        guard let own = Size(left, isDecimal), let other = Size(right, isDecimal) else { return nil }
        return own == other ? 0 : own < other ? -1 : 1
    }

    private static func isNumber(_ value: Value) -> Bool {
        switch value {
        case .int, .float, .double, .decimal: true
        default: false
        }
    }

    private static func isDecimal(_ value: Value) -> Bool {
        if case .decimal = value { true } else { false }
    }

    /// A number without limits of size.
    private enum Size: Comparable {
        case belowAll
        case finite(Decimal)
        case aboveAll

        /// Nil for NaN.
        init?(_ value: Value, _ isBesideDecimal: Bool) {
            switch value {
            case .int(let number): self = .finite(Decimal(number))
            case .decimal(let number):
                if number.isNaN { return nil }
                self = .finite(number)
            case .float(let number) where isBesideDecimal: self.init(Double(number), number.description)
            case .float(let number): self.init(Double(number), Double(number).description)
            case .double(let number): self.init(number, number.description)
            default: return nil
            }
        }

        private init?(_ number: Double, _ text: String) {
            if number.isNaN { return nil }
            if let whole = Int128(exactly: number) {
                // An integer has its exact value, whatever its shortest text is.
                self = .finite(Decimal(string: whole.description)!)
            } else if number.isFinite, let exact = Decimal(string: text), !exact.isNaN {
                self = .finite(exact)
            } else {
                self = number < 0 ? .belowAll : .aboveAll
            }
        }
    }

    // MARK: Arithmetic

    static func compute(_ operation: ArithmeticOperator, _ left: Value, _ right: Value) -> Value {
        switch (left, right) {
        case (.null, _), (_, .null): return .null
        case (.int(let left), .int(let right)):
            if operation == .divide, right == 0 { return .null }
            let (wide, other) = (Int128(left), Int128(right))
            let result =
                switch operation {
                case .add: wide + other
                case .subtract: wide - other
                case .multiply: wide * other
                case .divide: wide / other
                }
            return Int64(exactly: result).map { .int($0) } ?? .null
        case (.float(let left), .float(let right)):
            switch operation {
            case .add: return .float(left + right)
            case .subtract: return .float(left - right)
            case .multiply: return .float(left * right)
            case .divide: return .float(right == 0 ? left / 0 : left / right)
            }
        case (.decimal, _), (_, .decimal):
            let (left, right) = (decimal(left), decimal(right))
            if left.isNaN || right.isNaN { return .decimal(.nan) }
            if operation == .divide, right == 0 { return .null }
            let result: Decimal
            switch operation {
            case .add: result = left + right
            case .subtract: result = left - right
            case .multiply: result = left * right
            case .divide: result = left / right
            }
            return result.isNaN ? .null : .decimal(result)
        default:
            let (left, right) = (double(left), double(right))
            switch operation {
            case .add: return .double(left + right)
            case .subtract: return .double(left - right)
            case .multiply: return .double(left * right)
            case .divide: return .double(right == 0 ? left / 0 : left / right)
            }
        }
    }

    private static func double(_ value: Value) -> Double {
        switch value {
        case .int(let number): Double(number)
        case .float(let number): Double(number)
        case .double(let number): number
        default: .nan
        }
    }

    private static func decimal(_ value: Value) -> Decimal {
        switch value {
        case .int(let number): Decimal(number)
        case .decimal(let number): number
        case .float(let number): number.isFinite ? Decimal(string: number.description) ?? .nan : .nan
        case .double(let number):
            // An integer has its exact value, whatever its shortest text is.
            Int128(exactly: number).flatMap { Decimal(string: $0.description) }
                ?? (number.isFinite ? Decimal(string: number.description) : nil) ?? .nan
        default: .nan
        }
    }

    // MARK: Aggregates

    static func aggregate(_ name: String, _ values: [Value], _ element: PropertyType.Element) -> Value {
        let values = values.filter { !$0.isNull }
        let numbers = values.filter { value in
            switch value {
            case .float(let number): !number.isNaN
            case .double(let number): !number.isNaN
            case .decimal(let number): !number.isNaN
            default: true
            }
        }
        switch name {
        case "min": return numbers.min() ?? .null
        case "max": return numbers.max() ?? .null
        case "avg" where values.isEmpty: return .null
        default: break
        }
        let isAverage = name == "avg"
        switch element {
        case .scalar(.int):
            let total = values.reduce(Int128(0)) { sum, value in
                if case .int(let number) = value { sum + Int128(number) } else { sum }
            }
            if isAverage {
                // Each integer as the sum of two doubles that is exactly equal to it.
                let halves = values.flatMap { value -> [Double] in
                    guard case .int(let number) = value else { return [] }
                    return [Double(number - number % 4_294_967_296), Double(number % 4_294_967_296)]
                }
                return .double(NaiveSum.quotient(halves, by: values.count))
            }
            return Int64(exactly: total).map { .int($0) } ?? .null
        case .scalar(.decimal):
            if numbers.count < values.count { return .decimal(.nan) }
            let total = values.sorted().reduce(Decimal(0)) { $0 + decimal($1) }
            return .decimal(isAverage ? total / Decimal(values.count) : total)
        default:
            return .double(NaiveSum.quotient(values.map(double), by: isAverage ? values.count : 1))
        }
    }
}
