/// An operator of arithmetic.
package enum ArithmeticOperator: String, Hashable, Sendable, CaseIterable {
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
}

/// Arithmetic of two operands, as written.
package struct ArithmeticSyntax: Sendable {
    package var left: ExpressionSyntax
    package var operation: ArithmeticOperator
    package var right: ExpressionSyntax
    /// Where the operator is in the text, in UTF-8 bytes.
    package var position: Int?

    package init(
        _ left: ExpressionSyntax, _ operation: ArithmeticOperator, _ right: ExpressionSyntax, position: Int? = nil
    ) {
        self.left = left
        self.operation = operation
        self.right = right
        self.position = position
    }
}

/// The number of objects in a collection that meet a condition, as written.
package struct SubquerySyntax: Sendable {
    /// A path to objects.
    package var collection: PathSyntax
    /// The variable for an object of the collection, without the `$`.
    package var variable: String
    package var predicate: PredicateSyntax
    /// Where the subquery is in the text, in UTF-8 bytes.
    package var position: Int?

    package init(
        _ collection: PathSyntax, _ variable: String, _ predicate: PredicateSyntax, position: Int? = nil
    ) {
        self.collection = collection
        self.variable = variable
        self.predicate = predicate
        self.position = position
    }
}
