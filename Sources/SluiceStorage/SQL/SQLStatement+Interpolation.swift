/// Composes statements: an interpolated statement adds its text and, in the same order, its bindings.
extension SQLStatement: ExpressibleByStringInterpolation {
    package init(stringLiteral text: String) { self.init(text) }

    package init(stringInterpolation: StringInterpolation) { self = stringInterpolation.statement }

    package struct StringInterpolation: StringInterpolationProtocol {
        fileprivate var statement = SQLStatement("")

        package init(literalCapacity: Int, interpolationCount: Int) {
            statement.text.reserveCapacity(literalCapacity * 2)
        }

        package mutating func appendLiteral(_ literal: String) { statement.text += literal }

        /// A part of a statement.
        package mutating func appendInterpolation(_ part: SQLStatement) {
            statement.text += part.text
            statement.bindings += part.bindings
        }

        /// Text that is SQL, such as a quoted name.
        package mutating func appendInterpolation(sql text: String) { statement.text += text }

        /// A parameter and its value.
        package mutating func appendInterpolation(_ binding: SQLBinding) {
            statement.text += "?"
            statement.bindings.append(binding)
        }
    }

    /// The parts with a separator between them; "" for none.
    static func joined(_ parts: [SQLStatement], by separator: String) -> SQLStatement {
        var result = SQLStatement("")
        for (index, part) in parts.enumerated() {
            if index > 0 { result.text += separator }
            result.text += part.text
            result.bindings += part.bindings
        }
        return result
    }

    /// The parts under AND or OR, in balanced parentheses: SQLite refuses expressions more than 1,000 deep.
    static func balanced(_ parts: ArraySlice<SQLStatement>, by separator: String) -> SQLStatement {
        guard parts.count > 8 else { return joined(parts.map { "(\($0))" }, by: separator) }
        let middle = parts.startIndex + parts.count / 2
        let left = balanced(parts[..<middle], by: separator)
        let right = balanced(parts[middle...], by: separator)
        return joined(["(\(left))", "(\(right))"], by: separator)
    }
}
