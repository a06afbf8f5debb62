internal import SluiceModel

/// Compares a property of the object itself with a constant. This condition is the most frequent and the fastest,
/// because it reads the value in place.
struct PropertyTest: Sendable {
    /// How a value relates to the constant. A condition accepts some of these outcomes.
    fileprivate struct Outcomes: OptionSet {
        static let less = Outcomes(rawValue: 1)
        static let equal = Outcomes(rawValue: 2)
        static let greater = Outcomes(rawValue: 4)
        /// The value or the constant is NaN.
        static let unordered = Outcomes(rawValue: 8)
        /// The value or the constant is null.
        static let unknown = Outcomes(rawValue: 16)

        let rawValue: UInt8
    }

    fileprivate enum Constant {
        case null
        case bool(Bool)
        case int(Int64)
        case float(Float)
        case double(Double)
        case date(Timestamp)
        case string(String)
    }

    private let scope: Int
    private let property: Int
    private let constant: Constant
    private let accepted: Outcomes

    /// Nil for any other comparison.
    init?(_ source: Query.Comparison, isNegated: Bool) {
        guard case .path(let path) = source.left, let property = path.plainProperty,
            case .constant(let value) = source.right, !source.ignoresCase,
            let constant = Constant(value, beside: path.type), let accepted = Outcomes(source.comparison)
        else { return nil }
        scope = path.scope
        self.property = property
        self.constant = constant
        self.accepted = isNegated ? Outcomes(rawValue: ~accepted.rawValue) : accepted
    }

    /// Whether the constant is text, which takes longer to compare.
    var isOfText: Bool {
        if case .string = constant { true } else { false }
    }

    func passes(_ context: EvaluationContext) -> Bool {
        !accepted.isDisjoint(with: outcome(for: context.row(at: scope)))
    }

    private func outcome(for row: UnsafePointer<Row>) -> Outcomes {
        switch constant {
        case .null: return row.pointee.values[property].isNull ? .equal : .unknown
        case .bool(let constant):
            guard case .bool(let value) = row.pointee.values[property] else { return .unknown }
            return value == constant ? .equal : constant ? .less : .greater
        case .int(let constant):
            guard case .int(let value) = row.pointee.values[property] else { return .unknown }
            return Self.outcome(value, constant)
        case .float(let constant):
            guard case .float(let value) = row.pointee.values[property] else { return .unknown }
            return Self.outcome(value, constant)
        case .double(let constant):
            guard case .double(let value) = row.pointee.values[property] else { return .unknown }
            return Self.outcome(value, constant)
        case .date(let constant):
            guard case .date(let value) = row.pointee.values[property] else { return .unknown }
            return Self.outcome(value.microseconds, constant.microseconds)
        case .string(let constant):
            guard case .string(let value) = row.pointee.values[property] else { return .unknown }
            if accepted.contains(.less) == accepted.contains(.greater) {
                return UTF8Order.equal(value, constant) ? .equal : .less
            }
            return Self.outcome(UTF8Order.compare(value, constant), 0)
        }
    }

    private static func outcome<Number: Comparable>(_ value: Number, _ constant: Number) -> Outcomes {
        value < constant ? .less : value == constant ? .equal : value > constant ? .greater : .unordered
    }
}

extension PropertyTest.Constant {
    /// Nil for a value that is not of the property's type, and for types that are seldom compared.
    fileprivate init?(_ value: Value, beside type: Query.Path.ValueType) {
        switch (value, type) {
        case (.null, .scalar): self = .null
        case (.bool(let value), .scalar(.bool)): self = .bool(value)
        case (.int(let value), .scalar(.int)): self = .int(value)
        case (.float(let value), .scalar(.float)): self = .float(value)
        case (.double(let value), .scalar(.double)): self = .double(value)
        case (.date(let value), .scalar(.date)): self = .date(value)
        case (.string(let value), .scalar(.string)): self = .string(value)
        default: return nil
        }
    }
}

extension PropertyTest.Outcomes {
    /// Nil for operators other than equality and order.
    fileprivate init?(_ comparison: ComparisonOperator) {
        switch comparison {
        case .equal: self = .equal
        case .notEqual: self = [.less, .greater, .unordered, .unknown]
        case .less: self = .less
        case .lessOrEqual: self = [.less, .equal]
        case .greater: self = .greater
        case .greaterOrEqual: self = [.greater, .equal]
        case .isIn, .between, .beginsWith, .endsWith, .contains, .like: return nil
        }
    }
}
