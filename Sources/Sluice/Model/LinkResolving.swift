package import SluiceModel

/// Gives links access to the store that their objects were read from.
///
/// Values and bindings hold their resolver strongly. A resolver must therefore not own a cache of bindings that
/// outlives it.
package protocol LinkResolving: AnyObject, Sendable {
    /// The binding of a Swift type to a class of this store.
    func binding(of element: any ResultElement.Type, className: String) throws -> ElementBinding

    /// Reads the row of the object; nil if the object is not here. It reads the disk and does not contact the server.
    func fetch(_ object: Identity) throws -> Row?

    /// Whether the object is here. It reads the disk and does not contact the server.
    func isPresent(_ object: Identity) throws -> Bool

    /// Reads the rows of a class whose link property leads to the object, in the order of their object ids. It reads
    /// the disk and does not contact the server.
    func backlinks(to object: Identity, className: String, property: String) throws -> [Row]

    /// Counts the objects of a class whose link property leads to the object. It reads the disk and does not contact
    /// the server.
    func backlinkCount(to object: Identity, className: String, property: String) throws -> Int

    /// Fetches the object from the server without exclusions, and returns its row.
    ///
    /// - Parameter timeout: the longest wait without progress; nil waits without limit.
    /// - Throws: ``ModelError`` with `notFound` when the server has no such object for this user.
    func resolve(_ object: Identity, timeout: Duration?) async throws -> Row
}

/// Holds a resolver in one word; all links of a store share it. (`any LinkResolving` takes two words in each link.)
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
