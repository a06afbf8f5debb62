internal import SluiceModel

/// The objects whose links lead to an object: an inverse relationship. The store does not store it; each read looks up
/// the links.
///
/// ```swift
/// @Model struct Person {
///     @PrimaryKey var name: String
///     @Inverse(\Car.owners) var cars: Backlinks<Car>
/// }
///
/// let drivers = store.objects(Person.self).where { $0.cars.count > 1 && $0.cars.price > 50_000 }
/// for car in try person.cars.fetchAll() { … }
/// ```
public struct Backlinks<Source: Model>: Sendable {
    private let target: Identity
    private let property: String?
    private let links: LinkSource?

    /// Makes the backlinks of `target` through the property of `Source` at a key path.
    public init<Target: Model, Value: LinkPath>(of target: Target, through property: KeyPath<Source, Value>)
    where Value.LinkTarget == Target {
        self.target = target.identity
        self.property = Source.modelDefinition.propertyName(at: property)
        links = target.objectMetadata.origin?.links
    }

    /// Reads the objects that are on this device now, in the order of their object ids. It reads the disk and does not
    /// contact the server.
    ///
    /// - Throws: ``ModelError`` when `target` was not read from a store, or when an object cannot be read as its type.
    public func fetchAll() throws -> [Source] {
        let (links, property) = try source()
        return try links.backlinks(to: target, property: property, as: Source.self)
    }

    /// Counts the objects on this device that link to the target now.
    ///
    /// - Throws: ``ModelError`` when `target` was not read from a store.
    public func count() throws -> Int {
        let (links, property) = try source()
        return try links.resolver.backlinkCount(to: target, className: Source.className, property: property)
    }

    private func source() throws -> (links: LinkSource, property: String) {
        guard let links else { throw ModelError.detached(Source.className) }
        guard let property else {
            throw ModelError(
                .notInSchema,
                "the inverse of \(target.className) goes through what is no property of \(Source.className)")
        }
        return (links, property)
    }
}

extension Backlinks: CustomStringConvertible {
    /// The class that links here, by which property, and the object that it links to.
    public var description: String { "\(Source.className).\(property ?? "?") → \(target)" }
}

/// Describes an inverse property of a model: its name, and the property of the class that links back.
package struct InverseProperty: Sendable {
    package let name: String
    /// The class and the property that link. A closure, to be called late, because models refer to each other.
    package let origin: @Sendable () -> (className: String, property: String)
}
