internal import FoundationEssentials
package import SluiceJSON
package import SluiceModel

/// Why a text or JSON value cannot be a property's value.
package struct ConversionError: Error, Hashable {
    package let message: String

    /// Shows the beginning of the text at fault, and what was expected.
    package static func mismatch(_ text: String, expected: String) -> ConversionError {
        let shown = text.count > 40 ? text.prefix(40) + "…" : text[...]
        return ConversionError(message: "'\(shown)' is not \(expected)")
    }
}

/// Converts text and JSON to values of one property.
package struct PropertyCodec: Sendable {
    package let type: PropertyType
    /// The type of the keys of the objects that the property links to.
    private let targetKeyType: ScalarType

    /// - Parameter schema: the schema that contains the target class of a link.
    package init(_ type: PropertyType, schema: Schema) {
        self.type = type
        targetKeyType = type.targetClass.flatMap { schema.classSchema(named: $0)?.keyType } ?? .objectID
    }

    package init(_ type: PropertyType, targetKeyType: ScalarType) {
        self.type = type
        self.targetKeyType = targetKeyType
    }

    /// Whether every text is a valid value: for strings, and for links to objects whose keys are strings.
    package var takesAnyText: Bool {
        switch type.element {
        case .scalar(let scalar): scalar == .string && !type.isCollection
        case .link: targetKeyType == .string && !type.isCollection
        }
    }

    /// Converts a cell of text to a value.
    ///
    /// `NA` and the empty text are null, except in quotes and for a string that may not be null; then they are text.
    /// Empty text in quotes is data without bytes. Collections are JSON.
    package func value(text bytes: UnsafeBufferPointer<UInt8>, isQuoted: Bool = false) throws(ConversionError) -> Value
    {
        if isQuoted, bytes.isEmpty, type.container == .single, type.element == .scalar(.data) { return .data([]) }
        if NullText.matches(bytes), !(isQuoted && takesAnyText) {
            if type.isCollection { return type.zero }
            if type.isOptional { return .null }
            guard type.element == .scalar(.string) else {
                let what = bytes.isEmpty ? "it is empty" : "NA means null"
                throw ConversionError(
                    message:
                        "\(what), and \(type) allows no null; --optional, when the class is made, has properties allow it"
                )
            }
        }
        guard !type.isCollection else {
            let json: JSONValue
            do throws(JSONError) {
                json = try JSONParser.parse(bytes)
            } catch {
                throw ConversionError(message: "it is not JSON at byte \(error.position): \(error.message)")
            }
            return try value(json: json)
        }
        switch type.element {
        case .scalar(let scalar): return try self.scalar(scalar, text: bytes)
        case .link: return .link(try key(text: bytes))
        }
    }

    /// Converts a JSON value to a value of the property.
    package func value(json: JSONValue) throws(ConversionError) -> Value {
        switch (type.container, json) {
        case (.single, _): return try element(json)
        case (.list, .array(let elements)): return .list(try self.elements(elements))
        case (.set, .array(let elements)): return .set(of: try self.elements(elements))
        case (.map, .object(let members)):
            var map = ValueMap()
            for member in members { map[member.name] = try element(member.value) }
            return .map(map)
        case (.map, _): throw .mismatch(json.text, expected: "\(type): a JSON object is expected")
        default: throw .mismatch(json.text, expected: "\(type): a JSON array is expected")
        }
    }

    private func elements(_ json: [JSONValue]) throws(ConversionError) -> [Value] {
        var values: [Value] = []
        for json in json { values.append(try element(json)) }
        return values
    }

    private func element(_ json: JSONValue) throws(ConversionError) -> Value {
        switch (type.element, json) {
        case (_, .null):
            guard type.isOptional else { throw ConversionError(message: "null is not allowed in \(type)") }
            return .null
        case (.scalar(.bool), .bool(let value)): return .bool(value)
        case (.scalar(.int), .integer(let value)): return .int(value)
        case (.scalar(.string), .string(let text)): return .string(text)
        // Readers whose numbers are doubles write them so.
        case (.scalar(.int), .string(let text)) where Self.isLargeInteger(text): return .int(Int64(text) ?? 0)
        case (.scalar(let scalar), .integer(let value)) where [.double, .float, .decimal].contains(scalar):
            return try parsed(String(value)) { (bytes) throws(ConversionError) in try self.scalar(scalar, text: bytes) }
        case (.scalar(let scalar), .number(let literal)) where [.int, .double, .float, .decimal].contains(scalar):
            return try parsed(literal) { (bytes) throws(ConversionError) in try self.scalar(scalar, text: bytes) }
        case (.scalar(let scalar), .string(let text)) where ![.bool, .int, .string].contains(scalar):
            return try parsed(text) { (bytes) throws(ConversionError) in try self.scalar(scalar, text: bytes) }
        case (.link, .integer(let value)) where targetKeyType == .int: return .link(.int(value))
        case (.link, .number(let literal)) where targetKeyType == .int:
            return .link(try parsed(literal) { (bytes) throws(ConversionError) in try key(text: bytes) })
        case (.link, .string(let text)) where targetKeyType == .int && Self.isLargeInteger(text):
            return .link(.int(Int64(text) ?? 0))
        case (.link, .string(let text)) where targetKeyType != .int:
            return .link(try parsed(text) { (bytes) throws(ConversionError) in try key(text: bytes) })
        default: throw .mismatch(json.text, expected: expectation)
        }
    }

    private func parsed<Result>(
        _ text: String, _ body: (UnsafeBufferPointer<UInt8>) throws(ConversionError) -> Result
    ) throws(ConversionError) -> Result {
        let bytes = Array(text.utf8)
        return try bytes.withUnsafeBufferPointer { (bytes) throws(ConversionError) in try body(bytes) }
    }

    private func scalar(
        _ scalar: ScalarType, text bytes: UnsafeBufferPointer<UInt8>
    ) throws(ConversionError) -> Value {
        let value: Value? =
            switch scalar {
            case .int: NumberReading.integer(bytes).map { .int($0) }
            case .string: String(validating: bytes, as: UTF8.self).map { .string($0) }
            case .date: NumberText.date(bytes).map { .date($0) }
            case .double: try NumberReading.double(bytes).map { .double($0) }
            case .float: try NumberReading.floating(bytes).map { .float($0) }
            case .bool: Self.bool(bytes)
            case .data: Data(base64Encoded: Self.text(bytes)).map { .data(Array($0)) }
            case .uuid: UUID(uuidString: Self.text(bytes)).map { .uuid($0) }
            case .objectID: ObjectID(Self.text(bytes)).map { .objectID($0) }
            case .decimal: NumberReading.decimal(bytes).map { .decimal($0) }
            }
        guard let value else { throw .mismatch(Self.text(bytes), expected: expectation) }
        return value
    }

    private func key(text bytes: UnsafeBufferPointer<UInt8>) throws(ConversionError) -> ObjectKey {
        let key: ObjectKey? =
            switch targetKeyType {
            case .int: NumberReading.integer(bytes).map { .int($0) }
            case .string: String(validating: bytes, as: UTF8.self).map { .string($0) }
            case .uuid: UUID(uuidString: Self.text(bytes)).map { .uuid($0) }
            default: ObjectID(Self.text(bytes)).map { .id($0) }
            }
        guard let key else { throw .mismatch(Self.text(bytes), expected: expectation) }
        return key
    }

    /// What would be right, with an example of its form if the name of the type does not suffice.
    private var expectation: String {
        switch type.element {
        case .link(let target): "a key of \(target), which is of type \(targetKeyType.rawValue)"
        case .scalar(.date): "a date such as 2013-01-01T10:00:00Z"
        case .scalar(.data): "data in base64"
        case .scalar(.uuid): "a uuid such as 6f1e0c9a-6a5e-4d1c-9d0a-0b8f7f1a2b3c"
        case .scalar(.objectID): "an object id of 32 hexadecimal digits"
        case .scalar(.string): "a string in UTF-8"
        case .scalar(.decimal): "a decimal, a number of at most 38 digits and 128 places"
        case .scalar(let scalar): "of type \(scalar.rawValue)"
        }
    }

    /// Whether a text is an integer of 64 bits that a double may round.
    private static func isLargeInteger(_ text: String) -> Bool {
        guard let number = Int64(text), String(number) == text else { return false }
        return number.magnitude >= 1 << 53
    }

    private static func text(_ bytes: UnsafeBufferPointer<UInt8>) -> String { String(decoding: bytes, as: UTF8.self) }

    private static func bool(_ bytes: UnsafeBufferPointer<UInt8>) -> Value? {
        if bytes.elementsEqual("true".utf8) { return .bool(true) }
        return bytes.elementsEqual("false".utf8) ? .bool(false) : nil
    }
}

/// The texts that mean null in CSV files.
package enum NullText {
    package static let word = "NA"

    /// Whether a cell is empty or `NA`.
    package static func matches(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.isEmpty || bytes.count == 2 && bytes[0] == UInt8(ascii: "N") && bytes[1] == UInt8(ascii: "A")
    }
}
