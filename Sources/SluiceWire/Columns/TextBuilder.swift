internal import SluiceModel

/// Collects texts for a ``TextColumn``.
struct TextBuilder {
    private var bytes: [UInt8] = []
    private var offsets: [Int] = [0]

    mutating func append(_ text: UnsafeRawBufferPointer) {
        bytes.append(contentsOf: text)
        offsets.append(bytes.count)
    }

    /// - Parameter indexes: which of the texts each row has; nil where each row has its own.
    func finish(indexes: [Int32]?) -> TextColumn {
        bytes.withUnsafeBytes { source in
            if !TextColumn.areValid(source, offsets) { return repaired(source, indexes) }
            return TextColumn(TextColumn.Bytes(copying: source), offsets: offsets, indexes: indexes)
        }
    }

    /// The same texts, with a replacement character in the place of what is not UTF-8: a damaged file may hold anything.
    private func repaired(_ source: UnsafeRawBufferPointer, _ indexes: [Int32]?) -> TextColumn {
        var valid = TextBuilder()
        for index in 0..<offsets.count - 1 {
            let text = UnsafeRawBufferPointer(rebasing: source[offsets[index]..<offsets[index + 1]])
            var repaired = String(decoding: text, as: UTF8.self)
            repaired.withUTF8 { valid.append(UnsafeRawBufferPointer($0)) }
        }
        return valid.finish(indexes: indexes)
    }
}
