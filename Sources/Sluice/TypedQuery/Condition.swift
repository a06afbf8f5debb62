package import SluiceQuery

/// A condition on objects, as `where { }` takes it. Comparisons of columns make conditions; `&&`, `||` and `!` combine
/// them.
public struct Condition: Sendable {
    package let syntax: PredicateSyntax

    package init(_ syntax: PredicateSyntax) { self.syntax = syntax }

    /// A condition that holds when both conditions hold.
    public static func && (left: Condition, right: Condition) -> Condition { Condition(left.syntax && right.syntax) }

    /// A condition that holds when one of the conditions holds, or both do.
    public static func || (left: Condition, right: Condition) -> Condition { Condition(left.syntax || right.syntax) }

    /// A condition that holds when the given condition does not.
    public static prefix func ! (condition: Condition) -> Condition { Condition(!condition.syntax) }
}
