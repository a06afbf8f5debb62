internal import SluiceQuery

/// Numbers of a collection, added up or compared. Nulls are left out.
extension Column where Value: PropertyCollection, Value.ElementValue.Comparand == AnyNumber {
    /// The sum of all elements; 0 of none.
    public var sum: Column<AnyNumber> { Column<AnyNumber>(aggregated("sum")) }

    /// The average of all elements; null of none.
    public var average: Column<Double?> { Column<Double?>(aggregated("avg")) }
}

extension Column where Value: PropertyCollection, Value.ElementValue.Comparand: PropertyElement & Comparable {
    /// The smallest element, of numbers and dates; null of none.
    public var min: Column<Value.ElementValue.Comparand?> { .init(aggregated("min")) }

    /// The greatest element, of numbers and dates; null of none.
    public var max: Column<Value.ElementValue.Comparand?> { .init(aggregated("max")) }
}

/// A property of the objects that a collection of links leads to, added up or compared: `$0.owners.average(of: \.age)`.
extension Column where Value: PropertyCollection & LinkPath {
    /// A property of an object of the collection.
    public typealias Path<Property> = KeyPath<Column<Value.LinkTarget>, Column<Property>>

    /// The sum of a property, nulls left out; 0 of none.
    public func sum<Number: PropertyElement>(of path: Path<Number>) -> Column<AnyNumber>
    where Number.Comparand == AnyNumber {
        Column<AnyNumber>(aggregated("sum", of: path))
    }

    /// The average of a property, nulls left out; null of none.
    public func average<Number: PropertyElement>(of path: Path<Number>) -> Column<Double?>
    where Number.Comparand == AnyNumber {
        Column<Double?>(aggregated("avg", of: path))
    }

    /// The smallest value of a property, a number or a date, nulls left out; null of none.
    public func min<Property: PropertyElement>(of path: Path<Property>) -> Column<Property.Comparand?>
    where Property.Comparand: PropertyElement & Comparable {
        .init(aggregated("min", of: path))
    }

    /// The greatest value of a property, a number or a date, nulls left out; null of none.
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
