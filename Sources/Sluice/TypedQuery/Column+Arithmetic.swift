internal import SluiceModel
internal import SluiceQuery

/// Calculating with numbers: integers give integers, divided toward zero; null with anything is null.
extension Column where Value: PropertyValue & Numeric {
    /// The sum.
    public static func + (left: Column, right: Column) -> Column { left.calculated(.add, right.expression) }

    /// The sum with a constant.
    public static func + (left: Column, right: Value) -> Column { left.calculated(.add, constant(right)) }

    /// The sum with a constant.
    public static func + (left: Value, right: Column) -> Column { calculated(left, .add, right) }

    /// The difference.
    public static func - (left: Column, right: Column) -> Column { left.calculated(.subtract, right.expression) }

    /// The difference from a constant.
    public static func - (left: Column, right: Value) -> Column { left.calculated(.subtract, constant(right)) }

    /// The difference from a constant.
    public static func - (left: Value, right: Column) -> Column { calculated(left, .subtract, right) }

    /// The product.
    public static func * (left: Column, right: Column) -> Column { left.calculated(.multiply, right.expression) }

    /// The product with a constant.
    public static func * (left: Column, right: Value) -> Column { left.calculated(.multiply, constant(right)) }

    /// The product with a constant.
    public static func * (left: Value, right: Column) -> Column { calculated(left, .multiply, right) }

    /// The quotient; null where an integer is divided by zero.
    public static func / (left: Column, right: Column) -> Column { left.calculated(.divide, right.expression) }

    /// The quotient by a constant.
    public static func / (left: Column, right: Value) -> Column { left.calculated(.divide, constant(right)) }

    /// The quotient of a constant; null where an integer is divided by zero.
    public static func / (left: Value, right: Column) -> Column { calculated(left, .divide, right) }

    private func calculated(_ operation: ArithmeticOperator, _ right: ExpressionSyntax) -> Column {
        Column(.arithmetic(ArithmeticSyntax(expression, operation, right)))
    }

    private static func calculated(_ left: Value, _ operation: ArithmeticOperator, _ right: Column) -> Column {
        Column(.arithmetic(ArithmeticSyntax(constant(left), operation, right.expression)))
    }

    private static func constant(_ value: Value) -> ExpressionSyntax { .literal(LiteralSyntax(value)) }
}
