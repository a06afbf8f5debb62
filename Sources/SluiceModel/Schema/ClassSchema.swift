/// One class: its name, properties and how its objects are identified.
public struct ClassSchema: Hashable, Sendable {
    /// Letters, digits and `_`, not starting with a digit.
    public let name: String
    /// In the order of declaration; evolution only appends.
    public private(set) var properties: [Property]
    /// The name of the primary-key property; nil in a keyless class, whose objects are named by their ids.
    public let primaryKey: String?
    /// The position of the primary key in `properties`.
    public let primaryKeyIndex: Int?
    /// Whether this is only the place of a class that was removed: it has no name, no properties and no objects.
    package let isRetired: Bool
    /// The places of properties that were removed.
    package private(set) var retiredProperties: PropertySet = []
    private var indexByName: [String: Int]

    /// What keeps the place of a class that was removed, named by the position that no other class gets.
    package init(retiredAt position: Int) {
        name = String(position)
        properties = []
        primaryKey = nil
        primaryKeyIndex = nil
        isRetired = true
        indexByName = [:]
    }

    /// - Throws: ``SchemaError`` when a name is malformed or repeated, a default does not fit its type, or the primary
    ///   key is missing, optional or of a type that cannot be a key (`int`, `string` and `uuid` can).
    public init(_ name: String, primaryKey: String? = nil, properties: [Property]) throws(SchemaError) {
        try Self.check(name: name, of: "class")
        self.name = name
        self.primaryKey = primaryKey
        self.isRetired = false
        self.properties = []
        self.indexByName = [:]
        self.primaryKeyIndex = properties.firstIndex { $0.name == primaryKey }
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

    /// The position of a property; nil if there is none of that name.
    public func index(of property: String) -> Int? { indexByName[property] }

    /// The names of the properties, in the order of declaration.
    package var propertyNames: [String] { properties.lazy.filter { !$0.isRetired }.map(\.name) }

    /// The property of that name.
    public func property(named name: String) -> Property? { indexByName[name].map { properties[$0] } }

    /// The key type that objects of this class have.
    package var keyType: ScalarType {
        guard let primaryKeyIndex, case .scalar(let type) = properties[primaryKeyIndex].type.element else {
            return .objectID
        }
        return type
    }

    /// Whether `key` is of the kind that names objects of this class.
    package func accepts(_ key: ObjectKey) -> Bool {
        switch (key, keyType) {
        case (.id, .objectID), (.int, .int), (.string, .string), (.uuid, .uuid): true
        default: false
        }
    }

    /// A full row of defaults, with the primary key in its place.
    package func defaultValues(for key: ObjectKey) -> [Value] {
        var values = properties.map(\.defaultValue)
        if let primaryKeyIndex { values[primaryKeyIndex] = key.value }
        return values
    }

    /// Leaves nothing of a property but its place, so that the positions of others stay.
    ///
    /// - Precondition: it is not the primary key.
    package mutating func retire(_ position: Int) {
        precondition(position != primaryKeyIndex)
        indexByName[properties[position].name] = nil
        properties[position] = .retired(at: position)
        retiredProperties.insert(position)
    }

    mutating func append(_ property: Property) throws(SchemaError) {
        if property.isRetired {
            retiredProperties.insert(properties.count)
            return properties.append(.retired(at: properties.count))
        }
        try Self.check(name: property.name, of: "property")
        guard indexByName[property.name] == nil else {
            throw SchemaError(.duplicateName, "\(name) declares the property '\(property.name)' twice")
        }
        guard property.type.accepts(property.defaultValue) else {
            throw SchemaError(
                .invalidDefault, "the default of \(name).\(property.name) is not a value of its type, \(property.type)")
        }
        indexByName[property.name] = properties.count
        properties.append(property)
    }

    mutating func setIndexed(_ index: Int) { properties[index].isIndexed = true }

    static func check(name: String, of what: String) throws(SchemaError) {
        let isWellFormed = name.utf8.enumerated().allSatisfy { position, byte in
            switch byte {
            case 0x41...0x5A, 0x61...0x7A, 0x5F: true
            case 0x30...0x39: position > 0
            default: false
            }
        }
        guard isWellFormed, (1...63).contains(name.utf8.count) else {
            throw SchemaError(
                .invalidName,
                "'\(name)' cannot name a \(what): use 1 to 63 ASCII letters, digits and '_', not starting with a digit")
        }
    }
}
