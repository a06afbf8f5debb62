package import SluiceQuery

/// A condition on objects, as `where { }` takes it. Comparing columns makes one; `&&`, `||` and `!` combine them.
public struct Condition: Sendable {
    package let syntax: PredicateSyntax

    package init(_ syntax: PredicateSyntax) { self.syntax = syntax }

    /// Both conditions hold.
    public static func && (left: Condition, right: Condition) -> Condition { Condition(left.syntax && right.syntax) }

    /// One of the conditions holds, or both do.
    public static func || (left: Condition, right: Condition) -> Condition { Condition(left.syntax || right.syntax) }

    /// The condition does not hold.
    public static prefix func ! (condition: Condition) -> Condition { Condition(!condition.syntax) }
}
