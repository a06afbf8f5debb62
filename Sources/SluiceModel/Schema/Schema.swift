/// The classes of a store or database, as data.
///
/// Classes and properties are only ever appended, and a removed one keeps its position. So a position never changes its
/// meaning during the life of a store.
public struct Schema: Hashable, Sendable {
    /// The maximum number of classes in a schema.
    public static let classCountMax = DataLimits.standard.classCount
    /// The maximum number of properties in a class.
    public static let propertyCountMax = DataLimits.standard.propertyCount

    /// The most former names of a property.
    static let formerNameCountMax = 16

    /// The classes in the order of declaration. Their positions never change; see ``ClassSchema``.
    public private(set) var classes: [ClassSchema]
    private var indexByName: [String: Int]

    /// Makes a schema without classes.
    public init() {
        classes = []
        indexByName = [:]
    }

    /// Makes a schema of the given classes.
    ///
    /// - Throws: ``SchemaError`` when a class is declared twice, when names differ only in case, when a link leads to a
    ///   class that is not declared, or when there are too many classes or properties.
    public init(_ classes: [ClassSchema]) throws(SchemaError) {
        self.init()
        guard classes.count <= Self.classCountMax else { throw .tooMany("classes", classes.count, Self.classCountMax) }
        for declared in classes {
            if declared.isRetired {
                self.classes.append(ClassSchema(retiredAt: self.classes.count))
                continue
            }
            guard indexByName[declared.name] == nil else {
                throw SchemaError(.duplicateName, "the class '\(declared.name)' is declared twice")
            }
            add(declared)
        }
        try check()
    }

    /// The position of the class with a name; nil if there is none.
    public func index(of className: String) -> Int? { indexByName[className] }

    /// The class with a name; nil if there is none.
    public func classSchema(named name: String) -> ClassSchema? { indexByName[name].map { classes[$0] } }

    /// The names of the classes, in the order of declaration.
    package var classNames: [String] { classes.lazy.filter { !$0.isRetired }.map(\.name) }

    /// The class at a position, in the order of declaration.
    ///
    /// - Precondition: the position exists.
    public subscript(index: Int) -> ClassSchema { classes[index] }

    /// The property at a position.
    ///
    /// - Precondition: there is one.
    package subscript(position: SchemaChanges.PropertyPosition) -> Property {
        classes[position.classIndex].properties[position.property]
    }

    /// Removes a class but keeps its position, so that the positions of the others stay.
    ///
    /// - Precondition: no property links to the class.
    package mutating func retire(class index: Int) {
        indexByName[classes[index].name] = nil
        classes[index] = ClassSchema(retiredAt: index)
    }

    /// Removes a property but keeps its position, so that the positions of the others stay.
    ///
    /// - Precondition: the property is not the primary key.
    package mutating func retire(property: Int, ofClass index: Int) { classes[index].retire(property) }

    mutating func add(_ declared: ClassSchema) {
        indexByName[declared.name] = classes.count
        classes.append(declared)
    }

    mutating func append(_ property: Property, toClass index: Int) throws(SchemaError) {
        try classes[index].append(property)
    }

    mutating func rename(_ position: SchemaChanges.PropertyPosition, as other: Property, takesName: Bool) -> Bool {
        classes[position.classIndex].rename(position.property, as: other, takesName: takesName)
    }

    mutating func forgetFormerName(_ name: String, ofClass index: Int) { classes[index].forgetFormerName(name) }

    mutating func setType(_ type: PropertyType, of position: SchemaChanges.PropertyPosition) {
        classes[position.classIndex].setType(type, at: position.property)
    }

    mutating func replace(_ position: SchemaChanges.PropertyPosition, by property: Property) {
        classes[position.classIndex].replace(position.property, by: property)
    }

    mutating func setIndexed(property: Int, ofClass index: Int) { classes[index].setIndexed(property) }

