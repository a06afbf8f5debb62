internal import SluiceJSON

/// Says where the values of a JSON text begin, so that messages can name line and column.
struct JSONPlaces {
    /// A value's place in the text, with the places of what it holds.
    struct Node {
        /// The byte that the value begins at.
        let start: Int
        /// The places of members' names and values, in order; or of elements.
        var children: [(name: Int, node: Node)] = []
    }

    let bytes: [UInt8]
    private(set) var root = Node(start: 0)
    /// The bytes at which lines begin.
    private let lineStarts: [Int]

    /// - Parameter bytes: a text that ``JSONParser`` takes, or with a problem, of which only lines are asked.
    init(_ bytes: [UInt8], isJSON: Bool) {
        self.bytes = bytes
        lineStarts = [0] + bytes.indices.filter { bytes[$0] == 0x0A }.map { $0 + 1 }
        guard isJSON else { return }
        var scanner = Scanner(bytes: bytes)
        root = scanner.node()
    }

    /// The line and the column of a byte, counting from 1.
    func position(of byte: Int) -> (line: Int, column: Int) {
        let byte = min(byte, bytes.count)
        var low = 0
        var high = lineStarts.count
        while high - low > 1 {
            let middle = (low + high) / 2
            if lineStarts[middle] <= byte { low = middle } else { high = middle }
        }
        return (low + 1, String(decoding: bytes[lineStarts[low]..<byte], as: UTF8.self).unicodeScalars.count + 1)
    }

    /// The byte of the text that a byte of a string's value was read from.
    ///
    /// - Parameters:
    ///   - offset: counts from the beginning of the string's value, in UTF-8.
    ///   - start: where the string begins, with its quote.
    func byte(_ offset: Int, ofStringAt start: Int) -> Int {
        var position = start + 1
        var left = offset
        while left > 0, position < bytes.count, bytes[position] != UInt8(ascii: "\"") {
            guard bytes[position] == UInt8(ascii: "\\"), position + 1 < bytes.count else {
                position += 1
                left -= 1
                continue
            }
            let (length, count) = escape(at: position)
            position += length
            left -= count
        }
        return position
    }

    /// The bytes of an escape in the text, and of what it stands for.
    private func escape(at position: Int) -> (length: Int, count: Int) {
        guard bytes[position + 1] == UInt8(ascii: "u"), position + 6 <= bytes.count,
            let unit = UInt32(String(decoding: bytes[position + 2..<position + 6], as: UTF8.self), radix: 16)
        else { return (2, 1) }
        if (0xD800..<0xE000).contains(unit) { return (12, 4) }
        return (6, unit < 0x80 ? 1 : unit < 0x800 ? 2 : 3)
    }

    /// Goes through a text that is known to be JSON.
    private struct Scanner {
        let bytes: [UInt8]
        var position = 0

        private var current: UInt8 { position < bytes.count ? bytes[position] : 0 }

        private mutating func skipBlanks() {
            while position < bytes.count, bytes[position] <= 0x20 { position += 1 }
        }

        mutating func node() -> Node {
            skipBlanks()
            var node = Node(start: position)
            switch current {
            case UInt8(ascii: "{"):
                items(until: UInt8(ascii: "}")) { scanner in
                    let name = scanner.position
                    scanner.string()
                    scanner.skipBlanks()
                    scanner.position += 1
                    node.children.append((name, scanner.node()))
                }
            case UInt8(ascii: "["):
                items(until: UInt8(ascii: "]")) { scanner in
                    node.children.append((scanner.position, scanner.node()))
                }
            case UInt8(ascii: "\""): string()
            default:
                while position < bytes.count, !Self.ends(bytes[position]) { position += 1 }
            }
            return node
        }

        private static func ends(_ byte: UInt8) -> Bool {
            byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]")
        }

        private mutating func items(until end: UInt8, _ item: (inout Scanner) -> Void) {
            position += 1
            skipBlanks()
            while position < bytes.count, current != end {
                item(&self)
                skipBlanks()
                if current == UInt8(ascii: ",") { position += 1 }
                skipBlanks()
            }
            position += 1
        }

        private mutating func string() {
            position += 1
            while position < bytes.count, current != UInt8(ascii: "\"") {
                position += current == UInt8(ascii: "\\") ? 2 : 1
            }
            position += 1
        }
    }
}
