package import SluiceModel

/// A text in the query language, as ``Results/filter(_:_:)-(QueryText,_)`` takes it. What is interpolated in it is a value
/// and never a part of the text: `"price < \(limit) AND name == \(name)"` finds what the values say, whatever is in them.
///
/// Everything that a property can hold can be interpolated, and a model for a link to it. An interpolated value stands
/// where a constant does, without quotes. A text that is only known at run time is made by ``init(_:)``.
public struct QueryText: Sendable, ExpressibleByStringInterpolation {
    fileprivate enum Part: Sendable {
        case text(String)
        case value(Value)
        /// Something that no property can hold.
        case unsuitable(String)
    }

    private let parts: [Part]

    /// A text without values. What it has was not written in this program, perhaps: never put what a user types into it.
    public init(_ text: String) { parts = [.text(text)] }

    public init(stringLiteral text: String) { self.init(text) }

    public init(stringInterpolation: StringInterpolation) { parts = stringInterpolation.parts }

    /// What a literal is made of.
    public struct StringInterpolation: StringInterpolationProtocol, Sendable {
        fileprivate var parts: [Part] = []

        public init(literalCapacity: Int, interpolationCount: Int) {}

        public mutating func appendLiteral(_ literal: String) {
            if !literal.isEmpty { parts.append(.text(literal)) }
        }

        /// Adds a value.
        public mutating func appendInterpolation(_ value: some PropertyValue) {
            parts.append(.value(value.propertyValue))
        }

        /// Adds a link to an object.
        public mutating func appendInterpolation(_ object: some Model) { appendInterpolation(Link(object)) }

        /// Makes the query throw where it is used, so that no text takes the place of a value.
        @available(
            *, deprecated, message: "this is no value of a query: interpolate what a property can hold, or a model"
        )
        @_disfavoredOverload
        public mutating func appendInterpolation<Other>(_ value: Other) {
            parts.append(.unsuitable("\(Other.self)"))
        }
    }

    /// The text with a placeholder for each interpolated value, and the values.
    ///
    /// - Parameter argumentCount: how many values have placeholders of their own in the text, before these.
    /// - Throws: `QueryError` when something was interpolated that is no value.
    package func rendered(after argumentCount: Int = 0) throws(QueryError) -> (text: String, values: [Value]) {
        var text = ""
        var values: [Value] = []
        for part in parts {
            switch part {
            case .text(let part): text += part
            case .value(let value):
                text += " $\(argumentCount + values.count) "
                values.append(value)
            case .unsuitable(let type):
                throw QueryError(
                    .typeMismatch,
                    "a value of the type \(type) is interpolated, which no property can hold; interpolate one that can, or a model",
                    at: nil)
            }
        }
        return (text, values)
    }
}
