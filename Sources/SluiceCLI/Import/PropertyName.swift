/// Makes property names from column names.
enum PropertyName {
    /// The column's name with every run of ASCII spaces and punctuation replaced by one `_` (by nothing at the ends),
    /// and with `_` before a leading digit. Nil if the result would be longer than 63 bytes or has no letter or digit,
    /// and for a name with letters beyond ASCII.
    static func make(of column: String) -> String? {
        var name: [UInt8] = []
        var isReplacing = false
        for byte in column.utf8 {
            switch byte {
            case 0x41...0x5A, 0x61...0x7A, 0x30...0x39, 0x5F:
                if isReplacing, !name.isEmpty { name.append(0x5F) }
                isReplacing = false
                name.append(byte)
            case 0x80...: return nil
            default: isReplacing = true
            }
        }
        guard let first = name.first, name.contains(where: { $0 != 0x5F }) else { return nil }
        if first >= 0x30, first <= 0x39 { name.insert(0x5F, at: 0) }
        return name.count <= 63 ? String(decoding: name, as: UTF8.self) : nil
    }
}
