extension SQLStatement {
    /// About how many symbols SQLite's parser holds at once for this text; Debian's holds 100.
    ///
    /// Statements within each other cost about nine, other parentheses three.
    var parserDepth: Int {
        var costs: [Int] = []
        var depth = 0
        var deepest = 0
        let bytes = Array(text.utf8)
        for (index, byte) in bytes.enumerated() {
            if byte == UInt8(ascii: "(") {
                let cost = bytes[(index + 1)...].starts(with: "SELECT".utf8) ? 9 : 3
                costs.append(cost)
                depth += cost
                deepest = max(deepest, depth)
            } else if byte == UInt8(ascii: ")"), let cost = costs.popLast() {
                depth -= cost
            }
        }
        return deepest
    }

    static let parserDepthMax = 75
}
