import FoundationEssentials
import SluiceCLI
import SluiceJSON
import SluiceModel
import SluiceQuery

/// Texts of numbers, by every way in: what one takes all take, as the same value.
enum NumberTarget {
    private static let types: [ScalarType] = [.int, .float, .double, .decimal]

    static func run(_ bytes: [UInt8]) {
        guard let text = String(validating: bytes, as: UTF8.self), !text.isEmpty else { return }
        for type in types {
            let cell = NumberTrial.cell(text, as: type)
            // Blanks around a value belong to JSON's syntax, and words for numbers are strings in it.
            if isNumberOfJSON(text) {
                precondition(same(NumberTrial.member(text, as: type), cell), "\(text) as \(type): JSON")
            }
            guard let cell, !isNaN(cell) else { continue }
            precondition(same(argument(text, as: type), cell), "\(text) as \(type): an argument")
        }
    }

    private static func isNumberOfJSON(_ text: String) -> Bool {
        guard let first = text.utf8.first, first == UInt8(ascii: "-") || first &- 0x30 <= 9,
            let last = text.utf8.last, last &- 0x30 <= 9
        else { return false }
        return switch try? JSONParser.parse(text) {
        case .integer, .number: true
        default: false
        }
    }

    /// The value that an argument of a query asks for.
    private static func argument(_ text: String, as type: ScalarType) -> Value? {
        guard let schema = try? Schema([ClassSchema("N", properties: [Property("x", .scalar(type))])]),
            let syntax = try? QuerySyntax.parse("N WHERE x == $0", textArguments: [text]),
            let query = try? Query(syntax, schema: schema)
        else { return nil }
        return query.constants.first
    }

    private static func same(_ left: Value?, _ right: Value?) -> Bool {
        guard let left, let right else { return (left == nil) == (right == nil) }
        return left == right || isNaN(left) && isNaN(right)
    }

    private static func isNaN(_ value: Value) -> Bool {
        switch value {
        case .double(let number): number.isNaN
        case .float(let number): number.isNaN
        case .decimal(let number): number.isNaN
        default: false
        }
    }
}
