internal import SluiceModel
internal import SluiceStorage

/// Objects as they were at the versions that the authors of a group knew, for resolvers. What is found out about one
/// version is kept for the group.
struct BaseImages {
    /// The most objects that may have changed since a version; of an earlier one nothing is known.
    private static let objectCountMax = 20_000

    private let storage: SQLiteServerStorage
    private var images: [UInt64: [ObjectRef: Row?]?] = [:]

    init(_ storage: SQLiteServerStorage) { self.storage = storage }

    /// - Parameter before: the object before the group.
    /// - Returns: nil if the object was not there, or if it is not known what it was.
    mutating func image(of object: ObjectRef, at version: UInt64, before: Row?) throws -> Row? {
        guard version < storage.version else { return before }
        if images[version] == nil { images[version] = .some(try read(since: version)) }
        guard let known = images[version] ?? nil else { return nil }
        // What was not touched since is as it was.
        return known[object] ?? before
    }

    private func read(since version: UInt64) throws -> [ObjectRef: Row?]? {
        guard version >= storage.logStart,
            let found = try storage.oldImages(since: version, countMax: Self.objectCountMax)
        else { return nil }
        return Dictionary(found.map { ($0.object, $0.row) }) { first, _ in first }
    }
}
