extension Changeset {
    /// Whether a schema has the classes and properties that the operations name, and names objects as they do.
    package func isPossible(in schema: Schema) -> Bool {
        if let creations {
            guard schema.classes.indices.contains(creations.classIndex) else { return false }
            let declared = schema.classes[creations.classIndex]
            return creations.properties.allSatisfy(declared.properties.indices.contains)
                && creations.keys.allSatisfy(declared.accepts)
        }
        return operations.allSatisfy { operation in
            guard schema.classes.indices.contains(operation.object.classIndex) else { return false }
            let properties = schema.classes[operation.object.classIndex].properties.indices
            return schema.classes[operation.object.classIndex].accepts(operation.object.key)
                && operation.fields.allSatisfy { properties.contains($0.property) }
        }
    }
}
