internal import SluiceQuery

/// Comparisons with the constant first: `5 < $0.price`. Each is the one with the property first, turned round.
extension Column where Value: PropertyValue {
    /// A condition that holds when the property has this value. Null equals null.
    public static func == (value: Value, column: Column) -> Condition { column.compared(.equal, value) }

    /// A condition that holds when the property has another value.
    public static func != (value: Value, column: Column) -> Condition { column.compared(.notEqual, value) }

    /// A condition that holds when the property is greater; it does not hold for null.
    public static func < (value: Value, column: Column) -> Condition { column.compared(.greater, value) }

    /// A condition that holds when the property is greater or equal; it does not hold for null.
    public static func <= (value: Value, column: Column) -> Condition { column.compared(.greaterOrEqual, value) }

    /// A condition that holds when the property is less; it does not hold for null.
    public static func > (value: Value, column: Column) -> Condition { column.compared(.less, value) }

    /// A condition that holds when the property is less or equal; it does not hold for null.
    public static func >= (value: Value, column: Column) -> Condition { column.compared(.lessOrEqual, value) }

    /// A condition that holds when the property is null.
    public static func == (value: _OptionalNilComparisonType, column: Column) -> Condition { column == value }

    /// A condition that holds when the property is not null.
    public static func != (value: _OptionalNilComparisonType, column: Column) -> Condition { column != value }
}

/// Comparisons of a constant with a property of another, comparable type: `2.5 < $0.distance`.
extension Column where Value: PropertyValue {
    /// A condition that holds when the property has this value. Null equals null.
    @_disfavoredOverload
    public static func == <Constant: PropertyValue>(value: Constant, column: Column) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.equal, value)
    }

    /// A condition that holds when the property has another value.
    @_disfavoredOverload
    public static func != <Constant: PropertyValue>(value: Constant, column: Column) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.notEqual, value)
    }

    /// A condition that holds when the property is greater; it does not hold for null.
    @_disfavoredOverload
    public static func < <Constant: PropertyValue>(value: Constant, column: Column) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.greater, value)
    }

    /// A condition that holds when the property is greater or equal; it does not hold for null.
    @_disfavoredOverload
    public static func <= <Constant: PropertyValue>(value: Constant, column: Column) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.greaterOrEqual, value)
    }

    /// A condition that holds when the property is less; it does not hold for null.
    @_disfavoredOverload
    public static func > <Constant: PropertyValue>(value: Constant, column: Column) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.less, value)
    }

    /// A condition that holds when the property is less or equal; it does not hold for null.
    @_disfavoredOverload
    public static func >= <Constant: PropertyValue>(value: Constant, column: Column) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.lessOrEqual, value)
    }
}

extension Column {
    /// A condition that holds when the link leads to this object.
    public static func == <Target: Model>(target: Target, column: Column) -> Condition
    where Value: LinkPath, Value.LinkTarget == Target {
        column == target
    }

    /// A condition that holds when the link leads to another object or has no target.
    public static func != <Target: Model>(target: Target, column: Column) -> Condition
    where Value: LinkPath, Value.LinkTarget == Target {
        column != target
    }
}
