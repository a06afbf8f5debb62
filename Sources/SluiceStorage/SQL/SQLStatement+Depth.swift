extension SQLStatement {
    /// An upper estimate of how many symbols SQLite's parser holds at once for this text; Debian's can hold 100.
    ///
    /// It adds up nested parentheses, each with the unfinished symbols before it (`a AND (`): those of a function's
    /// arguments, of a statement, and others. CASE counts up to its END.
    var parserDepth: Int {
        var costs: [Int] = []
        var depth = 0
        var deepest = 0
        let bytes = Array(text.utf8)
        func begins(_ word: StaticString, at index: Int) -> Bool {
            bytes[index...].starts(with: UnsafeBufferPointer(start: word.utf8Start, count: word.utf8CodeUnitCount))
        }
        func open(_ cost: Int) {
            costs.append(cost)
            depth += cost
            deepest = max(deepest, depth)
        }
        for (index, byte) in bytes.enumerated() {
            switch byte {
            case UInt8(ascii: "("):
                let isCall = index > 0 && Self.isOfName(bytes[index - 1])
                open(isCall ? 5 : begins("(SELECT", at: index) ? 10 : 3)
            case UInt8(ascii: "C") where begins("CASE ", at: index): open(6)
            case UInt8(ascii: ")"): depth -= costs.popLast() ?? 0
            case UInt8(ascii: "E") where begins("END", at: index): depth -= costs.popLast() ?? 0
            default: break
            }
        }
        return deepest
    }

    /// Whether a byte can end the name of a function.
    private static func isOfName(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "_"): true
        default: false
        }
    }
}