    func check() throws(SchemaError) {
        guard classes.count <= Self.classCountMax else {
            throw .tooMany("classes", classes.count, Self.classCountMax)
        }
        let limits = DataLimits.standard
        let propertyCount = classes.reduce(0) { $0 + $1.properties.count }
        guard propertyCount <= limits.schemaPropertyCount else {
            throw .tooMany("properties in all classes", propertyCount, limits.schemaPropertyCount)
        }
        guard byteCount <= limits.schemaByteCount else {
            throw .tooMany("bytes of names and defaults", byteCount, limits.schemaByteCount)
        }
        try Self.checkCase(of: classNames) { "the schema has the classes \($0)" }
        for declared in classes {
            try Self.checkCase(of: declared.propertyNames) { "\(declared.name) has the properties \($0)" }
            guard declared.properties.count <= Self.propertyCountMax else {
                throw .tooMany(
                    "properties", declared.properties.count, Self.propertyCountMax, in: "the class \(declared.name)")
            }
            for property in declared.properties {
                guard property.formerNames.count <= Self.formerNameCountMax else {
                    throw SchemaError(
                        .limitExceeded,
                        "\(declared.name).\(property.name) has \(property.formerNames.count) former names; the limit is "
                            + "\(Self.formerNameCountMax)")
                }
                if let target = property.type.targetClass, indexByName[target] == nil {
                    throw SchemaError(
                        .unknownClass,
                        "\(declared.name).\(property.name) links to '\(target)', which is not in the schema")
                }
                try check(property, of: declared)
            }
        }
    }
}

extension Schema {
    /// The classes that sync, without the others.
    package var synced: Schema {
        guard hasLocalClasses else { return self }
        var synced = Schema()
        for declared in classes where !declared.isLocal && !declared.isRetired { synced.add(declared) }
        return synced
    }

    /// Whether a class does not sync. O(classes).
    package var hasLocalClasses: Bool { classes.contains { $0.isLocal } }

    /// The same schema with these classes marked as local. A position that no class has is ignored.
    ///
    /// - Throws: ``SchemaError`` when a link would lead from one side to the other.
    package func markingLocal(_ positions: [Int]) throws(SchemaError) -> Schema {
        var marked = self
        for position in positions where classes.indices.contains(position) && !classes[position].isRetired {
            let declared = classes[position]
            marked.classes[position] = try ClassSchema(
                declared.name, primaryKey: declared.primaryKey, properties: declared.properties, isLocal: true)
        }
        try marked.check()
        return marked
    }

    /// Checks that a link does not lead from a class that syncs to one that does not, or back.
    private func check(_ property: Property, of declared: ClassSchema) throws(SchemaError) {
        guard let target = property.type.targetClass.flatMap({ classSchema(named: $0) }),
            target.isLocal != declared.isLocal
        else { return }
        func side(_ declared: ClassSchema) -> String {
            declared.isLocal ? "'\(declared.name)' is local" : "'\(declared.name)' syncs"
        }
        throw SchemaError(
            .localLink,
            "\(declared.name).\(property.name) links two sides: \(side(declared)), and \(side(target)); declare both "
                + "alike, or keep the other object's key in a property that is no link")
    }

    /// Checks that no two names differ only in the case of ASCII letters, since SQLite would take them for the same
    /// table or column. Names have no other letters.
    private static func checkCase(of names: [String], place: (String) -> String) throws(SchemaError) {
        var spellings: [String: String] = [:]
        spellings.reserveCapacity(names.count)
        for name in names {
            guard let other = spellings.updateValue(name, forKey: name.lowercased()) else { continue }
            throw SchemaError(
                .duplicateName, "\(place("'\(other)' and '\(name)'")), which differ only in case; rename one")
        }
    }

    /// All link properties that lead to a class, by the position of their class and their own.
    package func backlinks(to classIndex: Int) -> [(classIndex: Int, property: Int)] {
        let target = classes[classIndex].name
        return classes.indices.flatMap { index in
            classes[index].properties.indices.compactMap { property in
                classes[index].properties[property].type.targetClass == target ? (index, property) : nil
            }
        }
    }
}
