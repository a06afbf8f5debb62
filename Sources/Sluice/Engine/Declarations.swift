internal import SluiceModel

/// What this store asks the server to take into its schema, and when.
///
/// A store knows more classes than it declares: those that it learnt from the server, which may have removed them since.
struct Declarations {
    /// Declared whenever a session opens: the application's own classes.
    private(set) var standing: Schema
    /// Declared with the first upload of their objects, so that nothing is declared for what never comes about.
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

    /// Forgets what the server has.
    mutating func note(server: Schema) {
        var merged = server
        if let additions = try? merged.merge(deferred), additions.isEmpty { deferred = Schema() }
    }

    /// What the server must know before it can take operations; nil if it knows all of it.
    ///
    /// - Parameters:
    ///   - isComplete: whether the operations can be put in the server's terms.
    ///   - store: the schema that they are made under.
    ///   - server: the server's.
    func needed(
        for operations: [ObjectOperation], areComplete isComplete: Bool, store: Schema, server: Schema
    ) throws(SchemaError) -> Schema? {
        if isComplete, deferred.classes.isEmpty { return nil }
        var written: [Int: PropertySet] = [:]
        for operation in operations {
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
                known.index(of: property.name) == nil
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
    /// A schema of the given classes and of those of this one that they lead to.
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
