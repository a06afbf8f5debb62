internal import SluiceModel
package import SluiceQuery

/// One thing to compute over everything that a query finds, such as a count; see `aggregate` of ``Results``.
public struct Aggregate<Value>: Sendable {
    /// The function in the query language, such as `@avg.delay`.
    package let path: PathSyntax
    private let read: @Sendable (SluiceModel.Value, ElementBinding) -> Value?

    init(_ path: PathSyntax, _ read: @escaping @Sendable (SluiceModel.Value, ElementBinding) -> Value?) {
        self.path = path
        self.read = read
    }

    /// The Swift value of a result.
    ///
    /// - Parameter binding: of the queried class.
    /// - Throws: ``ModelError`` when the type cannot hold it.
    package func decode(_ value: SluiceModel.Value, _ binding: ElementBinding) throws -> Value {
        guard let decoded = read(value, binding) else {
            throw ModelError(.typeMismatch, "what a query has computed is no \(Value.self)")
        }
        return decoded
    }
}

/// What can be computed over the objects of a class: what `$0` is in `aggregate { ($0.count, $0.average(\.delay)) }`.
///
/// A path leads to a property, or behind links to one object to one of theirs: `$0.max(\.plane.seats)`. Nulls are left out,
/// and NaN is neither a minimum nor a maximum.
public struct AggregateColumns<Element: Model> {
    /// A path from an object to what is computed with.
    public typealias Path<Property> = KeyPath<Column<Element>, Column<Property>>

    package init() {}

    /// How many objects there are.
    public var count: Aggregate<Int> {
        Aggregate(PathSyntax([.init(.operation("count"))])) { value, _ in
            if case .int(let count) = value { Int(count) } else { nil }
        }
    }

    /// The sum of a property, exact and rounded once; 0 if there are no values, and nil if its type cannot hold it.
    public func sum<Number: PropertyElement>(_ path: Path<Number>) -> Aggregate<Number?>
    where Number.Comparand == AnyNumber {
        function("sum", path)
    }

    /// The sum of an optional property, as `sum(_:)`.
    public func sum<Number: PropertyElement>(_ path: Path<Number?>) -> Aggregate<Number?>
    where Number.Comparand == AnyNumber {
        function("sum", path)
    }

    /// The average of a property, exact and rounded once; nil if there are no values.
    public func average<Number: PropertyElement>(_ path: Path<Number>) -> Aggregate<Double?>
    where Number.Comparand == AnyNumber {
        average(of: path)
    }

    /// The average of an optional property, as `average(_:)`.
    public func average<Number: PropertyElement>(_ path: Path<Number?>) -> Aggregate<Double?>
    where Number.Comparand == AnyNumber {
        average(of: path)
    }

    /// The least value of a property, a number or a date; nil if there are none.
    public func min<Property: PropertyElement & Comparable>(_ path: Path<Property>) -> Aggregate<Property?> {
        function("min", path)
    }

    /// The least value of an optional property, as `min(_:)`.
    public func min<Property: PropertyElement & Comparable>(_ path: Path<Property?>) -> Aggregate<Property?> {
        function("min", path)
    }

    /// The greatest value of a property, a number or a date; nil if there are none.
    public func max<Property: PropertyElement & Comparable>(_ path: Path<Property>) -> Aggregate<Property?> {
        function("max", path)
    }

    /// The greatest value of an optional property, as `max(_:)`.
    public func max<Property: PropertyElement & Comparable>(_ path: Path<Property?>) -> Aggregate<Property?> {
        function("max", path)
    }

    private func syntax<Property>(_ operation: String, _ path: Path<Property>) -> PathSyntax {
        let column = Column(Element.self)[keyPath: path].columnPath
        return PathSyntax([.init(.operation(operation))] + column.components, quantifier: column.quantifier)
    }

    private func average<Property>(of path: Path<Property>) -> Aggregate<Double?> {
        Aggregate(syntax("avg", path)) { value, _ in
            switch value {
            case .null: .some(nil)
            case .double(let number): number
            case .decimal(let number): Double("\(number)") ?? .nan
            default: nil
            }
        }
    }

    private func function<Property, Result: PropertyElement>(
        _ operation: String, _ path: Path<Property>
    ) -> Aggregate<Result?> {
        Aggregate(syntax(operation, path)) { value, binding in
            if value.isNull { return .some(nil) }
            // The sum of 32-bit numbers has 64.
            if case .double(let number) = value, case .scalar(.float) = Result.propertyType.element {
                return Result.decode(.float(Float(number)), in: binding)
            }
            return Result.decode(value, in: binding)
        }
    }
}
