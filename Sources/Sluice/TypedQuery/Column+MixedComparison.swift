internal import SluiceQuery

/// A property and a constant of another type that compares with its own: `$0.distance > 2.5`, or an `Int?` and a `Double`.
///
/// These yield to comparisons with a constant of the property's own type, so that a literal becomes one where it can.
extension Column where Value: PropertyValue {
    /// The property has this value. Null equals null.
    @_disfavoredOverload
    public static func == <Constant: PropertyValue>(column: Column, value: Constant) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.equal, value)
    }

    /// The property has another value.
    @_disfavoredOverload
    public static func != <Constant: PropertyValue>(column: Column, value: Constant) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.notEqual, value)
    }

    /// The property is less; null is not.
    @_disfavoredOverload
    public static func < <Constant: PropertyValue>(column: Column, value: Constant) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.less, value)
    }

    /// The property is less or equal; null is neither.
    @_disfavoredOverload
    public static func <= <Constant: PropertyValue>(column: Column, value: Constant) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.lessOrEqual, value)
    }

    /// The property is greater; null is not.
    @_disfavoredOverload
    public static func > <Constant: PropertyValue>(column: Column, value: Constant) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.greater, value)
    }

    /// The property is greater or equal; null is neither.
    @_disfavoredOverload
    public static func >= <Constant: PropertyValue>(column: Column, value: Constant) -> Condition
    where Constant.Comparand == Value.Comparand {
        column.compared(.greaterOrEqual, value)
    }

    /// The property has one of the values.
    @_disfavoredOverload
    public func `in`<Constant: PropertyValue>(_ values: some Sequence<Constant>) -> Condition
    where Constant.Comparand == Value.Comparand {
        isAmong(values)
    }

    /// The property lies between the bounds or on one of them; null does not.
    @_disfavoredOverload
    public func between<Constant: PropertyValue & Comparable>(_ range: ClosedRange<Constant>) -> Condition
    where Constant.Comparand == Value.Comparand {
        lies(within: range)
    }
}
