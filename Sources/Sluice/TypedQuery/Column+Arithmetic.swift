internal import SluiceQuery

/// Arithmetic with numbers of any types, optional or not, as in the query language. Two integers give an integer, and
/// their quotient is rounded toward zero; with a decimal the result is a decimal, else a double. An operation with null
/// is null.
extension Column where Value: PropertyValue, Value.Comparand == AnyNumber {
    /// The sum.
    public static func + <Other: PropertyValue>(left: Column, right: Column<Other>) -> Column<AnyNumber>
    where Other.Comparand == AnyNumber {
        calculated(left.expression, .add, right.expression)
    }

    /// The sum with a constant.
    public static func + <Constant: PropertyValue>(left: Column, right: Constant) -> Column<AnyNumber>
    where Constant.Comparand == AnyNumber {
        calculated(left.expression, .add, .literal(LiteralSyntax(right)))
    }

    /// The sum with a constant.
    public static func + <Constant: PropertyValue>(left: Constant, right: Column) -> Column<AnyNumber>
    where Constant.Comparand == AnyNumber {
        calculated(.literal(LiteralSyntax(left)), .add, right.expression)
    }

    /// The difference.
    public static func - <Other: PropertyValue>(left: Column, right: Column<Other>) -> Column<AnyNumber>
    where Other.Comparand == AnyNumber {
        calculated(left.expression, .subtract, right.expression)
    }

    /// The difference: the number minus a constant.
    public static func - <Constant: PropertyValue>(left: Column, right: Constant) -> Column<AnyNumber>
    where Constant.Comparand == AnyNumber {
        calculated(left.expression, .subtract, .literal(LiteralSyntax(right)))
    }

    /// The difference: a constant minus the number.
    public static func - <Constant: PropertyValue>(left: Constant, right: Column) -> Column<AnyNumber>
    where Constant.Comparand == AnyNumber {
        calculated(.literal(LiteralSyntax(left)), .subtract, right.expression)
    }

    /// The product.
    public static func * <Other: PropertyValue>(left: Column, right: Column<Other>) -> Column<AnyNumber>
    where Other.Comparand == AnyNumber {
        calculated(left.expression, .multiply, right.expression)
    }

    /// The product with a constant.
    public static func * <Constant: PropertyValue>(left: Column, right: Constant) -> Column<AnyNumber>
    where Constant.Comparand == AnyNumber {
        calculated(left.expression, .multiply, .literal(LiteralSyntax(right)))
    }

    /// The product with a constant.
    public static func * <Constant: PropertyValue>(left: Constant, right: Column) -> Column<AnyNumber>
    where Constant.Comparand == AnyNumber {
        calculated(.literal(LiteralSyntax(left)), .multiply, right.expression)
    }

    /// The quotient; null when an integer or a decimal is divided by zero.
    public static func / <Other: PropertyValue>(left: Column, right: Column<Other>) -> Column<AnyNumber>
    where Other.Comparand == AnyNumber {
        calculated(left.expression, .divide, right.expression)
    }

    /// The quotient: the number divided by a constant; null when an integer or a decimal is divided by zero.
    public static func / <Constant: PropertyValue>(left: Column, right: Constant) -> Column<AnyNumber>
    where Constant.Comparand == AnyNumber {
        calculated(left.expression, .divide, .literal(LiteralSyntax(right)))
    }

    /// The quotient: a constant divided by the number; null when an integer or a decimal is divided by zero.
    public static func / <Constant: PropertyValue>(left: Constant, right: Column) -> Column<AnyNumber>
    where Constant.Comparand == AnyNumber {
        calculated(.literal(LiteralSyntax(left)), .divide, right.expression)
    }

    private static func calculated(
        _ left: ExpressionSyntax, _ operation: ArithmeticOperator, _ right: ExpressionSyntax
    ) -> Column<AnyNumber> {
        Column<AnyNumber>(.arithmetic(ArithmeticSyntax(left, operation, right)))
    }
}
