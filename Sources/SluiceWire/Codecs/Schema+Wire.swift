package import SluiceModel

extension Schema: WireCodable {
    package func encode(into writer: inout ByteWriter) {
        writer.array(classes) { $1.encode(into: &$0) }
    }

    package init(from reader: inout ByteReader) throws(WireError) {
        var count = 0
        let classes = try reader.array(minimumSize: 3) { reader throws(WireError) in
            defer { count += 1 }
            return try ClassSchema(from: &reader, at: count)
        }
        do throws(SchemaError) {
            try self.init(classes)
        } catch {
            throw reader.malformed(error.message)
        }
    }
}

extension ClassSchema {
    /// The name, the primary key's position plus one (0: keyless), then the properties. A name of digits is that of a
    /// class that was removed.
    func encode(into writer: inout ByteWriter) {
        writer.string(name)
        writer.varint(primaryKeyIndex.map { $0 + 1 } ?? 0)
        writer.array(properties) { $1.encode(into: &$0) }
    }

    /// - Parameter position: where the class stands in its schema.
    init(from reader: inout ByteReader, at position: Int) throws(WireError) {
        let name = try reader.string()
        let primaryKey = try reader.position()
        var count = 0
        let properties = try reader.array(minimumSize: 4) { reader throws(WireError) in
            defer { count += 1 }
            return try Property(from: &reader, at: count)
        }
        if name == String(position), primaryKey == 0, properties.isEmpty {
            self.init(retiredAt: position)
            return
        }
        guard primaryKey <= properties.count else {
            throw reader.malformed("a primary key at position \(primaryKey - 1) of \(properties.count) properties")
        }
        do throws(SchemaError) {
            try self.init(
                name, primaryKey: primaryKey == 0 ? nil : properties[primaryKey - 1].name, properties: properties)
        } catch {
            throw reader.malformed(error.message)
        }
    }
}

extension Property {
    private enum Flag {
        static let optional: UInt8 = 1
        static let indexed: UInt8 = 2
        /// A default that is not the type's zero follows.
        static let hasDefault: UInt8 = 4
        /// Former names follow.
        static let wasRenamed: UInt8 = 8
    }

    /// Name, element (a scalar's code, or 32 and the target's name), container, flags, then the default where flagged.
    /// A name of digits is that of a property that was removed.
    func encode(into writer: inout ByteWriter) {
        let hasDefault = defaultValue != type.zero
        writer.string(name)
        switch type.element {
        case .scalar(let scalar): writer.byte(scalar.wireCode)
        case .link(let target):
            writer.byte(ScalarType.linkWireCode)
            writer.string(target)
        }
        writer.byte(type.container.wireCode)
        writer.byte(
            (type.isOptional ? Flag.optional : 0) | (isIndexed ? Flag.indexed : 0) | (hasDefault ? Flag.hasDefault : 0)
                | (formerNames.isEmpty ? 0 : Flag.wasRenamed))
        if hasDefault { defaultValue.encode(into: &writer) }
        if !formerNames.isEmpty { writer.array(formerNames) { $0.string($1) } }
    }

    /// - Parameter position: where the property stands in its class.
    init(from reader: inout ByteReader, at position: Int) throws(WireError) {
        let name = try reader.string()
        let element: PropertyType.Element
        switch try reader.byte() {
        case ScalarType.linkWireCode: element = .link(try reader.string())
        case let code:
            guard let scalar = ScalarType(wireCode: code) else {
                throw reader.malformed("\(code) is no type of a property")
            }
            element = .scalar(scalar)
        }
        let code = try reader.byte()
        guard let container = PropertyType.Container(wireCode: code) else {
            throw reader.malformed("\(code) is no container of a property")
        }
        let flags = try reader.byte()
        guard flags < 16 else { throw reader.malformed("\(flags) are no flags of a property") }
        self.init(
            name, PropertyType(element, container: container, isOptional: flags & Flag.optional != 0),
            default: flags & Flag.hasDefault != 0 ? try Value(from: &reader) : nil,
            isIndexed: flags & Flag.indexed != 0,
            was: flags & Flag.wasRenamed != 0
                ? try reader.array(minimumSize: 2) { reader throws(WireError) in try reader.string() } : [])
        if self == Property(String(position), .scalar(.bool, isOptional: true)) { self = .retired(at: position) }
    }
}

extension ScalarType {
    /// What stands for a link where a scalar's code would.
    static let linkWireCode: UInt8 = 32

    private static let wireOrder: [ScalarType] = [
        .bool, .int, .float, .double, .string, .data, .date, .uuid, .objectID, .decimal,
    ]

    var wireCode: UInt8 { UInt8(Self.wireOrder.firstIndex(of: self) ?? 0) }

    init?(wireCode: UInt8) {
        guard Int(wireCode) < Self.wireOrder.count else { return nil }
        self = Self.wireOrder[Int(wireCode)]
    }
}

extension PropertyType.Container {
    private static let wireOrder: [PropertyType.Container] = [.single, .list, .set, .map]

    var wireCode: UInt8 { UInt8(Self.wireOrder.firstIndex(of: self) ?? 0) }

    init?(wireCode: UInt8) {
        guard Int(wireCode) < Self.wireOrder.count else { return nil }
        self = Self.wireOrder[Int(wireCode)]
    }
}
