/// The definition of a class: its name, its properties, and how its objects are identified.
public struct ClassSchema: Hashable, Sendable {
    /// The class's name: ASCII letters, digits and `_`, not starting with a digit.
    public let name: String
    /// The properties in the order of declaration; a schema only ever appends to them.
    public private(set) var properties: [Property]
    /// The name of the primary-key property; nil in a keyless class, whose objects are named by their object ids.
    public private(set) var primaryKey: String?
    /// The position of the primary key in `properties`; nil in a keyless class.
    public let primaryKeyIndex: Int?
    /// Whether the objects of the class stay in the store that has them: no server learns of the class or of them.
    public let isLocal: Bool
    /// Whether the class was removed and only its position is left: then it has no name, no properties and no objects.
    package let isRetired: Bool
    /// The positions of removed properties.
    package private(set) var retiredProperties: PropertySet = []
    /// The default of every property.
    package private(set) var defaultValues: [Value] = []
    private var indexByName: [String: Int]

    /// Makes the placeholder for a removed class. Its name is the position, which no class can have as its name.
    package init(retiredAt position: Int) {
        name = String(position)
        properties = []
        primaryKey = nil
        primaryKeyIndex = nil
        isRetired = true
        isLocal = false
        indexByName = [:]
    }

    /// Defines a class.
    ///
    /// - Parameters:
    ///   - name: the class's name.
    ///   - primaryKey: the name of the property that is the primary key; nil for a keyless class.
    ///   - properties: the properties; a link leads to a class that is local if and only if this one is.
    ///   - isLocal: whether the class does not sync. It cannot change once a store has the class.
    /// - Throws: ``SchemaError`` when a name is malformed or repeated, a default does not fit its type, or the primary
    ///   key is missing, optional or of a type that cannot be a key (only `int`, `string` and `uuid` can).
    public init(_ name: String, primaryKey: String? = nil, properties: [Property], isLocal: Bool = false)
        throws(SchemaError)
    {
        try Self.check(name: name, of: "class")
        self.name = name
        self.primaryKey = primaryKey
        self.isRetired = false
        self.isLocal = isLocal
        self.properties = []
        self.indexByName = [:]
        self.primaryKeyIndex = properties.firstIndex { $0.name == primaryKey }
        let limit = DataLimits.standard.propertyCount
        guard properties.count <= limit else {
            throw .tooMany("properties", properties.count, limit, in: "the class \(name)")
        }
        for property in properties { try append(property) }
        if let primaryKey {
            guard let primaryKeyIndex else {
                throw SchemaError(.invalidPrimaryKey, "\(name) has no property '\(primaryKey)' to be its primary key")
            }
            let type = properties[primaryKeyIndex].type
            guard [.scalar(.int), .scalar(.string), .scalar(.uuid)].contains(type) else {
                throw SchemaError(
                    .invalidPrimaryKey,
                    "\(name).\(primaryKey) is \(type), and a primary key must be a non-optional int, string or uuid")
            }
        }
    }

    /// The position of the property with a name, be it the name of now or a former one; nil if there is none.
    public func index(of property: String) -> Int? { indexByName[property] }

    /// The position of what another schema declares: by its name, else by what it was.
    package func index(of property: Property) -> Int? {
        indexByName[property.name] ?? property.formerNames.lazy.compactMap { indexByName[$0] }.first
    }

    /// The names of the properties, in the order of declaration.
    package var propertyNames: [String] { properties.lazy.filter { !$0.isRetired }.map(\.name) }

    /// The property with a name; nil if there is none.
    public func property(named name: String) -> Property? { indexByName[name].map { properties[$0] } }

    /// The type of the keys of this class's objects.
    package var keyType: ScalarType {
        guard let primaryKeyIndex, case .scalar(let type) = properties[primaryKeyIndex].type.element else {
            return .objectID
        }
        return type
    }

    /// Whether `key` has the type of this class's keys.
    package func accepts(_ key: ObjectKey) -> Bool { key.isOf(keyType) }

    /// The default of every property, with the primary key in its place.
    package func defaultValues(for key: ObjectKey) -> [Value] {
        var values = defaultValues
        if let primaryKeyIndex { values[primaryKeyIndex] = key.value }
        return values
    }

