internal import SluiceQuery

/// The types of properties that are conditions by themselves: `Bool` and `Bool?`.
public protocol TruthValue: PropertyValue {}

extension Bool: TruthValue {}

extension Optional: TruthValue where Wrapped == Bool {}

/// A Boolean property as a condition, which holds when the property is true. It does not hold for null.
extension Column where Value: TruthValue {
    /// A condition that holds when the property is false or null.
    public static prefix func ! (column: Column) -> Condition { !column.isTrue }

    /// A condition that holds when the property is true and the other condition holds.
    public static func && (column: Column, condition: Condition) -> Condition { column.isTrue && condition }

    /// A condition that holds when the other condition holds and the property is true.
    public static func && (condition: Condition, column: Column) -> Condition { condition && column.isTrue }

    /// A condition that holds when both properties are true.
    public static func && <Other: TruthValue>(left: Column, right: Column<Other>) -> Condition {
        left.isTrue && right.isTrue
    }

    /// A condition that holds when the property is true, when the other condition holds, or both.
    public static func || (column: Column, condition: Condition) -> Condition { column.isTrue || condition }

    /// A condition that holds when the other condition holds, when the property is true, or both.
    public static func || (condition: Condition, column: Column) -> Condition { condition || column.isTrue }

    /// A condition that holds when one of the properties is true, or both are.
    public static func || <Other: TruthValue>(left: Column, right: Column<Other>) -> Condition {
        left.isTrue || right.isTrue
    }

    /// The condition that the property is true.
    package var isTrue: Condition { Condition(.comparison(ComparisonSyntax(truthOf: columnPath))) }
}

extension Column where Value: PropertyCollection & LinkPath {
    /// The number of objects of the collection whose Boolean property is true: `$0.owners.count { $0.isActive } > 1`.
    public func count<Truth: TruthValue>(
        where property: (Column<Value.LinkTarget>) -> Column<Truth>
    ) -> Column<Int> {
        count { property($0).isTrue }
    }

    /// A condition that holds when the Boolean property of some object of the collection is true.
    public func contains<Truth: TruthValue>(
        where property: (Column<Value.LinkTarget>) -> Column<Truth>
    ) -> Condition {
        contains { property($0).isTrue }
    }

    /// A condition that holds when the Boolean property is true for every object of the collection, and when there are
    /// none.
    public func allSatisfy<Truth: TruthValue>(
        _ property: (Column<Value.LinkTarget>) -> Column<Truth>
    ) -> Condition {
        allSatisfy { property($0).isTrue }
    }
}
