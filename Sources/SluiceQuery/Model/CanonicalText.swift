internal import FoundationEssentials
internal import SluiceModel

/// Writes checked queries in the query grammar, in the one spelling of all queries that mean the same. Parsing it gives
/// the same query again.
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

    static func predicate(_ predicate: Query.Predicate) -> String { text(predicate, hidesConstants: false) }

    /// The text of a predicate around the places of its constants, see ``QueryForm``: one more than there are places.
    static func parts(of predicate: Query.Predicate) -> [String] {
        text(predicate, hidesConstants: true).utf8.split(separator: placeholder, omittingEmptySubsequences: false)
            .map { String(decoding: $0, as: UTF8.self) }
    }

    /// Stands for a constant. It does not occur in canonical text, where it is escaped.
    private static let placeholder: UInt8 = 1

    private static func text(_ predicate: Query.Predicate, hidesConstants: Bool) -> String {
        switch predicate {
        case .constant(let isTrue): isTrue ? "TRUEPREDICATE" : "FALSEPREDICATE"
        case .comparison(let comparison): self.comparison(comparison, hidesConstants)
        case .not(let comparison): negation(comparison, hidesConstants)
        case .or(let operands): operands.map { text($0, hidesConstants: hidesConstants) }.joined(separator: " OR ")
        case .and(let operands):
            operands.map { operand in
                let text = text(operand, hidesConstants: hidesConstants)
                return if case .or = operand { "(\(text))" } else { text }
            }.joined(separator: " AND ")
        }
    }

    private static func comparison(_ comparison: Query.Comparison, _ hidesConstants: Bool) -> String {
        let prefix = comparison.comparison == .isIn ? "" : prefix(comparison.rightQuantifier)
        return operand(comparison.left, self.prefix(comparison.quantifier), hidesConstants) + infix(comparison)
            + right(of: comparison, prefix, hidesConstants)
    }

    /// Writes the negation of a comparison: `NOT ALL left … ANY right` as `ANY left … NONE right`, and any other
    /// comparison after NOT.
    private static func negation(_ comparison: Query.Comparison, _ hidesConstants: Bool) -> String {
        guard comparison.relation == .each(.all, .any), comparison.right.isToMany else {
            return "NOT " + self.comparison(comparison, hidesConstants)
        }
        return operand(comparison.left, "ANY ", hidesConstants) + infix(comparison)
            + right(of: comparison, "NONE ", hidesConstants)
    }

    /// - Parameter prefix: a quantifier to write before a path or list with many values.
    private static func right(of comparison: Query.Comparison, _ prefix: String, _ hidesConstants: Bool) -> String {
        guard hidesConstants, comparison.placedConstant != nil else {
            return operand(comparison.right, prefix, hidesConstants)
        }
        return (comparison.right.isToMany ? prefix : "") + String(UnicodeScalar(placeholder))
    }

    private static func infix(_ comparison: Query.Comparison) -> String {
        " " + comparison.comparison.rawValue + (comparison.ignoresCase ? "[c]" : "") + " "
    }

    private static func prefix(_ quantifier: Query.Comparison.Quantifier?) -> String {
        switch quantifier {
        case .any: "ANY "
        case .all: "ALL "
        case nil: ""
        }
    }

    /// - Parameters:
    ///   - prefix: a quantifier to write before each path and list with many values.
    ///   - hidesConstants: whether placeholders stand for the constants in subqueries.
    static func operand(
        _ operand: Query.Comparison.Operand, _ prefix: String = "", _ hidesConstants: Bool = false
    ) -> String {
        switch operand {
        case .path(let path):
            if hidesConstants, case .subquery(let subquery) = path.leaf { return self.subquery(subquery, true) }
            return (path.isToMany ? prefix : "") + path.text
        case .constant(.list(let values)), .constant(.set(let values)): return list(values)
        case .constant(let value): return literal(value)
        case .list(let values): return prefix + list(values)
        case .now(let offset): return now(offset)
        case .arithmetic(let operation, let left, let right, _):
            return term(left, of: operation, beside: right, isRight: false, prefix, hidesConstants)
                + " \(operation.rawValue) "
                + term(right, of: operation, beside: left, isRight: true, prefix, hidesConstants)
        }
    }

    private static func now(_ offset: Int64) -> String {
        offset == 0 ? "$now" : "$now \(offset < 0 ? "-" : "+") \(TimeSpan.text(Int64(offset.magnitude)))"
    }

    /// Writes an operand of arithmetic: in parentheses where the grammar needs them, a double beside an integer with a
    /// point.
    private static func term(
        _ operand: Query.Comparison.Operand, of operation: ArithmeticOperator, beside other: Query.Comparison.Operand,
        isRight: Bool, _ prefix: String, _ hidesConstants: Bool
    ) -> String {
        var text = self.operand(operand, prefix, hidesConstants)
        if case .constant(.double) = operand, other.type == .scalar(.int), text.utf8.allSatisfy(isOfInteger) {
            text += ".0"
        }
        return operand.needsParentheses(in: operation, isRight: isRight) ? "(\(text))" : text
    }

    private static func isOfInteger(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) || byte == UInt8(ascii: "-")
    }

    private static func list(_ values: [Value]) -> String {
        "{" + values.map { literal($0) }.joined(separator: ", ") + "}"
    }

    /// The selection of one element of a collection, in brackets.
    static func selection(_ selection: Query.Path.Selection) -> String {
        switch selection {
        case .index(let index): "[\(index)]"
        case .last: "[LAST]"
        case .key(let key): "[\(string(key))]"
        }
    }

    /// The text of the path that counts the objects of a subquery.
    static func subquery(_ subquery: Query.Subquery, _ hidesConstants: Bool = false) -> String {
        let condition = text(subquery.predicate, hidesConstants: hidesConstants)
        return "SUBQUERY(\(subquery.collection.text), \(variable(subquery.scope)), \(condition)).@count"
    }

    /// The variable of a subquery.
    static func variable(_ scope: Int) -> String { "$v\(scope)" }

    /// A constant; a link is written as the key of its target.
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
        case .list(let values), .set(let values): list(values)
        case .map: preconditionFailure("the checker makes no constants of maps")
        }
    }

    private static func number(_ number: Double, shortest: String) -> String {
        guard number.isFinite else { return number.isNaN ? "nan" : number < 0 ? "-inf" : "inf" }
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

    /// A canonical text with `…` in place of what its quotes enclose.
    static func hidingTexts(_ text: String) -> String {
        var (hidden, isInside, isEscaped) = ("", false, false)
        for scalar in text.unicodeScalars {
            let isQuote = scalar == "\"" && !isEscaped
            isEscaped = isInside && scalar == "\\" && !isEscaped
            if isQuote { hidden += isInside ? "\"" : "\"…" } else if !isInside { hidden.unicodeScalars.append(scalar) }
            if isQuote { isInside.toggle() }
        }
        return hidden
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
