package import SluiceJSON
package import SluiceModel

/// Parses lines of `sluice write`:
///
/// `{"op":"insert"|"upsert"|"update"|"delete","class":…,"key":…|"@id":…,"set":{…},"add":{…}}`, and for single elements
/// of collections `"remove":{…},"move":{…},"insert":{…}`.
package struct WriteRequestParser {
    private enum Operation: String, CaseIterable { case insert, upsert, update, delete }

    private static let members = ["op", "class", "key", "@id", "set", "add", "remove", "move", "insert"]

    private let schema: Schema
    private let ids: ObjectIDGenerator

    /// - Parameter ids: draws the ids of new objects of classes without a primary key.
    package init(schema: Schema, ids: ObjectIDGenerator = .process) {
        self.schema = schema
        self.ids = ids
    }

    /// - Throws: ``WriteRequestError`` that says what is wrong with the line, without the line number.
    package func parse(_ line: String) throws(WriteRequestError) -> WriteRequest {
        let json: JSONValue
        do throws(JSONError) { json = try JSONParser.parse(line) } catch {
            throw .failure("at byte \(error.position): \(error.message)")
        }
        return try parse(json)
    }

    /// - Throws: ``WriteRequestError`` that says what is wrong with the line.
    package func parse(_ json: JSONValue) throws(WriteRequestError) -> WriteRequest {
        let members = try object(json, "the line")
        for name in members.keys where !Self.members.contains(name) {
            throw .failure("unknown member '\(name)'; a line has \(Self.members.joined(separator: ", "))")
        }
        let operation = try self.operation(members["op"])
        let declared = try classSchema(members["class"])
        let set = try values(members["set"], "set", of: declared, property)
        let add = try values(members["add"], "add", of: declared, amount)
        var edits: [CollectionEdit] = []
        for name in ["remove", "move", "insert"] { edits += try self.edits(members[name], name, of: declared) }
        guard edits.isEmpty || operation == .update else {
            throw .failure("\"remove\", \"move\" and \"insert\" are for updates")
        }
        switch operation {
        case .insert:
            guard add.isEmpty else { throw .failure("an insert takes no \"add\": put the value into \"set\"") }
            return .insert(try record(members, declared, set))
        case .upsert:
            guard add.isEmpty else { throw .failure("an upsert takes no \"add\": put the value into \"set\"") }
            if declared.primaryKey == nil { _ = try target(members, declared) }
            return .upsert(try record(members, declared, set).withOnly(set.keys))
        case .update:
            guard !set.isEmpty || !add.isEmpty || !edits.isEmpty else {
                throw .failure("an update needs something in \"set\", \"add\", \"remove\", \"move\" or \"insert\"")
            }
            if let both = set.keys.first(where: { add[$0] != nil }) {
                throw .failure("'\(both)' is in \"set\" and in \"add\"")
            }
            if let both = edits.first(where: { set[$0.property] != nil })?.property {
                throw .failure("'\(both)' is set as a whole, and edited")
            }
            let target = try self.target(members, declared)
            if let name = declared.primaryKey, let key = set[name], case .identity(let identity) = target,
                ObjectKey(primaryKey: key) != identity.key
            {
                throw .failure(
                    "the primary key '\(name)' of a \(declared.name) cannot change, and \"set\" has another than \"key\""
                )
            }
            return .update(target, set: set, add: add, edits: edits)
        case .delete:
            guard set.isEmpty, add.isEmpty else { throw .failure("a delete takes neither \"set\" nor \"add\"") }
            return .delete(try target(members, declared))
        }
    }

    private func object(_ json: JSONValue?, _ what: String) throws(WriteRequestError) -> [String: JSONValue] {
        switch json {
        case nil: return [:]
        case .object(let members): return Dictionary(members.map { ($0.name, $0.value) }) { $1 }
        default: throw .failure("\(what) is not a JSON object")
        }
    }

    private func operation(_ json: JSONValue?) throws(WriteRequestError) -> Operation {
        guard case .string(let text) = json, let operation = Operation(rawValue: text) else {
            throw .failure("\"op\" is missing or none of insert, upsert, update, delete")
        }
        return operation
    }

    private func classSchema(_ json: JSONValue?) throws(WriteRequestError) -> ClassSchema {
        guard case .string(let name) = json else { throw .failure("\"class\" is missing or no string") }
        guard let declared = schema.classSchema(named: name) else {
            let names = schema.classes.map(\.name)
            let hint =
                Suggestion.closest(to: name, among: names).map { "did you mean '\($0)'?" }
                ?? (names.isEmpty ? "the database has none" : "the database has \(names.joined(separator: ", "))")
            throw .failure("there is no class '\(name)'; \(hint)")
        }
        return declared
    }

    private typealias Conversion = (Property, JSONValue) throws(ConversionError) -> Value

    private func values(
        _ json: JSONValue?, _ what: String, of declared: ClassSchema, _ convert: Conversion
    ) throws(WriteRequestError) -> [String: Value] {
        var values: [String: Value] = [:]
        for (name, json) in try object(json, "\"\(what)\"") {
            guard let property = declared.property(named: name) else {
                throw .failure(RecordError.unknownProperty(name, of: declared).message)
            }
            do throws(ConversionError) {
                values[name] = try convert(property, json)
            } catch {
                throw .failure("\"\(what)\": property '\(name)': \(error.message)")
            }
        }
        return values
    }

    private func property(_ property: Property, _ json: JSONValue) throws(ConversionError) -> Value {
        try PropertyCodec(property.type, schema: schema).value(json: json)
    }

    private func amount(_ property: Property, _ json: JSONValue) throws(ConversionError) -> Value {
        var type = property.type
        type.isOptional = false
        let numeric: [PropertyType] = [.scalar(.int), .scalar(.float), .scalar(.double), .scalar(.decimal)]
        guard numeric.contains(type) else {
            throw ConversionError(message: "it is \(property.type), and only numbers can be added to")
        }
        return try PropertyCodec(type, schema: schema).value(json: json)
    }

    /// What a member that names collections does to them.
    private func edits(
        _ json: JSONValue?, _ what: String, of declared: ClassSchema
    ) throws(WriteRequestError) -> [CollectionEdit] {
        var edits: [CollectionEdit] = []
        for (name, json) in try object(json, "\"\(what)\"") {
            guard let property = declared.property(named: name) else {
                throw .failure(RecordError.unknownProperty(name, of: declared).message)
            }
            do throws(ConversionError) {
                edits.append(CollectionEdit(property: name, change: try change(property, what, json)))
            } catch {
                throw .failure("\"\(what)\": property '\(name)': \(error.message)")
            }
        }
        return edits.sorted { $0.property < $1.property }
    }

    private func change(
        _ property: Property, _ what: String, _ json: JSONValue
    ) throws(ConversionError) -> CollectionEdit.Change {
        switch (property.type.container, what) {
        case (.list, "move"):
            let members = try positions(json, ["from", "to"])
            guard case .integer(let from)? = members["from"], case .integer(let to)? = members["to"] else {
                throw ConversionError(message: "a move is {\"from\":POSITION,\"to\":POSITION}")
            }
            return .move(from: Int(from), to: Int(to))
        case (.list, "insert"):
            guard case .object = json else { return .insert(try elements(property, json), at: nil) }
            let members = try positions(json, ["at", "elements"])
            guard case .integer(let position)? = members["at"], let elements = members["elements"] else {
                throw ConversionError(
                    message: "what is inserted is [ELEMENT,…] or {\"at\":POSITION,\"elements\":[ELEMENT,…]}")
            }
            return .insert(try self.elements(property, elements), at: Int(position))
        case (.list, _): return .remove(try elements(property, json))
        case (.set, "insert"): return .elements(ElementEdits(inserting: try elements(property, json)))
        case (.set, "remove"):
            return .elements(ElementEdits(inserting: [], erasing: try elements(property, json)))
        case (.map, "insert"):
            guard case .map(let map) = try self.property(property, json) else { break }
            return .elements(ElementEdits(setting: map.entries))
        case (.map, "remove"):
            let type = PropertyType(.scalar(.string), container: .list)
            guard case .list(let names) = try PropertyCodec(type, schema: schema).value(json: json) else { break }
            let keys = names.compactMap { if case .string(let key) = $0 { key } else { nil } }
            return .elements(ElementEdits(setting: [], erasing: keys))
        case (.single, _), (.set, _), (.map, _): break
        }
        throw ConversionError(message: "it is \(property.type), which has no such edits")
    }

    private func elements(_ property: Property, _ json: JSONValue) throws(ConversionError) -> [Value] {
        switch try self.property(property, json) {
        case .list(let elements), .set(let elements): return elements
        default: throw ConversionError(message: "[ELEMENT,…] is expected")
        }
    }

    private func positions(_ json: JSONValue, _ names: [String]) throws(ConversionError) -> [String: JSONValue] {
        guard case .object(let members) = json, members.allSatisfy({ names.contains($0.name) }) else {
            throw ConversionError(message: "an object of \(names.joined(separator: " and ")) is expected")
        }
        return Dictionary(members.map { ($0.name, $0.value) }) { $1 }
    }

    private func record(
        _ members: [String: JSONValue], _ declared: ClassSchema, _ set: [String: Value]
    ) throws(WriteRequestError) -> Record {
        var set = set
        var key: ObjectKey?
        if members["key"] != nil || members["@id"] != nil {
            guard case .identity(let identity) = try target(members, declared) else {
                throw .failure(
                    "a new \(declared.name) is named by its primary key '\(declared.primaryKey ?? "")', not by \"@id\"")
            }
            key = identity.key
        }
        if let name = declared.primaryKey, let key {
            if let other = set[name], ObjectKey(primaryKey: other) != key {
                throw .failure("\"key\" and '\(name)' in \"set\" differ")
            }
            set[name] = key.value
        }
        let record: Record
        do throws(RecordError) {
            record = try Record(declared, set, ids: ids)
        } catch {
            throw .failure(error.message)
        }
        try check(record.key, declared)
        guard declared.primaryKey == nil, let key else { return record }
        return Record(classSchema: declared, row: Row(key: key, values: record.row.values))
    }

    /// Checks the length of a key, before a query asks for the object.
    private func check(_ key: ObjectKey, _ declared: ClassSchema) throws(WriteRequestError) {
        let place = "the primary key '\(declared.primaryKey ?? "")' of \(declared.name)"
        if let excess = DataLimits.standard.excess(of: key, in: place) { throw .failure(excess.description) }
    }

    private func target(
        _ members: [String: JSONValue], _ declared: ClassSchema
    ) throws(WriteRequestError) -> WriteTarget {
        switch (members["key"], members["@id"]) {
        case (nil, nil):
            throw .failure("\"key\" or \"@id\" is missing: which \(declared.name) is meant?")
        case (_?, _?): throw .failure("\"key\" and \"@id\" are both given; one names the object")
        case (let json?, nil):
            guard let primaryKey = declared.primaryKey else {
                throw .failure("\(declared.name) has no primary key; name the object by \"@id\"")
            }
            let codec = PropertyCodec(.scalar(declared.keyType), schema: schema)
            let key: ObjectKey
            do throws(ConversionError) {
                guard let read = ObjectKey(primaryKey: try codec.value(json: json)) else {
                    throw ConversionError(message: "it cannot be a key")
                }
                key = read
            } catch {
                throw .failure("\"key\": the primary key '\(primaryKey)': \(error.message)")
            }
            try check(key, declared)
            return .identity(Identity(className: declared.name, key: key))
        case (nil, let json?):
            guard case .string(let text) = json, let id = ObjectID(text) else {
                throw .failure("\"@id\" is not a string of 32 hexadecimal digits")
            }
            guard declared.primaryKey != nil else {
                return .identity(Identity(className: declared.name, key: .id(id)))
            }
            return .id(id, className: declared.name)
        }
    }
}

extension Record {
    /// A copy that has only the given properties and the primary key; all others are absent.
    fileprivate func withOnly(_ names: some Sequence<String>) -> Record {
        var absent = PropertySet(all: row.values.count)
        for name in names { classSchema.index(of: name).map { absent.remove($0) } }
        classSchema.primaryKeyIndex.map { absent.remove($0) }
        return Record(classSchema: classSchema, row: Row(key: row.key, values: row.values, absent: absent))
    }
}
