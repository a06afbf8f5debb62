internal import SluiceExchange
internal import SluiceJSON
internal import SluiceModel

/// Collects the kinds of values in a column, to infer the type of its property.
struct ColumnInference: Hashable, Sendable {
    /// A set of kinds of scalars.
    private struct Kinds: OptionSet, Hashable {
        let rawValue: UInt8
        static let int = Kinds(rawValue: 1)
        static let double = Kinds(rawValue: 2)
        static let bool = Kinds(rawValue: 4)
        static let date = Kinds(rawValue: 8)
        static let string = Kinds(rawValue: 16)
        /// The words for numbers that are not finite, such as `NaN` and `Infinity`.
        static let notFinite = Kinds(rawValue: 32)
        /// Besides, numbers that a double would round.
        static let noDouble = Kinds(rawValue: 64)
        /// Besides, numbers that no decimal holds.
        static let noDecimal = Kinds(rawValue: 128)

        /// The one type that holds all kinds without loss: integers widen to double or decimal, and any other mixture
        /// becomes string.
        var scalarType: ScalarType {
            switch self {
            case .bool: return .bool
            case .date: return .date
            case let numbers where !numbers.isEmpty && numbers.isDisjoint(with: [.bool, .date, .string]):
                if numbers.isDisjoint(with: [.double, .notFinite]) { return .int }
                guard numbers.contains(.noDouble) else { return .double }
                return numbers.isDisjoint(with: [.notFinite, .noDecimal]) ? .decimal : .string
            default: return .string
            }
        }
    }

    private var kinds: Kinds = []
    private var elementKinds: Kinds = []
    private var hasNull = false
    /// Whether a cell has a null text in quotes: it is text if the column is text, else null.
    private var hasQuotedNullText = false
    private var hasNullElement = false
    private var hasArray = false
    private var hasObject = false
    /// Whether a value is nested deeper than a property can hold; such a column is stored as JSON text.
    private var hasDeepNesting = false

    /// Records a cell of text. Once the column is known to be text, only nulls still matter.
    mutating func observe(text bytes: UnsafeBufferPointer<UInt8>, isQuoted: Bool = false) {
        if NullText.matches(bytes) {
            if isQuoted { hasQuotedNullText = true } else { hasNull = true }
        } else if !kinds.contains(.string) {
            kinds.insert(kind(of: bytes))
        }
    }

    /// Records a JSON value.
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

    /// Records a row that lacks the column.
    mutating func observeNull() { hasNull = true }

    private mutating func observe(element: JSONValue) {
        switch element {
        case .null: hasNullElement = true
        case .array, .object: hasDeepNesting = true
        default: if let kind = Self.kind(of: element) { elementKinds.insert(kind) }
        }
    }

    /// The type of the property.
    ///
    /// - Parameter isKey: whether the property identifies objects.
    func type(isKey: Bool = false) -> PropertyType {
        if isKey { return .scalar(kinds.scalarType == .int && !hasArray && !hasObject ? .int : .string) }
        // A collection is never null: an object without a value has an empty one.
        let isCollection = kinds.isEmpty && hasArray != hasObject && !hasDeepNesting
        if isCollection {
            return PropertyType(
                .scalar(elementKinds.scalarType), container: hasArray ? .list : .map, isOptional: hasNullElement)
        }
        let isJSON = hasArray || hasObject
        let type = isJSON ? .string : kinds.scalarType
        let hasNull = hasNull || hasQuotedNullText && type != .string
        return .scalar(type, isOptional: hasNull || kinds.isEmpty && !isJSON && !hasQuotedNullText)
    }

    /// Whether no row has a value, so that the type is a guess.
    var hasOnlyNulls: Bool { kinds.isEmpty && !hasArray && !hasObject && !hasQuotedNullText }

    /// The type of a property that links to objects of a class: a list of links if the column holds arrays.
    func linkType(to target: String) -> PropertyType { hasArray ? .links(target) : .link(target) }

    /// The kind of a text.
    private func kind(of bytes: UnsafeBufferPointer<UInt8>) -> Kinds {
        switch bytes[0] {
        case UInt8(ascii: "N"), UInt8(ascii: "n"), UInt8(ascii: "I"), UInt8(ascii: "i"):
            return NumberWord.value(bytes) != nil ? .notFinite : .string
        case UInt8(ascii: "-") where bytes.count > 1 && bytes[1] > UInt8(ascii: "9"):
            return NumberWord.value(bytes) != nil ? .notFinite : .string
        case UInt8(ascii: "t"): return bytes.elementsEqual("true".utf8) ? .bool : .string
        case UInt8(ascii: "f"): return bytes.elementsEqual("false".utf8) ? .bool : .string
        case UInt8(ascii: "+"): return NumberText.date(bytes) != nil ? .date : .string
        case 0x30...0x39, UInt8(ascii: "-"):
            if kinds == .date, NumberText.date(bytes) != nil { return .date }
            return Self.kind(ofNumber: bytes) ?? (NumberText.date(bytes) != nil ? .date : .string)
        default: return .string
        }
    }

    /// The kind of a number in the syntax of JSON; nil for any other text, and beyond the range of doubles.
    private static func kind(ofNumber bytes: UnsafeBufferPointer<UInt8>) -> Kinds? {
        if let number = NumberText.integer(bytes) { return kind(of: number) }
        guard let nearest = NumberText.double(bytes) else { return nil }
        if isInteger(bytes) { return .string }
        // Few enough characters without an exponent: a double and a decimal have them all.
        if bytes.count <= 16, !bytes.contains(where: { $0 | 0x20 == UInt8(ascii: "e") }) { return .double }
        let isKept = ExactNumber(String(decoding: bytes, as: UTF8.self))?.isKept(as: nearest) == true
        var kind: Kinds = isKept ? .double : [.double, .noDouble]
        if NumberReading.decimal(bytes) == nil { kind.insert(.noDecimal) }
        return kind
    }

    private static func kind(of integer: Int64) -> Kinds {
        Double(exactly: integer) == nil ? [.int, .noDouble] : .int
    }

    /// Whether a number has neither fraction nor exponent. If it does not fit into 64 bits, it becomes text, since a
    /// double would lose digits.
    private static func isInteger(_ bytes: UnsafeBufferPointer<UInt8>) -> Bool {
        bytes.allSatisfy { $0 &- 0x30 <= 9 || $0 == UInt8(ascii: "-") } && bytes.count > 2
    }

    private static func kind(of json: JSONValue) -> Kinds? {
        switch json {
        case .bool: .bool
        case .integer(let number): kind(of: number)
        case .number(let literal):
            Array(literal.utf8).withUnsafeBufferPointer { kind(ofNumber: $0) } ?? .string
        case .string(let text): kind(ofString: text)
        case .null, .array, .object: nil
        }
    }

    private static func kind(ofString text: String) -> Kinds {
        var text = text
        return text.withUTF8 { bytes in
            if NumberText.date(bytes) != nil { return .date }
            return NumberWord.value(bytes) != nil ? .notFinite : .string
        }
    }
}
