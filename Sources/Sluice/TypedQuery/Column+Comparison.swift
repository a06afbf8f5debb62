internal import SluiceModel
internal import SluiceQuery

/// Comparisons of a property with a constant of its type.
extension Column where Value: PropertyValue {
    /// A condition that holds when the property has this value. Null equals null.
    public static func == (column: Column, value: Value) -> Condition { column.compared(.equal, value) }

    /// A condition that holds when the property has another value.
    public static func != (column: Column, value: Value) -> Condition { column.compared(.notEqual, value) }

    /// A condition that holds when the property is less; it does not hold for null.
    public static func < (column: Column, value: Value) -> Condition { column.compared(.less, value) }

    /// A condition that holds when the property is less or equal; it does not hold for null.
    public static func <= (column: Column, value: Value) -> Condition { column.compared(.lessOrEqual, value) }

    /// A condition that holds when the property is greater; it does not hold for null.
    public static func > (column: Column, value: Value) -> Condition { column.compared(.greater, value) }

    /// A condition that holds when the property is greater or equal; it does not hold for null.
    public static func >= (column: Column, value: Value) -> Condition { column.compared(.greaterOrEqual, value) }

    /// A condition that holds when the property is null. Every property is null behind a link without target.
    public static func == (column: Column, value: _OptionalNilComparisonType) -> Condition {
        column.compared(.equal, to: .value(.null))
    }

    /// A condition that holds when the property is not null.
    public static func != (column: Column, value: _OptionalNilComparisonType) -> Condition {
        column.compared(.notEqual, to: .value(.null))
    }

    /// A condition that holds when the property has one of the values.
    public func `in`(_ values: some Sequence<Value>) -> Condition { isAmong(values) }

    func isAmong(_ values: some Sequence<some PropertyValue>) -> Condition {
        compared(.isIn, to: .list(values.map { LiteralSyntax($0) }))
    }

    /// Compares the property with a constant.
    func compared(_ comparison: ComparisonOperator, _ value: some PropertyValue) -> Condition {
        switch value.propertyValue {
        case .list(let elements), .set(let elements):
            compared(
                comparison, to: .list(elements.map { LiteralSyntax($0, targetClass: type(of: value).targetClass) }))
        default: compared(comparison, to: .literal(LiteralSyntax(value)))
        }
    }
}

extension PropertyValue {
    fileprivate static var targetClass: String? { propertyType.targetClass }
}

extension Column {
    func compared(
        _ comparison: ComparisonOperator, to right: ExpressionSyntax, ignoringCase: Bool = false
    ) -> Condition {
        Condition(.comparison(ComparisonSyntax(expression, comparison, right, ignoresCase: ignoringCase)))
    }
}

/// Comparisons of two properties of one type, or of two comparable types: an optional and what it wraps, or two types
/// of numbers.
extension Column where Value: PropertyValue {
    /// A condition that holds when both properties have the same value. Null equals null.
    public static func == <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition
    where Other.Comparand == Value.Comparand {
        left.compared(.equal, to: right.expression)
    }

    /// A condition that holds when the properties have different values.
    public static func != <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition
    where Other.Comparand == Value.Comparand {
        left.compared(.notEqual, to: right.expression)
    }

    /// A condition that holds when the first property is less; it does not hold for null.
    public static func < <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition
    where Other.Comparand == Value.Comparand {
        left.compared(.less, to: right.expression)
    }

    /// A condition that holds when the first property is less or equal; it does not hold for null.
    public static func <= <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition
    where Other.Comparand == Value.Comparand {
        left.compared(.lessOrEqual, to: right.expression)
    }

    /// A condition that holds when the first property is greater; it does not hold for null.
    public static func > <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition
    where Other.Comparand == Value.Comparand {
        left.compared(.greater, to: right.expression)
    }

    /// A condition that holds when the first property is greater or equal; it does not hold for null.
    public static func >= <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition
    where Other.Comparand == Value.Comparand {
        left.compared(.greaterOrEqual, to: right.expression)
    }
}

extension Column where Value: PropertyValue & Comparable {
    /// A condition that holds when the property lies between the bounds or equals one of them; it does not hold for
    /// null.
    public func between(_ range: ClosedRange<Value>) -> Condition { lies(within: range) }
}

extension Column {
    func lies<Bound: PropertyValue>(within range: ClosedRange<Bound>) -> Condition {
        compared(.between, to: .list([LiteralSyntax(range.lowerBound), LiteralSyntax(range.upperBound)]))
    }

    /// A condition that holds when the link leads to this object.
    public static func == <Target: Model>(column: Column, target: Target) -> Condition
    where Value: LinkPath, Value.LinkTarget == Target {
        column.compared(.equal, to: .literal(LiteralSyntax(Link(target))))
    }

    /// A condition that holds when the link leads to another object or has no target.
    public static func != <Target: Model>(column: Column, target: Target) -> Condition
    where Value: LinkPath, Value.LinkTarget == Target {
        column.compared(.notEqual, to: .literal(LiteralSyntax(Link(target))))
    }
}

extension LiteralSyntax {
    /// Makes a constant from a Swift value; a link names its target's class.
    init<Value: PropertyValue>(_ value: Value) {
        self.init(value.propertyValue, targetClass: Value.propertyType.targetClass)
    }

    fileprivate init(_ value: Value, targetClass: String?) {
        switch (value, targetClass) {
        case (.link(let key), let className?): self.init(.object(className: className, key: key.value))
        default: self.init(.value(value))
        }
    }
}
