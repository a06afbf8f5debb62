internal import SluiceQuery

/// `Bool` and `Bool?`: what a property may be that is a condition by itself.
public protocol TruthValue: PropertyValue {}

extension Bool: TruthValue {}

extension Optional: TruthValue where Wrapped == Bool {}

/// A Boolean property as a condition: that it is true. Null is not.
extension Column where Value: TruthValue {
    /// The property is not true.
    public static prefix func ! (column: Column) -> Condition { !column.isTrue }

    /// The property is true and the condition holds.
    public static func && (column: Column, condition: Condition) -> Condition { column.isTrue && condition }

    /// The condition holds and the property is true.
    public static func && (condition: Condition, column: Column) -> Condition { condition && column.isTrue }

    /// Both properties are true.
    public static func && <Other: TruthValue>(left: Column, right: Column<Other>) -> Condition {
        left.isTrue && right.isTrue
    }

    /// The property is true, or the condition holds.
    public static func || (column: Column, condition: Condition) -> Condition { column.isTrue || condition }

    /// The condition holds, or the property is true.
    public static func || (condition: Condition, column: Column) -> Condition { condition || column.isTrue }

    /// One of the properties is true, or both are.
    public static func || <Other: TruthValue>(left: Column, right: Column<Other>) -> Condition {
        left.isTrue || right.isTrue
    }

    fileprivate var isTrue: Condition { Condition(.comparison(ComparisonSyntax(truthOf: columnPath))) }
}

extension Results where Element: Model {
    /// Only what also has a Boolean property that is true, such as `{ $0.isNew }`.
    public func `where`<Value: TruthValue>(_ property: (Column<Element>) -> Column<Value>) -> Results {
        self.where { property($0).isTrue }
    }

    /// What meets the condition so far, or has a Boolean property that is true.
    public func or<Value: TruthValue>(_ property: (Column<Element>) -> Column<Value>) -> Results {
        self.or { property($0).isTrue }
    }
}

extension Column where Value: PropertyCollection & LinkPath {
    /// How many objects of the collection have a Boolean property that is true: `$0.owners.count { $0.isActive } > 1`.
    public func count<Truth: TruthValue>(
        where property: (Column<Value.LinkTarget>) -> Column<Truth>
    ) -> Column<Int> {
        count { property($0).isTrue }
    }

    /// Some object of the collection has a Boolean property that is true.
    public func contains<Truth: TruthValue>(
        where property: (Column<Value.LinkTarget>) -> Column<Truth>
    ) -> Condition {
        contains { property($0).isTrue }
    }

    /// Every object of the collection has a Boolean property that is true; so it is where there is none.
    public func allSatisfy<Truth: TruthValue>(
        _ property: (Column<Value.LinkTarget>) -> Column<Truth>
    ) -> Condition {
        allSatisfy { property($0).isTrue }
    }
}
