internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage

/// Resolves the links of the values that were read from a store. It holds the store weakly: if a value outlives its
/// store, following its links fails with a clear error. In the body of a write, links lead to what the write sees.
final class StoreLinks: LinkResolving {
    private weak let core: StoreCore?

    init(_ core: StoreCore) { self.core = core }

    private func open() throws -> StoreCore {
        guard let core else {
            throw StoreError(
                .closed, "the store that this value came from is gone; open it again, and read the value anew")
        }
        try core.checkOpen()
        return core
    }

    func fetch(_ object: Identity, as element: any ResultElement.Type) throws -> BoundRow? {
        let core = try open()
        let reference = ObjectRef(try core.classIndex(of: object.className), object.key)
        return try core.readWithinWrite { reader in
            try reader.row(reference).map { row in
                BoundRow(row, try core.binding(of: element, classIndex: reference.classIndex, in: reader.schema))
            }
        }
    }

    func isPresent(_ object: Identity) throws -> Bool {
        let core = try open()
        let reference = ObjectRef(try core.classIndex(of: object.className), object.key)
        return try core.readWithinWrite { try $0.isPresent(reference) }
    }

    func backlinks(
        to object: Identity, className: String, property: String, as element: any ResultElement.Type
    ) throws -> [BoundRow] {
        let core = try open()
        let classIndex = try core.classIndex(of: className)
        return try core.readWithinWrite { reader in
            let binding = try core.binding(of: element, classIndex: classIndex, in: reader.schema)
            var rows: [(id: ObjectID, row: Row)] = []
            try core.forEachBacklink(to: object, className: className, property: property, in: reader) { source in
                guard let row = try reader.row(source) else { return }
                rows.append((Identity(className: className, key: source.key).objectID, row))
            }
            return rows.sorted { $0.id < $1.id }.map { BoundRow($0.row, binding) }
        }
    }

    func backlinkCount(to object: Identity, className: String, property: String) throws -> Int {
        let core = try open()
        return try core.readWithinWrite { reader in
            var count = 0
            try core.forEachBacklink(to: object, className: className, property: property, in: reader) { _ in
                count += 1
            }
            return count
        }
    }

    func resolve(
        _ object: Identity, as element: any ResultElement.Type, timeout: Duration?
    ) async throws -> BoundRow {
        let core = try open()
        let isLocal = core.schema[try core.classIndex(of: object.className)].isLocal
        let query = try QueryDescription<Record>(className: object.className, key: object.key).query(in: core.schema)
        return try await core.synced(query, isLocal: isLocal, timeout: timeout) { [self] in
            guard let row = try fetch(object, as: element) else {
                throw ModelError(
                    .notFound,
                    isLocal
                        ? "the store has no \(object.className) with this key, and no server has objects of this class"
                        : "the server has no \(object.className) with this key, or does not show it")
            }
            return row
        }
    }
}

extension StoreCore {
    /// Calls `body` once for each object of a class that links to `object` through a property.
    fileprivate func forEachBacklink(
        to object: Identity, className: String, property: String, in reader: any ClientReading,
        _ body: (ObjectRef) throws -> Void
    ) throws {
        let target = ObjectRef(try classIndex(of: object.className), object.key)
        let source = try classIndex(of: className)
        guard let position = reader.schema[source].index(of: property) else {
            throw ModelError(.notInSchema, MissingNames.text(property: property, of: className))
        }
        try reader.backlinks(to: target, fromClass: source, property: position) { key in
            try body(ObjectRef(source, key))
            return true
        }
    }

    /// The position of a class in the schema.
    package func classIndex(of className: String) throws -> Int {
        guard let classIndex = schema.index(of: className) else {
            throw StoreError(.unknownClass, MissingNames.text(class: className))
        }
        return classIndex
    }
}
