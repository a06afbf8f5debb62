internal import FoundationEssentials
package import SluiceModel

/// Computes an aggregate of values that are added one by one.
///
/// Null is left out, and NaN is neither a minimum nor a maximum. The result does not depend on the order of the values:
/// averages, and sums of floating-point numbers, are exact and rounded once; decimals are added in ascending order. A
/// sum of integers is null if 64 bits do not hold it.
///
/// Allocates nothing, except for sums and averages of decimals. A value of this type is large: do not copy it.
package struct Aggregation {
    private let operation: AggregateOperation
    private let type: ScalarType
    private var count = 0
    private var extreme = Value.null
    private var total: Int128 = 0
    private var doubles = ExactSum()
    private var decimals: [Decimal] = []

    package init(_ operation: AggregateOperation, of type: ScalarType) {
        self.operation = operation
        self.type = type
    }

    package mutating func add(_ value: Value) {
        guard !value.isNull else { return }
        count += 1
        switch (operation, value) {
        case (.minimum, _), (.maximum, _): compare(value)
        case (.average, .int(let number)):
            // A double holds each half exactly.
            doubles.add(Double(number >> 32) * 0x1p32)
            doubles.add(Double(number & 0xFFFF_FFFF))
        case (_, .int(let number)): total += Int128(number)
        case (_, .float(let number)): doubles.add(Double(number))
        case (_, .double(let number)): doubles.add(number)
        case (_, .decimal(let number)): decimals.append(number)
        default: break
        }
    }

    private mutating func compare(_ value: Value) {
        guard !value.isNotANumber else { return }
        if extreme.isNull {
            extreme = value
        } else {
            let order = Value.compare(value, extreme)
            if operation == .minimum ? order < 0 : order > 0 { extreme = value }
        }
    }

    /// The aggregate. Of no values it is 0 for a sum, and null for the others.
    package var result: Value {
        switch operation {
        case .minimum, .maximum: return extreme
        case .sum: return sum
        case .average:
            guard count > 0 else { return .null }
            switch type {
            case .decimal: return Arithmetic.apply(.divide, sum, .decimal(Decimal(count)), as: .decimal)
            default: return .double(doubles.divided(by: count))
            }
        }
    }

    private var sum: Value {
        switch type {
        case .int: Int64(exactly: total).map { .int($0) } ?? .null
        case .decimal:
            decimals.sorted { $1.isNaN ? !$0.isNaN : $0 < $1 }.reduce(Value.decimal(0)) {
                Arithmetic.apply(.add, $0, .decimal($1), as: .decimal)
            }
        default: .double(doubles.divided(by: 1))
        }
    }
}

extension Value {
    var isNotANumber: Bool {
        switch self {
        case .float(let number): number.isNaN
        case .double(let number): number.isNaN
        case .decimal(let number): number.isNaN
        default: false
        }
    }
}
