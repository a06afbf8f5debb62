extension Schema {
    /// The bytes of the schema: for each class and property 12 and its name, those of link targets and of defaults, and
    /// for each former name 4 and the name.
    package var byteCount: Int {
        classes.reduce(0) { sum, declared in
            declared.properties.reduce(sum + 12 + declared.name.utf8.count) { sum, property in
                property.formerNames.reduce(
                    sum + 12 + property.name.utf8.count + (property.type.targetClass?.utf8.count ?? 0)
                        + property.defaultValue.dataSize.byteCount
                ) { $0 + 4 + $1.utf8.count }
            }
        }
    }
}
