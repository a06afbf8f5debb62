internal import SluiceQuery

/// Comparisons of a property with a constant of another, comparable type: `$0.distance > 2.5`, or an `Int?` and a
/// `Double`.
///
/// Overload resolution prefers constants of the property's own type, so that a literal gets that type where it can.
extension Column where Value: PropertyValue {
    /// A condition that holds when the property has this value. Null equals null.
    @_disfavoredOverload
    public static func == <Constant: PropertyValue>(column: Column, value: Constant) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.equal, value)
    }

    /// A condition that holds when the property has another value.
    @_disfavoredOverload
    public static func != <Constant: PropertyValue>(column: Column, value: Constant) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.notEqual, value)
    }

    /// A condition that holds when the property is less; it does not hold for null.
    @_disfavoredOverload
    public static func < <Constant: PropertyValue>(column: Column, value: Constant) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.less, value)
    }

    /// A condition that holds when the property is less or equal; it does not hold for null.
    @_disfavoredOverload
    public static func <= <Constant: PropertyValue>(column: Column, value: Constant) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.lessOrEqual, value)
    }

    /// A condition that holds when the property is greater; it does not hold for null.
    @_disfavoredOverload
    public static func > <Constant: PropertyValue>(column: Column, value: Constant) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.greater, value)
    }

    /// A condition that holds when the property is greater or equal; it does not hold for null.
    @_disfavoredOverload
    public static func >= <Constant: PropertyValue>(column: Column, value: Constant) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.greaterOrEqual, value)
    }

    /// A condition that holds when the property has one of the values.
    @_disfavoredOverload
    public func `in`<Constant: PropertyValue>(_ values: some Sequence<Constant>) -> Condition
    where Constant.Comparand == Value.Comparand {
        isAmong(values)
    }

    /// A condition that holds when the property lies between the bounds or equals one of them; it does not hold for
    /// null.
    @_disfavoredOverload
    public func between<Constant: PropertyValue & Comparable>(_ range: ClosedRange<Constant>) -> Condition
    where Constant.Comparand == Value.Comparand {
        lies(within: range)
    }
}
