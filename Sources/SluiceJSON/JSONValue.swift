internal import SluiceModel

/// A JSON value without loss: numbers as they were written, members in order.
package enum JSONValue: Hashable, Sendable {
    case null
    case bool(Bool)
    /// A number without fraction and exponent that fits into 64 bits.
    case integer(Int64)
    /// Any other number, as it was written.
    case number(String)
    case string(String)
    case array([JSONValue])
    case object([Member])

    /// One member of an object.
    package struct Member: Hashable, Sendable {
        package let name: String
        package let value: JSONValue

        package init(name: String, value: JSONValue) {
            self.name = name
            self.value = value
        }
    }
}

extension JSONValue {
    /// The member of an object; nil if there is none, or if this is no object.
    package subscript(name: String) -> JSONValue? {
        guard case .object(let members) = self else { return nil }
        return members.first { UTF8Order.equal($0.name, name) }?.value
    }

    /// The text of a string; nil if this is none.
    package var string: String? { if case .string(let text) = self { text } else { nil } }

    /// The elements of an array; nil if this is none.
    package var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
}
