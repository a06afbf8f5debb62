/// What the compiler says of comparisons between types that do not compare. It tries them only where nothing else fits.
extension Column where Value: PropertyValue {
    @available(
        *, unavailable, message: "the property does not compare with this type; use a value of its own type"
    )
    @_disfavoredOverload
    public static func == <Constant: PropertyValue>(column: Column, value: Constant) -> Condition { mismatch }

    @available(
        *, unavailable, message: "the property does not compare with this type; use a value of its own type"
    )
    @_disfavoredOverload
    public static func == <Constant: PropertyValue>(value: Constant, column: Column) -> Condition { mismatch }

    @available(*, unavailable, message: "the two properties are of types that do not compare with each other")
    @_disfavoredOverload
    public static func == <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition { mismatch }

    @available(
        *, unavailable, message: "the property does not compare with this type; use a value of its own type"
    )
    @_disfavoredOverload
    public static func != <Constant: PropertyValue>(column: Column, value: Constant) -> Condition { mismatch }

    @available(
        *, unavailable, message: "the property does not compare with this type; use a value of its own type"
    )
    @_disfavoredOverload
    public static func != <Constant: PropertyValue>(value: Constant, column: Column) -> Condition { mismatch }

    @available(*, unavailable, message: "the two properties are of types that do not compare with each other")
    @_disfavoredOverload
    public static func != <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition { mismatch }

    @available(
        *, unavailable, message: "the property does not compare with this type; use a value of its own type"
    )
    @_disfavoredOverload
    public static func < <Constant: PropertyValue>(column: Column, value: Constant) -> Condition { mismatch }

    @available(
        *, unavailable, message: "the property does not compare with this type; use a value of its own type"
    )
    @_disfavoredOverload
    public static func < <Constant: PropertyValue>(value: Constant, column: Column) -> Condition { mismatch }

    @available(*, unavailable, message: "the two properties are of types that do not compare with each other")
    @_disfavoredOverload
    public static func < <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition { mismatch }

    @available(
        *, unavailable, message: "the property does not compare with this type; use a value of its own type"
    )
    @_disfavoredOverload
    public static func <= <Constant: PropertyValue>(column: Column, value: Constant) -> Condition { mismatch }

    @available(
        *, unavailable, message: "the property does not compare with this type; use a value of its own type"
    )
    @_disfavoredOverload
    public static func <= <Constant: PropertyValue>(value: Constant, column: Column) -> Condition { mismatch }

    @available(*, unavailable, message: "the two properties are of types that do not compare with each other")
    @_disfavoredOverload
    public static func <= <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition { mismatch }

    @available(
        *, unavailable, message: "the property does not compare with this type; use a value of its own type"
    )
    @_disfavoredOverload
    public static func > <Constant: PropertyValue>(column: Column, value: Constant) -> Condition { mismatch }

    @available(
        *, unavailable, message: "the property does not compare with this type; use a value of its own type"
    )
    @_disfavoredOverload
    public static func > <Constant: PropertyValue>(value: Constant, column: Column) -> Condition { mismatch }

    @available(*, unavailable, message: "the two properties are of types that do not compare with each other")
    @_disfavoredOverload
    public static func > <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition { mismatch }

    @available(
        *, unavailable, message: "the property does not compare with this type; use a value of its own type"
    )
    @_disfavoredOverload
    public static func >= <Constant: PropertyValue>(column: Column, value: Constant) -> Condition { mismatch }

    @available(
        *, unavailable, message: "the property does not compare with this type; use a value of its own type"
    )
    @_disfavoredOverload
    public static func >= <Constant: PropertyValue>(value: Constant, column: Column) -> Condition { mismatch }

    @available(*, unavailable, message: "the two properties are of types that do not compare with each other")
    @_disfavoredOverload
    public static func >= <Other: PropertyValue>(left: Column, right: Column<Other>) -> Condition { mismatch }

    private static var mismatch: Condition { Condition(.constant(false)) }
}
