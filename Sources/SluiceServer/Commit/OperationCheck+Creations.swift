internal import SluiceModel

extension OperationCheck {
    /// Whether creations are valid, as far as their columns say. If they are not, their operations say why.
    func accepts(_ creations: Creations) -> Bool {
        let classIndex = creations.classIndex
        guard schema.classes.indices.contains(classIndex), !schema.classes[classIndex].isRetired,
            creations.keys.allSatisfy({ schema.classes[classIndex].accepts($0) })
        else { return false }
        return creations.properties.indices.allSatisfy { column in
            let property = creations.properties[column]
            // The primary key is no value that a creation sets.
            guard schema.classes[classIndex].properties.indices.contains(property),
                property != schema.classes[classIndex].primaryKeyIndex,
                !schema.classes[classIndex].properties[property].isRetired
            else { return false }
            if creations.columns[column].isOf(schema.classes[classIndex].properties[property].type) { return true }
            return (0..<creations.count).allSatisfy { position in
                let value = creations.value(at: position, ofColumn: column)
                // Another default than that of the class counts as chosen, which columns do not say.
                if value.isCollection, creations.isDefault(at: position, ofColumn: column),
                    !value.isIdentical(to: schema.classes[classIndex].properties[property].defaultValue)
                {
                    return false
                }
                return problem(with: value, property, ofClass: classIndex, place: "") == nil
            }
        }
    }
}

extension ValueColumn {
    /// Whether all values are of a scalar type, as far as the form of the column says: false says nothing.
    fileprivate func isOf(_ type: PropertyType) -> Bool {
        guard type.container == .single, case .scalar(let scalar) = type.element else { return false }
        let isSame =
            switch content {
            case .null: type.isOptional
            case .integers(.int, _): scalar == .int
            case .integers(.bool, _): scalar == .bool
            case .integers(.date, _): scalar == .date
            case .floats: scalar == .float
            case .doubles: scalar == .double
            case .texts(.string, _): scalar == .string
            case .integers(.link, _), .texts(.link, _), .key, .values: false
            }
        return isSame && (type.isOptional || isNull.isEmpty)
    }
}
