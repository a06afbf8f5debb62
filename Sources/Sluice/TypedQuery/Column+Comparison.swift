internal import SluiceModel
public import SluiceQuery

extension Column where Value: PropertyValue {
    /// The property has this value. Null equals null.
    public static func == (column: Column, value: Value) -> PredicateSyntax { column.compared(.equal, value) }

    /// The property has another value.
    public static func != (column: Column, value: Value) -> PredicateSyntax { column.compared(.notEqual, value) }

    /// The property is less; null is not.
    public static func < (column: Column, value: Value) -> PredicateSyntax { column.compared(.less, value) }

    /// The property is less or equal; null is neither.
    public static func <= (column: Column, value: Value) -> PredicateSyntax { column.compared(.lessOrEqual, value) }

    /// The property is greater; null is not.
    public static func > (column: Column, value: Value) -> PredicateSyntax { column.compared(.greater, value) }

    /// The property is greater or equal; null is neither.
    public static func >= (column: Column, value: Value) -> PredicateSyntax { column.compared(.greaterOrEqual, value) }

    /// The property is null, which behind a link without target every property is.
    public static func == (column: Column, value: _OptionalNilComparisonType) -> PredicateSyntax {
        column.compared(.equal, to: .value(.null))
    }

    /// The property is not null.
    public static func != (column: Column, value: _OptionalNilComparisonType) -> PredicateSyntax {
        column.compared(.notEqual, to: .value(.null))
    }

    /// The property has one of the values.
    public func `in`(_ values: some Sequence<Value>) -> PredicateSyntax {
        compared(.isIn, to: .list(values.map { LiteralSyntax($0) }))
    }

    /// Whether the property relates so to a value.
    func compared(_ comparison: ComparisonOperator, _ value: some PropertyValue) -> PredicateSyntax {
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
    ) -> PredicateSyntax {
        .comparison(ComparisonSyntax(expression, comparison, right, ignoresCase: ignoringCase))
    }
}

/// Two properties of one type.
extension Column where Value: PropertyValue {
    /// Both properties have the same value.
    public static func == (left: Column, right: Column) -> PredicateSyntax { left.compared(.equal, right) }

    /// The properties have different values.
    public static func != (left: Column, right: Column) -> PredicateSyntax { left.compared(.notEqual, right) }

    /// The first property is less.
    public static func < (left: Column, right: Column) -> PredicateSyntax { left.compared(.less, right) }

    /// The first property is less or equal.
    public static func <= (left: Column, right: Column) -> PredicateSyntax { left.compared(.lessOrEqual, right) }

    /// The first property is greater.
    public static func > (left: Column, right: Column) -> PredicateSyntax { left.compared(.greater, right) }

    /// The first property is greater or equal.
    public static func >= (left: Column, right: Column) -> PredicateSyntax { left.compared(.greaterOrEqual, right) }

    private func compared(_ comparison: ComparisonOperator, _ other: Column) -> PredicateSyntax {
        compared(comparison, to: other.expression)
    }
}

extension Column where Value: PropertyValue & Comparable {
    /// The property lies between the bounds or on one of them.
    public func between(_ range: ClosedRange<Value>) -> PredicateSyntax {
        compared(.between, to: .list([LiteralSyntax(range.lowerBound), LiteralSyntax(range.upperBound)]))
    }
}

extension Column {
    /// The property lies between the bounds or on one of them; null does not.
    public func between<Wrapped: PropertyElement & Comparable>(
        _ range: ClosedRange<Wrapped>
    ) -> PredicateSyntax where Value == Wrapped? {
        compared(.between, to: .list([LiteralSyntax(range.lowerBound), LiteralSyntax(range.upperBound)]))
    }

    /// The link leads to this object.
    public static func == <Target: Model>(column: Column, target: Target) -> PredicateSyntax
    where Value: LinkPath, Value.LinkTarget == Target {
        column.compared(.equal, to: .literal(LiteralSyntax(Link(target))))
    }

    /// The link leads to another object, or to none.
    public static func != <Target: Model>(column: Column, target: Target) -> PredicateSyntax
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
