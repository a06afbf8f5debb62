internal import FoundationEssentials
internal import SluiceModel

/// Writes checked queries in the query grammar: the one spelling that parses to the same query again.
enum CanonicalText {
    /// A name, escaped if it could be read as a keyword.
    static func name(_ name: String) -> String {
        reserved.contains(name.uppercased()) ? "\\" + name : name
    }

    private static let reserved: Set<String> = [
        "AND", "OR", "NOT", "IN", "ANY", "SOME", "ALL", "NONE", "TRUE", "FALSE", "NULL", "NIL", "INF", "INFINITY",
        "NAN",
        "TRUEPREDICATE", "FALSEPREDICATE", "BEGINSWITH", "ENDSWITH", "CONTAINS", "LIKE", "BETWEEN", "TEXT", "MATCHES",
        "GEOWITHIN", "SORT", "LIMIT", "DISTINCT", "EXCLUDE", "WHERE", "ASC", "ASCENDING", "DESC", "DESCENDING",
        "SUBQUERY", "OBJECT", "OBJ", "OID", "UUID", "BINARY", "BIN", "FIRST", "LAST", "SIZE",
    ]

    static func predicate(_ predicate: Query.Predicate) -> String {
        switch predicate {
        case .constant(let isTrue): isTrue ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison): self.comparison(comparison)
        case .not(let comparison): "NOT " + self.comparison(comparison)
        case .or(let operands): operands.map { self.predicate($0) }.joined(separator: " OR ")
        case .and(let operands):
            operands.map { operand in
                if case .or = operand { "(\(self.predicate(operand)))" } else { self.predicate(operand) }
            }.joined(separator: " AND ")
        }
    }

    private static func comparison(_ comparison: Query.Comparison) -> String {
        let modifier = comparison.ignoresCase ? "[c]" : ""
        return operand(comparison.left, comparison.quantifier) + " " + comparison.comparison.rawValue + modifier + " "
            + operand(comparison.right, comparison.quantifier)
    }

    private static func operand(
        _ operand: Query.Comparison.Operand, _ quantifier: Query.Comparison.Quantifier
    ) -> String {
        switch operand {
        case .path(let path): (path.isToMany ? (quantifier == .any ? "ANY " : "ALL ") : "") + path.text
        case .constant(let value): literal(value)
        case .list(let values): "{" + values.map { literal($0) }.joined(separator: ", ") + "}"
        }
    }

    /// A constant; links as the keys of their targets.
    static func literal(_ value: Value) -> String {
        switch value {
        case .null: "NULL"
        case .bool(let value): value ? "true" : "false"
        case .int(let value): String(value)
        case .float(let value): number(Double(value), shortest: value.description)
        case .double(let value): number(value, shortest: value.description)
        case .string(let value): string(value)
        case .data(let value): "B64\"" + Data(value).base64EncodedString() + "\""
        case .date(let value): date(value)
        case .uuid(let value): "uuid(" + value.uuidString.lowercased() + ")"
        case .objectID(let value): "oid(" + value.description + ")"
        case .decimal(let value): value.description
        case .link(let key): literal(key.value)
        case .list, .set, .map: preconditionFailure("the checker makes no constants of collections")
        }
    }

    private static func number(_ number: Double, shortest: String) -> String {
        guard number.isFinite else { return number < 0 ? "-inf" : "inf" }
        return number == number.rounded() && abs(number) < 1e15 ? String(Int64(number)) : shortest
    }

    private static func date(_ date: Timestamp) -> String {
        let text = date.description
        if text.utf8.count <= 27, text.utf8.first != UInt8(ascii: "-"), text.utf8.first != UInt8(ascii: "+"),
            !UTF8Order.less(text, "1900")
        {
            return text
        }
        let (seconds, micros) = date.microseconds.quotientAndRemainder(dividingBy: 1_000_000)
        return "T\(seconds):\(micros * 1_000)"
    }

    private static func string(_ string: String) -> String {
        var text = "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.utf8.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text + "\""
    }
}
