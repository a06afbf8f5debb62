internal import SluiceModel

/// Translates positions between the server's schema, which messages use, and the store's schema, which may have another
/// order.
struct SchemaMap {
    private struct ClassMap {
        var index: Int
        var properties: [Int?]
        var isIdentity: Bool
    }

    private let store: Schema
    private let fromServer: [ClassMap]
    private let toServer: [ClassMap?]

    /// - Precondition: the store has merged the server's schema, so that it lacks nothing except the positions of
    ///   removed classes and properties.
    init(server: Schema, store: Schema) {
        self.store = store
        fromServer = server.classes.map {
            Self.map($0, to: store) ?? ClassMap(index: -1, properties: [], isIdentity: false)
        }
        toServer = store.classes.map { Self.map($0, to: server) }
    }

    private static func map(_ classSchema: ClassSchema, to other: Schema) -> ClassMap? {
        guard let index = other.index(of: classSchema.name) else { return nil }
        let properties = classSchema.properties.map { $0.isRetired ? nil : other[index].index(of: $0) }
        return ClassMap(
            index: index, properties: properties,
            isIdentity: properties == Array(0..<properties.count).map(Optional.some))
    }

    /// The store's position of a server's class; nil for a position that the server never announced.
    func classIndex(fromServer classIndex: Int) -> Int? {
        guard fromServer.indices.contains(classIndex), fromServer[classIndex].index >= 0 else { return nil }
        return fromServer[classIndex].index
    }

    /// The store's positions of a set of the server's properties, in the set's order; nil if one was never announced.
    func properties(fromServer properties: PropertySet, ofClass classIndex: Int) -> [Int]? {
        guard fromServer.indices.contains(classIndex) else { return nil }
        var mapped: [Int] = []
        for property in properties {
            guard property < fromServer[classIndex].properties.count,
                let own = fromServer[classIndex].properties[property]
            else { return nil }
            mapped.append(own)
        }
        return mapped
    }

    /// The object with the server's position of its class; nil if the server does not have the class.
    func toServer(_ object: ObjectRef) -> ObjectRef? {
        // The class's map is looked at and not copied: lists of members have many objects.
        guard let classIndex = toServer[object.classIndex]?.index else { return nil }
        return ObjectRef(classIndex, object.key)
    }

    /// Whether all positions of a class are the server's.
    func isSame(_ classIndex: Int) -> Bool {
        toServer[classIndex].map { $0.isIdentity && $0.index == classIndex } ?? false
    }

    func fromServer(_ object: ObjectRef) -> ObjectRef? {
        classIndex(fromServer: object.classIndex).map { ObjectRef($0, object.key) }
    }

    /// The operation with the server's positions; nil if the server lacks the class or a property. If the server lacks
    /// a property that a new object sets to its default, the property is left out.
    func toServer(_ operation: ObjectOperation) -> ObjectOperation? {
        guard let map = toServer[operation.object.classIndex] else { return nil }
        let object = ObjectRef(map.index, operation.object.key)
        func mapped(_ fields: [FieldOperation], isNew: Bool = false) -> [FieldOperation]? {
            if map.isIdentity { return fields }
            var result: [FieldOperation] = []
            for field in fields {
                guard let property = map.properties[field.property] else {
                    let own = store[operation.object.classIndex].properties[field.property]
                    let value = own.defaultValue
                    if isNew, field.change == .set(value) || field.change == .setDefault(value) { continue }
                    return nil
                }
                result.append(FieldOperation(property, field.change))
            }
            return result
        }
        switch operation.action {
        case .create(let fields): return mapped(fields, isNew: true).map { ObjectOperation(object, .create($0)) }
        case .update(let fields): return mapped(fields).map { ObjectOperation(object, .update($0)) }
        case .delete: return ObjectOperation(object, .delete)
        }
    }
}
