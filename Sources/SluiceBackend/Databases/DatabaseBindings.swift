internal import Glibc
internal import Sluice
internal import SluiceModel
internal import SluiceQuery
internal import SluiceServer
internal import SluiceStorage
internal import Synchronization

/// How rows of a database meet Swift types: made once for a type and a form of its class.
final class DatabaseBindings: Sendable {
    private struct Key: Hashable {
        let element: ObjectIdentifier
        let classIndex: Int
    }

    private let access: DatabaseAccess
    private let known = Mutex<[Key: ElementBinding]>([:])

    init(_ access: DatabaseAccess) { self.access = access }

    func binding(of element: any ResultElement.Type, classIndex: Int, schema: Schema) throws -> ElementBinding {
        let key = Key(element: ObjectIdentifier(element), classIndex: classIndex)
        if let binding = known.withLock({ $0[key] }), binding.classSchema == schema[classIndex] { return binding }
        let binding = try ElementBinding(
            element, className: schema[classIndex].name, schema: schema,
            links: LinkSource(DatabaseLinks(access, self)))
        known.withLock { $0[key] = binding }
        return binding
    }
}

/// What reading and writing a database asks of it.
///
/// Sound as `Sendable`: the writer is there only while the body of a transaction runs, and is used on its thread alone,
/// which each use checks.
final class ServerWriteScope: ResultScope, @unchecked Sendable {
    private let bindings: DatabaseBindings
    let schema: Schema
    let inverses: InverseNames
    /// The writer of the open transaction.
    private var openWriter: LocalWriter?
    /// The thread of its body; 0 for none.
    private let thread = Atomic<UInt>(0)

    init(_ bindings: DatabaseBindings, schema: Schema, inverses: InverseNames = InverseNames()) {
        self.bindings = bindings
        self.schema = schema
        self.inverses = inverses
    }

    /// Lets results be read through a writer while `body` runs.
    func open<Result>(_ writer: LocalWriter, _ body: () throws -> Result) rethrows -> Result {
        openWriter = writer
        thread.store(UInt(pthread_self()), ordering: .releasing)
        defer {
            thread.store(0, ordering: .releasing)
            openWriter = nil
        }
        return try body()
    }

    func writer() throws -> (writer: LocalWriter, isAlone: Bool) {
        guard thread.load(ordering: .acquiring) == UInt(pthread_self()), let openWriter else {
            throw StoreError.outsideWrite
        }
        return (openWriter, true)
    }

    func classIndex(of className: String) throws -> Int {
        guard let index = schema.index(of: className) else {
            throw StoreError(.unknownClass, "the database has no class '\(className)'")
        }
        return index
    }

    func binding(of element: any ResultElement.Type, classIndex: Int) throws -> ElementBinding {
        try bindings.binding(of: element, classIndex: classIndex, schema: schema)
    }
}

/// Resolves the links of values that were read from a database. It reads the last commit, and waits for the work that
/// the database has.
private final class DatabaseLinks: LinkResolving {
    private let access: DatabaseAccess
    /// Weakly, since the bindings hold their resolvers.
    private weak let bindings: DatabaseBindings?

    init(_ access: DatabaseAccess, _ bindings: DatabaseBindings) {
        self.access = access
        self.bindings = bindings
    }

    private func reading<Result>(
        _ className: String, _ body: (any ObjectReading, Int) throws -> Result
    ) throws -> Result {
        try access.read { objects in
            guard let classIndex = objects.schema.index(of: className) else {
                throw StoreError(.unknownClass, "the database has no class '\(className)'")
            }
            return try body(objects, classIndex)
        }
    }

    private func binding(
        of element: any ResultElement.Type, _ classIndex: Int, in objects: any ObjectReading
    ) throws -> ElementBinding {
        guard let bindings else { throw StoreError(.closed, "the database that this value came from is gone") }
        return try bindings.binding(of: element, classIndex: classIndex, schema: objects.schema)
    }

    func fetch(_ object: Identity, as element: any ResultElement.Type) throws -> BoundRow? {
        try reading(object.className) { objects, classIndex in
            try objects.row(ObjectRef(classIndex, object.key)).map {
                BoundRow($0, try binding(of: element, classIndex, in: objects))
            }
        }
    }

    func isPresent(_ object: Identity) throws -> Bool {
        try reading(object.className) { try $0.isPresent(ObjectRef($1, object.key)) }
    }

    func backlinks(
        to object: Identity, className: String, property: String, as element: any ResultElement.Type
    ) throws -> [BoundRow] {
        try reading(className) { objects, source in
            let binding = try binding(of: element, source, in: objects)
            var rows: [(id: ObjectID, row: Row)] = []
            try forEachBacklink(to: object, from: source, property, in: objects) { key in
                guard let row = try objects.row(ObjectRef(source, key)) else { return }
                rows.append((Identity(className: className, key: key).objectID, row))
            }
            return rows.sorted { $0.id < $1.id }.map { BoundRow($0.row, binding) }
        }
    }

    func backlinkCount(to object: Identity, className: String, property: String) throws -> Int {
        try reading(className) { objects, source in
            var count = 0
            try forEachBacklink(to: object, from: source, property, in: objects) { _ in count += 1 }
            return count
        }
    }

    private func forEachBacklink(
        to object: Identity, from source: Int, _ property: String, in objects: any ObjectReading,
        _ body: (ObjectKey) throws -> Void
    ) throws {
        let schema = objects.schema
        guard let target = schema.index(of: object.className), let position = schema[source].index(of: property) else {
            throw ModelError(
                .notInSchema, "the database's class '\(schema[source].name)' has no property '\(property)'")
        }
        try objects.backlinks(to: ObjectRef(target, object.key), fromClass: source, property: position) { key in
            try body(key)
            return true
        }
    }

    func resolve(
        _ object: Identity, as element: any ResultElement.Type, timeout: Duration?
    ) async throws -> BoundRow {
        guard let row = try fetch(object, as: element) else {
            throw ModelError(.notFound, "the database has no \(object.className) with this key")
        }
        return row
    }
}
