package import SluiceModel

/// Gives links access to the store that their objects were read from.
///
/// Values and bindings hold their resolver strongly. A resolver must therefore not own a cache of bindings that
/// outlives it.
package protocol LinkResolving: AnyObject, Sendable {
    /// Reads the row of the object; nil if the object is not here. It reads the disk and does not contact the server.
    ///
    /// - Parameter element: the type that the row is for.
    func fetch(_ object: Identity, as element: any ResultElement.Type) throws -> BoundRow?

    /// Whether the object is here. It reads the disk and does not contact the server.
    func isPresent(_ object: Identity) throws -> Bool

    /// Reads the rows of a class whose link property leads to the object, in the order of their object ids. It reads
    /// the disk and does not contact the server.
    ///
    /// - Parameter element: the type that the rows are for.
    func backlinks(
        to object: Identity, className: String, property: String, as element: any ResultElement.Type
    ) throws -> [BoundRow]

    /// Counts the objects of a class whose link property leads to the object. It reads the disk and does not contact
    /// the server.
    func backlinkCount(to object: Identity, className: String, property: String) throws -> Int

    /// Fetches the object from the server without exclusions, and returns its row.
    ///
    /// - Parameters:
    ///   - element: the type that the row is for.
    ///   - timeout: the longest wait without progress; nil waits without limit.
    /// - Throws: ``ModelError`` with `notFound` when the server has no such object for this user.
    func resolve(
        _ object: Identity, as element: any ResultElement.Type, timeout: Duration?
    ) async throws -> BoundRow
}

/// A row, and how it meets a Swift type: both of one state of a store, whose schema may be another one a moment later.
package struct BoundRow: Sendable {
    package let row: Row
    package let binding: ElementBinding

    package init(_ row: Row, _ binding: ElementBinding) {
        self.row = row
        self.binding = binding
    }

    /// The value of the row.
    ///
    /// - Precondition: the row was read for this type.
    func decode<Element: ResultElement>(as type: Element.Type) throws -> Element { try type.decode(row, binding) }
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
        try resolver.fetch(Identity(className: Target.className, key: key), as: type)?.decode(as: type)
    }

    func resolve<Target: Model>(
        _ key: ObjectKey, as type: Target.Type, timeout: Duration?
    ) async throws -> Target {
        try await resolver.resolve(Identity(className: Target.className, key: key), as: type, timeout: timeout)
            .decode(as: type)
    }

    func backlinks<Source: Model>(to object: Identity, property: String, as type: Source.Type) throws -> [Source] {
        try resolver.backlinks(to: object, className: Source.className, property: property, as: type)
            .map { try $0.decode(as: type) }
    }
}
