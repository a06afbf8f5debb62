internal import SluiceModel

/// The objects whose links lead to an object: an inverse relationship. Nothing of it is stored; reading looks the
/// links up.
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

    /// The objects that link to `target` by the property at a key path, of a model's class.
    public init<Target: Model, Value: LinkPath>(of target: Target, through property: KeyPath<Source, Value>)
    where Value.LinkTarget == Target {
        self.target = target.identity
        self.property = Source.modelDefinition.propertyName(at: property)
        links = target.objectMetadata.origin?.links
    }

    /// The objects that are on this device now, by object id. Reads the disk, contacts nobody.
    ///
    /// - Throws: ``ModelError`` when the object that is linked to was made by hand, or an object cannot be read as its
    ///   type.
    public func fetchAll() throws -> [Source] {
        let (links, property) = try source()
        return try links.backlinks(to: target, property: property, as: Source.self)
    }

    /// How many objects on this device link here now.
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

/// A property's name in a model, and which property of which class leads back to it.
package struct InverseProperty: Sendable {
    package let name: String
    /// The class and the property that link; asked for late, since models refer to each other.
    package let origin: @Sendable () -> (className: String, property: String)
}
