internal import SluiceModel

/// Says which classes this store declares to the server, and when.
///
/// A store knows more classes than it declares: those that it received from the server, which may have removed them
/// since.
struct Declarations {
    /// The application's own classes, declared whenever a session opens.
    private(set) var standing: Schema
    /// Classes that are declared with the first upload of their objects, so that nothing is declared if there is none.
    private(set) var deferred = Schema()

    init(_ standing: Schema) { self.standing = standing }

    /// - Parameter isDeferred: whether the classes are declared with the first upload of their objects.
    mutating func add(_ classes: Schema, isDeferred: Bool) throws(SchemaError) {
        if isDeferred {
            _ = try deferred.merge(classes)
        } else {
            _ = try standing.merge(classes)
        }
    }

    /// Drops deferred classes that the server already has.
    mutating func note(server: Schema) {
        var merged = server
        if let additions = try? merged.merge(deferred), additions.isEmpty { deferred = Schema() }
    }

    /// The classes and properties that the server needs before it can accept operations; nil if it has all of them.
    ///
    /// - Parameters:
    ///   - isComplete: whether the operations could be translated to the server's positions.
    ///   - store: the store's schema, to which the operations belong.
    ///   - server: the server's schema.
    func needed(
        for operations: @autoclosure () -> [ObjectOperation], areComplete isComplete: Bool, store: Schema,
        server: Schema
    ) throws(SchemaError) -> Schema? {
        if isComplete, deferred.classes.isEmpty { return nil }
        var written: [Int: PropertySet] = [:]
        for operation in operations() {
            written[operation.object.classIndex, default: []].formUnion(PropertySet(operation.fields.map(\.property)))
        }
        var needed: [ClassSchema] = []
        for (classIndex, properties) in written.sorted(by: { $0.key < $1.key }) {
            let own = store[classIndex]
            guard let known = server.classSchema(named: own.name) else {
                needed.append(own)
                continue
            }
            let deferred = deferred.classSchema(named: own.name)?.propertyNames ?? []
            let lacking = own.properties.enumerated().filter { position, property in
                known.index(of: property) == nil
                    && (deferred.contains(property.name) || !isComplete && properties.contains(position))
            }
            guard !lacking.isEmpty else { continue }
            let key = own.primaryKeyIndex.map { [own.properties[$0]] } ?? []
            needed.append(
                try ClassSchema(own.name, primaryKey: own.primaryKey, properties: key + lacking.map(\.element)))
        }
        return needed.isEmpty ? nil : try store.closure(of: needed)
    }
}

extension Schema {
    /// A schema of the given classes and of all classes of this schema that they link to, directly or indirectly.
    func closure(of classes: [ClassSchema]) throws(SchemaError) -> Schema {
        var closed = classes
        var names = Set(classes.map(\.name))
        var next = 0
        while next < closed.count {
            for target in closed[next].properties.compactMap(\.type.targetClass) where names.insert(target).inserted {
                if let declared = classSchema(named: target) { closed.append(declared) }
            }
            next += 1
        }
        return try Schema(closed)
    }
}
