/// What is done with two numbers.
public enum ArithmeticOperator: String, Hashable, Sendable, CaseIterable {
    case add = "+"
    case subtract = "-"
    case multiply = "*"
    case divide = "/"
}

/// Two numbers and what is done with them, as written.
public struct ArithmeticSyntax: Sendable {
    public var left: ExpressionSyntax
    public var operation: ArithmeticOperator
    public var right: ExpressionSyntax
    /// Where the operator stands in the text, in UTF-8 bytes.
    public var position: Int?

    public init(
        _ left: ExpressionSyntax, _ operation: ArithmeticOperator, _ right: ExpressionSyntax, position: Int? = nil
    ) {
        self.left = left
        self.operation = operation
        self.right = right
        self.position = position
    }
}

/// The number of objects in a collection that meet a condition, as written.
public struct SubquerySyntax: Sendable {
    /// A path to objects.
    public var collection: PathSyntax
    /// What the condition calls an object of the collection, without the `$`.
    public var variable: String
    public var predicate: PredicateSyntax
    /// Where the subquery stands in the text, in UTF-8 bytes.
    public var position: Int?

    public init(
        _ collection: PathSyntax, _ variable: String, _ predicate: PredicateSyntax, position: Int? = nil
    ) {
        self.collection = collection
        self.variable = variable
        self.predicate = predicate
        self.position = position
    }
}