    /// Removes a property but keeps its position, so that the positions of the others stay.
    ///
    /// - Precondition: the property is not the primary key.
    package mutating func retire(_ position: Int) {
        precondition(position != primaryKeyIndex)
        indexByName = indexByName.filter { $0.value != position }
        set(.retired(at: position), at: position)
        retiredProperties.insert(position)
    }

    mutating func append(_ property: Property) throws(SchemaError) {
        if property.isRetired {
            retiredProperties.insert(properties.count)
            return add(.retired(at: properties.count))
        }
        try Self.check(name: property.name, of: "property")
        guard indexByName[property.name] == nil else {
            throw SchemaError(.duplicateName, "\(name) declares the property '\(property.name)' twice")
        }
        guard property.type.accepts(property.defaultValue) else {
            throw SchemaError(
                .invalidDefault, "the default of \(name).\(property.name) is not a value of its type, \(property.type)")
        }
        let position = properties.count
        for name in property.formerNames {
            try Self.check(name: name, of: "property")
            guard indexByName[name] == nil, name != property.name else {
                throw SchemaError(
                    .duplicateName, "\(self.name).\(property.name) was '\(name)', which is a property too")
            }
        }
        for name in property.formerNames + [property.name] { indexByName[name] = position }
        add(property)
    }

    private mutating func add(_ property: Property) {
        properties.append(property)
        defaultValues.append(property.defaultValue)
    }

    private mutating func set(_ property: Property, at position: Int) {
        properties[position] = property
        defaultValues[position] = property.defaultValue
    }

    /// Gives a property the former names of another declaration of it, and perhaps its name.
    ///
    /// - Returns: whether anything is new.
    mutating func rename(_ position: Int, as other: Property, takesName: Bool) -> Bool {
        let before = properties[position]
        let name = takesName ? other.name : before.name
        var former = before.formerNames
        for known in [before.name] + other.formerNames + [other.name]
        where known != name && !former.contains(known) && indexByName[known, default: position] == position {
            former.append(known)
        }
        former.removeAll { $0 == name }
        guard name != before.name || former != before.formerNames else { return false }
        if position == primaryKeyIndex { primaryKey = name }
        properties[position].name = name
        properties[position].formerNames = former
        for known in former + [name] { indexByName[known] = position }
        return true
    }

    /// Takes a former name from the property that has it.
    mutating func forgetFormerName(_ name: String) {
        guard let position = indexByName[name], properties[position].name != name else { return }
        indexByName[name] = nil
        properties[position].formerNames.removeAll { $0 == name }
    }

    /// Makes the type of a property wider.
    mutating func setType(_ type: PropertyType, at position: Int) {
        var property = properties[position]
        property.type = type
        property.defaultValue = type.fitting(property.defaultValue) ?? type.zero
        set(property, at: position)
    }

    /// Begins a property anew with another type.
    mutating func replace(_ position: Int, by property: Property) {
        var property = property
        property.name = properties[position].name
        property.formerNames = properties[position].formerNames
        set(property, at: position)
    }

    mutating func setIndexed(_ index: Int) { properties[index].isIndexed = true }

    /// - Throws: ``SchemaError/Code/invalidName`` if nothing of a kind, such as a class, can have the name.
    package static func check(name: String, of what: String) throws(SchemaError) {
        let isWellFormed = name.utf8.enumerated().allSatisfy { position, byte in
            switch byte {
            case 0x41...0x5A, 0x61...0x7A, 0x5F: true
            case 0x30...0x39: position > 0
            default: false
            }
        }
        guard isWellFormed, (1...DataLimits.standard.nameByteCount).contains(name.utf8.count) else {
            throw SchemaError(
                .invalidName,
                "'\(name)' cannot name a \(what): use 1 to 63 ASCII letters, digits and '_', not starting with a digit")
        }
    }
}

extension ObjectKey {
    /// Whether it is a key of a class whose keys are of a type.
    package func isOf(_ type: ScalarType) -> Bool {
        switch (self, type) {
        case (.id, .objectID), (.int, .int), (.string, .string), (.uuid, .uuid): true
        default: false
        }
    }
}
