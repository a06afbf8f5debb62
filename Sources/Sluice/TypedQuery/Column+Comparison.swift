internal import SluiceModel
internal import SluiceQuery

/// A property and a constant of its type.
extension Column where Value: PropertyValue {
    /// The property has this value. Null equals null.
    public static func == (column: Column, value: Value) -> Condition { column.compared(.equal, value) }

    /// The property has another value.
    public static func != (column: Column, value: Value) -> Condition { column.compared(.notEqual, value) }

    /// The property is less; null is not.
    public static func < (column: Column, value: Value) -> Condition { column.compared(.less, value) }

    /// The property is less or equal; null is neither.
    public static func <= (column: Column, value: Value) -> Condition { column.compared(.lessOrEqual, value) }

    /// The property is greater; null is not.
    public static func > (column: Column, value: Value) -> Condition { column.compared(.greater, value) }

    /// The property is greater or equal; null is neither.
    public static func >= (column: Column, value: Value) -> Condition { column.compared(.greaterOrEqual, value) }

    /// The property is null, which behind a link without target every property is.
    public static func == (column: Column, value: _OptionalNilComparisonType) -> Condition {
        column.compared(.equal, to: .value(.null))
    }

    /// The property is not null.
    public static func != (column: Column, value: _OptionalNilComparisonType) -> Condition {
        column.compared(.notEqual, to: .value(.null))
    }

    /// The property has one of the values.
    public func `in`(_ values: some Sequence<Value>) -> Condition { isAmong(values) }

    func isAmong(_ values: some Sequence<some PropertyValue>) -> Condition {
        compared(.isIn, to: .list(values.map { LiteralSyntax($0) }))
    }

    /// Whether the property relates so to a value.
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

/// Two properties, of one type or of two that compare: an optional and what it wraps, two types of numbers.
extension Column where Value: PropertyValue {
    /// Both properties have the same value. Null equals null.
    public static func == <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition
    where Other.Comparand == Value.Comparand {
        left.compared(.equal, to: right.expression)
    }

    /// The properties have different values.
    public static func != <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition
    where Other.Comparand == Value.Comparand {
        left.compared(.notEqual, to: right.expression)
    }

    /// The first property is less; null is neither less nor greater.
    public static func < <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition
    where Other.Comparand == Value.Comparand {
        left.compared(.less, to: right.expression)
    }

    /// The first property is less or equal; null is neither less nor greater.
    public static func <= <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition
    where Other.Comparand == Value.Comparand {
        left.compared(.lessOrEqual, to: right.expression)
    }

    /// The first property is greater; null is neither less nor greater.
    public static func > <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition
    where Other.Comparand == Value.Comparand {
        left.compared(.greater, to: right.expression)
    }

    /// The first property is greater or equal; null is neither less nor greater.
    public static func >= <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition
    where Other.Comparand == Value.Comparand {
        left.compared(.greaterOrEqual, to: right.expression)
    }
}

extension Column where Value: PropertyValue & Comparable {
    /// The property lies between the bounds or on one of them.
    public func between(_ range: ClosedRange<Value>) -> Condition { lies(within: range) }
}

extension Column {
    func lies<Bound: PropertyValue>(within range: ClosedRange<Bound>) -> Condition {
        compared(.between, to: .list([LiteralSyntax(range.lowerBound), LiteralSyntax(range.upperBound)]))
    }

    /// The link leads to this object.
    public static func == <Target: Model>(column: Column, target: Target) -> Condition
    where Value: LinkPath, Value.LinkTarget == Target {
        column.compared(.equal, to: .literal(LiteralSyntax(Link(target))))
    }

    /// The link leads to another object, or to none.
    public static func != <Target: Model>(column: Column, target: Target) -> Condition
    where Value: LinkPath, Value.LinkTarget == Target {
        column.compared(.notEqual, to: .literal(LiteralSyntax(Link(target))))
    }
}

extension LiteralSyntax {
    /// A constant from Swift code; a link names its target's class.
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
