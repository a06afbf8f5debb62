/// Writes of one object, for those who need no transaction of several steps. Each is a ``Store/write(_:)``.
extension Store {
    /// Adds a new object.
    ///
    /// - Throws: as ``WriteTransaction/insert(_:)`` and ``Store/write(_:)``.
    public func insert<Element: ResultElement & Sendable>(_ object: Element) async throws {
        try await write { try $0.insert(object) }
    }

    /// Inserts an object, or sets the properties of the object with its key.
    ///
    /// - Throws: as ``WriteTransaction/upsert(_:)`` and ``Store/write(_:)``.
    public func upsert<Element: ResultElement & Sendable>(_ object: Element) async throws {
        try await write { try $0.upsert(object) }
    }
}
