/// The classes of a store or database, as data.
///
/// Classes and properties are only ever appended, and one that is removed leaves its place behind. So a position, once
/// given, is never used for anything else in the life of a store.
public struct Schema: Hashable, Sendable {
    /// The most classes a schema may have.
    public static let classCountMax = 1_000
    /// The most properties a class may have.
    public static let propertyCountMax = 500

    /// In the order of declaration. Positions in this array stay; see ``ClassSchema``.
    public private(set) var classes: [ClassSchema]
    private var indexByName: [String: Int]

    /// The schema with no class.
    public init() {
        classes = []
        indexByName = [:]
    }

    /// - Throws: ``SchemaError`` when a class is declared twice, names differ only in case, or a link leads to a class that
    ///   is not declared.
    public init(_ classes: [ClassSchema]) throws(SchemaError) {
        self.init()
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

    /// The position of a class; nil if there is none of that name.
    public func index(of className: String) -> Int? { indexByName[className] }

    /// The class of that name.
    public func classSchema(named name: String) -> ClassSchema? { indexByName[name].map { classes[$0] } }

    /// The names of the classes, in the order of declaration.
    package var classNames: [String] { classes.lazy.filter { !$0.isRetired }.map(\.name) }

    /// The class at a position, in the order of declaration.
    ///
    /// - Precondition: there is one.
    public subscript(index: Int) -> ClassSchema { classes[index] }

    /// Leaves nothing of a class but its place, so that the positions of others stay.
    ///
    /// - Precondition: no property links to it.
    package mutating func retire(class index: Int) {
        indexByName[classes[index].name] = nil
        classes[index] = ClassSchema(retiredAt: index)
    }

    /// Leaves nothing of a property but its place, so that the positions of others stay.
    ///
    /// - Precondition: it is not the primary key.
    package mutating func retire(property: Int, ofClass index: Int) { classes[index].retire(property) }

    mutating func add(_ declared: ClassSchema) {
        indexByName[declared.name] = classes.count
        classes.append(declared)
    }

    mutating func append(_ property: Property, toClass index: Int) throws(SchemaError) {
        try classes[index].append(property)
    }

    mutating func setIndexed(property: Int, ofClass index: Int) { classes[index].setIndexed(property) }

    func check() throws(SchemaError) {
        guard classes.count <= Self.classCountMax else {
            throw SchemaError(.limitExceeded, "\(classes.count) classes; the limit is \(Self.classCountMax)")
        }
        try Self.checkCase(of: classNames) { "the schema has the classes \($0)" }
        for declared in classes {
            try Self.checkCase(of: declared.propertyNames) { "\(declared.name) has the properties \($0)" }
            guard declared.properties.count <= Self.propertyCountMax else {
                throw SchemaError(
                    .limitExceeded,
                    "\(declared.name) has \(declared.properties.count) properties; the limit is \(Self.propertyCountMax)"
                )
            }
            for property in declared.properties {
                if let target = property.type.targetClass, indexByName[target] == nil {
                    throw SchemaError(
                        .unknownClass,
                        "\(declared.name).\(property.name) links to '\(target)', which is not in the schema")
                }
            }
        }
    }
}

extension Schema {
    /// SQLite tells tables and columns apart without regard to the case of ASCII letters, which is all that names have.
    private static func checkCase(of names: [String], place: (String) -> String) throws(SchemaError) {
        var spellings: [String: String] = [:]
        spellings.reserveCapacity(names.count)
        for name in names {
            guard let other = spellings.updateValue(name, forKey: name.lowercased()) else { continue }
            throw SchemaError(
                .duplicateName, "\(place("'\(other)' and '\(name)'")), which differ only in case; rename one")
        }
    }

    /// Every link property that leads to a class: the positions of its class and of itself.
    package func backlinks(to classIndex: Int) -> [(classIndex: Int, property: Int)] {
        let target = classes[classIndex].name
        return classes.indices.flatMap { index in
            classes[index].properties.indices.compactMap { property in
                classes[index].properties[property].type.targetClass == target ? (index, property) : nil
            }
        }
    }
}
