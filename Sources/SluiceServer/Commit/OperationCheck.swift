package import SluiceModel

/// Checks uploaded operations against the server's schema before anything is stored.
///
/// A class, since closures that make messages would copy a structure for each operation.
package final class OperationCheck: Sendable {
    let schema: Schema
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
        let (classIndex, key) = (operation.object.classIndex, operation.object.key)
        guard schema.classes.indices.contains(classIndex) else {
            return "there is no class \(classIndex); the schema has \(schema.classes.count)"
        }
        // Classes and properties are read in place: to copy one takes as long as to check an operation.
        guard !schema.classes[classIndex].isRetired else {
            return "the class at position \(classIndex) was removed from the schema"
        }
        guard schema.classes[classIndex].accepts(key) else {
            let declared = schema.classes[classIndex]
            return "\(declared.name) names its objects by \(declared.keyType.rawValue), not by the kind of key given"
        }
        if let excess = limits.excess(of: key, in: schema.classes[classIndex].name) { return excess.description }
        for field in operation.fields {
            if let problem = problem(with: field, ofClass: classIndex, key: key) { return problem }
        }
        return nil
    }

    private func problem(with field: FieldOperation, ofClass classIndex: Int, key: ObjectKey) -> String? {
        guard schema.classes[classIndex].properties.indices.contains(field.property) else {
            let count = schema.classes[classIndex].properties.count
            return "\(schema.classes[classIndex].name) has no property \(field.property); it has \(count)"
        }
        guard !schema.classes[classIndex].properties[field.property].isRetired else {
            let name = schema.classes[classIndex].name
            return "the property of \(name) at position \(field.property) was removed from the schema"
        }
        var property: Property { schema.classes[classIndex].properties[field.property] }
        var place: String { "\(schema.classes[classIndex].name).\(property.name)" }
        switch field.change {
        case .clear:
            guard property.type.isCollection else { return "\(place) is \(property.type), and cannot be emptied" }
        case .edit(let edits):
            let erased = edits.container == .set ? [Value.set(edits.erased)] : []
            for value in [edits.inserted] + erased {
                if let problem = problem(with: value, field.property, ofClass: classIndex, place: place) {
                    return problem
                }
            }
        case .editList(let edits):
            guard property.type.container == .list else { return "\(place) is \(property.type), and no list" }
            guard edits.places.allSatisfy({ (1...ElementPlace.stepCountMax).contains($0.steps.count) }) else {
                return "\(place) gets an element whose place has more than \(ElementPlace.stepCountMax) steps, or none"
            }
            return problem(with: .list(Array(edits.values)), field.property, ofClass: classIndex, place: place)
        case .set(let value), .setDefault(let value):
            if let problem = problem(with: value, field.property, ofClass: classIndex, place: place) { return problem }
            if field.property == schema.classes[classIndex].primaryKeyIndex, ObjectKey(primaryKey: value) != key {
                return "\(place) is the primary key and cannot differ from the object's key"
            }
        case .add(let amount):
            let type = property.type
            guard type.container == .single, let scalar = amount.scalarType, type.element == .scalar(scalar),
                [.int, .float, .double, .decimal].contains(scalar)
            else { return "\(place) is \(type), and \(amount.kindName) cannot be added to it" }
        }
        return nil
    }

    func problem(
        with value: Value, _ position: Int, ofClass classIndex: Int, place: @autoclosure () -> String
    ) -> String? {
        guard schema.classes[classIndex].properties[position].type.accepts(value) else {
            let type = schema.classes[classIndex].properties[position].type
            return "\(place()) is \(type), and the value is \(value.kindName)"
        }
        let target = schema.classes[classIndex].properties[position].type.targetClass
        guard linksAreSound(value, to: target) else {
            return "\(place()) holds a link whose key is not of the kind that \(target ?? "") has"
        }
        return limits.excess(ofLinksIn: value, in: place())?.description
    }

    private func linksAreSound(_ value: Value, to target: String?) -> Bool {
        guard let target, let index = schema.index(of: target) else { return true }
        return !value.anyLink { !schema.classes[index].accepts($0) }
    }
}
