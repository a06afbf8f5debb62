internal import SluiceQuery

/// Aggregates of a collection of numbers. Nulls are left out.
extension Column where Value: PropertyCollection, Value.ElementValue.Comparand == AnyNumber {
    /// The sum of all elements; 0 if there are none.
    public var sum: Column<AnyNumber> { Column<AnyNumber>(aggregated("sum")) }

    /// The average of all elements; null if there are none.
    public var average: Column<Double?> { Column<Double?>(aggregated("avg")) }
}

extension Column where Value: PropertyCollection, Value.ElementValue.Comparand: PropertyElement & Comparable {
    /// The smallest element, of numbers or dates; null if there are none.
    public var min: Column<Value.ElementValue.Comparand?> { .init(aggregated("min")) }

    /// The greatest element, of numbers or dates; null if there are none.
    public var max: Column<Value.ElementValue.Comparand?> { .init(aggregated("max")) }
}

/// Aggregates of a property of the objects that a collection of links leads to: `$0.owners.average(of: \.age)`. Nulls
/// are left out.
extension Column where Value: PropertyCollection & LinkPath {
    /// A path from an object of the collection to one of its properties.
    public typealias Path<Property> = KeyPath<Column<Value.LinkTarget>, Column<Property>>

    /// The sum of a property; 0 if there are no values.
    public func sum<Number: PropertyElement>(of path: Path<Number>) -> Column<AnyNumber>
    where Number.Comparand == AnyNumber {
        Column<AnyNumber>(aggregated("sum", of: path))
    }

    /// The average of a property; null if there are no values.
    public func average<Number: PropertyElement>(of path: Path<Number>) -> Column<Double?>
    where Number.Comparand == AnyNumber {
        Column<Double?>(aggregated("avg", of: path))
    }

    /// The smallest value of a property, a number or a date; null if there are no values.
    public func min<Property: PropertyElement>(of path: Path<Property>) -> Column<Property.Comparand?>
    where Property.Comparand: PropertyElement & Comparable {
        .init(aggregated("min", of: path))
    }

    /// The greatest value of a property, a number or a date; null if there are no values.
    public func max<Property: PropertyElement>(of path: Path<Property>) -> Column<Property.Comparand?>
    where Property.Comparand: PropertyElement & Comparable {
        .init(aggregated("max", of: path))
    }

    private func aggregated<Property>(_ operation: String, of path: Path<Property>) -> PathSyntax {
        let property = Column<Value.LinkTarget>(PathSyntax([]))[keyPath: path].columnPath
        return PathSyntax(
            columnPath.components + property.components + [.init(.operation(operation))],
            quantifier: columnPath.quantifier)
    }
}

extension Column {
    fileprivate func aggregated(_ operation: String) -> PathSyntax { columnPath.appending(.operation(operation)) }
}
