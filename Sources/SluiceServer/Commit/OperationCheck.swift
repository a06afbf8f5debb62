package import SluiceModel

/// Checks uploaded operations against the server's schema before anything is stored.
package struct OperationCheck: Sendable {
    private let schema: Schema
    private let limits: DataLimits

    package init(schema: Schema, limits: DataLimits = .standard) {
        self.schema = schema
        self.limits = limits
    }

    /// An operation in the types that the schema has: one that was made when a property was of a narrower type still
    /// counts. What does not fit stays as it is, for ``problem(with:)`` to tell.
    package func fitting(_ operation: ObjectOperation) -> ObjectOperation {
        guard schema.classes.indices.contains(operation.object.classIndex) else { return operation }
        let properties = schema[operation.object.classIndex].properties
        func fitted(_ fields: [FieldOperation]) -> [FieldOperation] {
            fields.map { field in
                guard properties.indices.contains(field.property),
                    let change = properties[field.property].fitting(field.change)
                else { return field }
                return FieldOperation(field.property, change)
            }
        }
        var operation = operation
        switch operation.action {
        case .create(let fields): operation.action = .create(fitted(fields))
        case .update(let fields): operation.action = .update(fitted(fields))
        case .delete: break
        }
        return operation
    }

    /// Why an operation is invalid, as a message; nil if it is valid.
    package func problem(with operation: ObjectOperation) -> String? {
        guard schema.classes.indices.contains(operation.object.classIndex) else {
            return "there is no class \(operation.object.classIndex); the schema has \(schema.classes.count)"
        }
        let classSchema = schema[operation.object.classIndex]
        guard !classSchema.isRetired else {
            return "the class at position \(operation.object.classIndex) was removed from the schema"
        }
        guard classSchema.accepts(operation.object.key) else {
            return
                "\(classSchema.name) names its objects by \(classSchema.keyType.rawValue), not by the kind of key given"
        }
        if let excess = limits.excess(of: operation.object.key, in: classSchema.name) { return excess.description }
        for field in operation.fields {
            if let problem = problem(with: field, of: classSchema, key: operation.object.key) { return problem }
        }
        return nil
    }

    private func problem(with field: FieldOperation, of classSchema: ClassSchema, key: ObjectKey) -> String? {
        guard classSchema.properties.indices.contains(field.property) else {
            return "\(classSchema.name) has no property \(field.property); it has \(classSchema.properties.count)"
        }
        let property = classSchema.properties[field.property]
        guard !property.isRetired else {
            return "the property of \(classSchema.name) at position \(field.property) was removed from the schema"
        }
        var place: String { "\(classSchema.name).\(property.name)" }
        switch field.change {
        case .set(let value):
            guard property.type.accepts(value) else {
                return "\(place) is \(property.type), and the value is \(value.kindName)"
            }
            if field.property == classSchema.primaryKeyIndex, ObjectKey(primaryKey: value) != key {
                return "\(place) is the primary key and cannot differ from the object's key"
            }
            guard linksAreSound(value, to: property.type.targetClass) else {
                return "\(place) holds a link whose key is not of the kind that \(property.type.targetClass ?? "") has"
            }
            if let excess = limits.excess(ofLinksIn: value, in: place) { return excess.description }
        case .add(let amount):
            guard property.type.container == .single, let type = amount.scalarType,
                property.type.element == .scalar(type), [.int, .float, .double, .decimal].contains(type)
            else { return "\(place) is \(property.type), and \(amount.kindName) cannot be added to it" }
        }
        return nil
    }

    private func linksAreSound(_ value: Value, to target: String?) -> Bool {
        guard let target, let targetSchema = schema.classSchema(named: target) else { return true }
        return switch value {
        case .link(let key): targetSchema.accepts(key)
        case .list(let elements), .set(let elements): elements.allSatisfy { linksAreSound($0, to: target) }
        case .map(let map): map.entries.allSatisfy { linksAreSound($0.value, to: target) }
        default: true
        }
    }
}
