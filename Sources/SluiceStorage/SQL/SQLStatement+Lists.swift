internal import SluiceModel

extension SQLStatement {
    /// The longest list that is passed as parameters. SQLite takes 32,766 of them in one statement, and a rule's list
    /// may be longer than any that a client may send.
    static let parameterListMax = 2_000

    /// The elements of a list, separated by commas: parameters, or in a long list literals where those are exact.
    static func list(_ bindings: [SQLBinding]) -> SQLStatement {
        guard bindings.count > parameterListMax else {
            return .joined(bindings.map { binding -> SQLStatement in "\(binding)" }, by: ", ")
        }
        return .joined(bindings.map(element), by: ", ")
    }

    /// A constant as a literal, where that is exact, else as a parameter.
    static func element(_ binding: SQLBinding) -> SQLStatement {
        switch binding {
        case .null: "NULL"
        // The literal of the lowest number would be read as the negation of one that is too high.
        case .integer(let number): number == .min ? "\(binding)" : "\(sql: String(number))"
        case .real: "\(binding)"
        case .blob(let bytes): "x'\(sql: hexadecimal(bytes))'"
        case .text(let text):
            text.utf8.contains(0)
                ? "CAST(x'\(sql: hexadecimal(Array(text.utf8)))' AS TEXT)"
                : "'\(sql: text.replacing("'", with: "''"))'"
        }
    }

    private static func hexadecimal(_ bytes: [UInt8]) -> String {
        let digits = Array("0123456789abcdef".utf8)
        return String(decoding: bytes.flatMap { [digits[Int($0 >> 4)], digits[Int($0 & 15)]] }, as: UTF8.self)
    }
}
