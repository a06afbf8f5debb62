internal import SluiceModel

/// What kinds of value a column has held so far, and so what type its property should have.
struct ColumnInference: Hashable, Sendable {
    /// Kinds of scalar, as a set.
    private struct Kinds: OptionSet, Hashable {
        let rawValue: UInt8
        static let int = Kinds(rawValue: 1)
        static let double = Kinds(rawValue: 2)
        static let bool = Kinds(rawValue: 4)
        static let date = Kinds(rawValue: 8)
        static let string = Kinds(rawValue: 16)

        /// The one type that holds them all: integers widen to double, anything else that is mixed becomes string.
        var scalarType: ScalarType {
            switch self {
            case .int: .int
            case .double, [.int, .double]: .double
            case .bool: .bool
            case .date: .date
            default: .string
            }
        }
    }

    private var kinds: Kinds = []
    private var elementKinds: Kinds = []
    private var hasNull = false
    private var hasNullElement = false
    private var hasArray = false
    private var hasObject = false
    /// Nested deeper than a property can hold: kept as the text of the JSON.
    private var hasDeepNesting = false

    /// Takes note of a cell of text. Once a column is text, only nulls still matter.
    mutating func observe(text bytes: UnsafeBufferPointer<UInt8>) {
        if NullText.matches(bytes) {
            hasNull = true
        } else if !kinds.contains(.string) {
            kinds.insert(kind(of: bytes))
        }
    }

    /// Takes note of a JSON value.
    mutating func observe(json: JSONValue) {
        switch json {
        case .null: hasNull = true
        case .array(let elements):
            hasArray = true
            for element in elements { observe(element: element) }
        case .object(let members):
            hasObject = true
            for member in members { observe(element: member.value) }
        default: if let kind = Self.kind(of: json) { kinds.insert(kind) }
        }
    }

    /// Takes note of a row that lacks the column.
    mutating func observeNull() { hasNull = true }

    private mutating func observe(element: JSONValue) {
        switch element {
        case .null: hasNullElement = true
        case .array, .object: hasDeepNesting = true
        default: if let kind = Self.kind(of: element) { elementKinds.insert(kind) }
        }
    }

    /// The type of the property; `isKey` for one that must identify objects.
    func type(isKey: Bool = false) -> PropertyType {
        if isKey { return .scalar(kinds == .int && !hasArray && !hasObject ? .int : .string) }
        let isCollection = kinds.isEmpty && !hasNull && hasArray != hasObject && !hasDeepNesting
        if isCollection {
            return PropertyType(
                .scalar(elementKinds.scalarType), container: hasArray ? .list : .map, isOptional: hasNullElement)
        }
        let isText = hasArray || hasObject
        return .scalar(isText ? .string : kinds.scalarType, isOptional: hasNull || kinds.isEmpty && !isText)
    }

    /// The type of a property that links to objects of a class: a list where the column holds arrays.
    func linkType(to target: String) -> PropertyType { hasArray ? .links(target) : .link(target) }

    /// The kind of a text; kinds already seen are tried first.
    private func kind(of bytes: UnsafeBufferPointer<UInt8>) -> Kinds {
        switch bytes[0] {
        case UInt8(ascii: "t"): return bytes.elementsEqual("true".utf8) ? .bool : .string
        case UInt8(ascii: "f"): return bytes.elementsEqual("false".utf8) ? .bool : .string
        case UInt8(ascii: "+"): return NumberText.date(bytes) != nil ? .date : .string
        case 0x30...0x39, UInt8(ascii: "-"):
            if kinds == .date, NumberText.date(bytes) != nil { return .date }
            if NumberText.integer(bytes) != nil { return .int }
            if NumberText.double(bytes) != nil { return Self.isInteger(bytes) ? .string : .double }
            return NumberText.date(bytes) != nil ? .date : .string
        default: return .string
        }
    }

    /// Whether a number is written without fraction and exponent: one too large for 64 bits would lose digits as a double.
    private static func isInteger(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.allSatisfy { $0 &- 0x30 <= 9 || $0 == UInt8(ascii: "-") } && bytes.count > 2
    }

    private static func kind(of json: JSONValue) -> Kinds? {
        switch json {
        case .bool: .bool
        case .integer: .int
        case .number(let literal): literal.utf8.contains { $0 == 0x2E || $0 | 0x20 == 0x65 } ? .double : .string
        case .string(let text):
            Array(text.utf8).withUnsafeBufferPointer { NumberText.date($0) } != nil ? .date : .string
        case .null, .array, .object: nil
        }
    }
}
