internal import SluiceJSON
package import SluiceModel

/// Reads a schema from what `sluice schema --format=jsonl` prints.
package enum SchemaFile {
    /// The most bytes of a file.
    package static let byteCountMax = 1 << 24

    /// - Throws: ``SchemaFileError`` when the text is something else.
    package static func schema(_ bytes: [UInt8]) throws(SchemaFileError) -> Schema {
        guard bytes.count <= byteCountMax else {
            throw SchemaFileError("it has \(bytes.count) bytes; the limit is \(byteCountMax)")
        }
        let report: JSONValue
        do throws(JSONError) {
            report = try bytes.withUnsafeBufferPointer { (bytes) throws(JSONError) in try JSONParser.parse(bytes) }
        } catch { throw SchemaFileError("it is not JSON at byte \(error.position): \(error.message)") }
        guard let classes = report["classes"]?.array, let properties = report["properties"]?.array else {
            throw SchemaFileError("it is no schema; 'sluice schema URL --format=jsonl' prints one")
        }
        var owned: [String: [Property]] = [:]
        for property in properties {
            guard let className = property["class"]?.string, let name = property["name"]?.string,
                let text = property["type"]?.string
            else { throw SchemaFileError("each of its properties needs a class, a name and a type") }
            guard let type = PropertyType(described: text) else {
                throw SchemaFileError("\(className).\(name) has the unknown type '\(DisplayText.shortened(text))'")
            }
            let names = property["was"]?.string?.split(separator: ",") ?? []
            let former = names.map { String($0.drop { $0 == " " }) }
            let isIndexed = property["index"]?.string == "schema"
            owned[className, default: []].append(Property(name, type, isIndexed: isIndexed, was: former))
        }
        do throws(SchemaError) {
            var declared: [ClassSchema] = []
            for value in classes {
                let name = value["name"]?.string ?? ""
                let key = value["key"]?.string
                declared.append(
                    try ClassSchema(name, primaryKey: key == "@id" ? nil : key, properties: owned[name] ?? []))
            }
            return try Schema(declared)
        } catch { throw SchemaFileError("\(error)") }
    }
}

/// Why a file is no schema.
package struct SchemaFileError: Error, Hashable {
    package let message: String

    init(_ message: String) { self.message = message }
}

extension PropertyType {
    /// Reads what ``description`` says: `int`, `string?`, `Link<Team>`, `Links<User>`, `[int]`, `Set<uuid>`,
    /// `[string: Car]`. Nil for anything else.
    package init?(described text: String) {
        func inside(_ prefix: String, _ suffix: String) -> String? {
            guard text.hasPrefix(prefix), text.hasSuffix(suffix), text.count > prefix.count + suffix.count else {
                return nil
            }
            return String(text.dropFirst(prefix.count).dropLast(suffix.count))
        }
        func element(_ name: String) -> PropertyType {
            let isOptional = name.hasSuffix("?")
            if let scalar = ScalarType(rawValue: isOptional ? String(name.dropLast()) : name) {
                return PropertyType(.scalar(scalar), isOptional: isOptional)
            }
            return PropertyType(.link(name), isOptional: false)
        }
        if let target = inside("Link<", ">") {
            self = .link(target)
        } else if let target = inside("Links<", ">") {
            self = .links(target)
        } else if let name = inside("Set<", ">") {
            self = element(name)
            container = .set
        } else if let name = inside("[string: ", "]") {
            self = element(name)
            container = .map
        } else if let name = inside("[", "]"), case .scalar = element(name).element {
            self = element(name)
            container = .list
        } else if case .scalar = element(text).element {
            self = element(text)
        } else {
            return nil
        }
    }
}
