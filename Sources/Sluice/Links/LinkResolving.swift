package import SluiceModel

/// What links read through: the store, as its values know it.
///
/// Values hold their resolver strongly, and bindings do, so it should not own a cache of bindings that outlives it.
package protocol LinkResolving: AnyObject, Sendable {
    /// The binding of a type and class in this store.
    func binding(of element: any ResultElement.Type, className: String) throws -> ElementBinding

    /// The object's row; nil when it is not here. Reads the disk, contacts nobody.
    func fetch(_ object: Identity) throws -> Row?

    /// Whether the object is here. Reads the disk, contacts nobody.
    func isPresent(_ object: Identity) throws -> Bool

    /// The rows of a class whose link property leads to the object, by object id. Reads the disk, contacts nobody.
    func backlinks(to object: Identity, className: String, property: String) throws -> [Row]

    /// How many objects of a class have a link property that leads to the object. Reads the disk, contacts nobody.
    func backlinkCount(to object: Identity, className: String, property: String) throws -> Int

    /// Brings the object from the server, whole, and returns its row.
    ///
    /// - Parameter timeout: the longest wait without progress; nil waits for ever.
    /// - Throws: ``ModelError`` with `notFound` when there is no such object for this user.
    func resolve(_ object: Identity, timeout: Duration?) async throws -> Row
}

/// A resolver in one word, which every link of a store shares.
@usableFromInline
package final class LinkSource: Sendable {
    package let resolver: any LinkResolving

    package init(_ resolver: any LinkResolving) {
        self.resolver = resolver
    }
}

extension LinkSource {
    func fetch<Target: Model>(_ key: ObjectKey, as type: Target.Type) throws -> Target? {
        guard let row = try resolver.fetch(Identity(className: Target.className, key: key)) else { return nil }
        return try decode(row)
    }

    func resolve<Target: Model>(
        _ key: ObjectKey, as type: Target.Type, timeout: Duration?
    ) async throws -> Target {
        try decode(await resolver.resolve(Identity(className: Target.className, key: key), timeout: timeout))
    }

    func backlinks<Source: Model>(to object: Identity, property: String, as type: Source.Type) throws -> [Source] {
        let binding = try resolver.binding(of: Source.self, className: Source.className)
        return try resolver.backlinks(to: object, className: Source.className, property: property).map { row in
            try Source.decode(row, binding)
        }
    }

    private func decode<Target: Model>(_ row: Row) throws -> Target {
        try Target.decode(row, resolver.binding(of: Target.self, className: Target.className))
    }
}
