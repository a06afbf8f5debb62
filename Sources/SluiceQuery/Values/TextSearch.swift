internal import SluiceModel

/// Looks for text in text, and for data in data, in linear time.
package enum TextSearch {
    /// Whether `text` begins with, ends with or contains `needle`.
    ///
    /// - Parameter comparison: which of the three; with any other operator nothing is found.
    package static func finds(
        _ needle: UnsafeBufferPointer<UInt8>, in text: UnsafeBufferPointer<UInt8>, _ comparison: ComparisonOperator
    ) -> Bool {
        guard text.count >= needle.count else { return false }
        switch comparison {
        case .beginsWith: return text.starts(with: needle)
        case .endsWith: return text.suffix(needle.count).elementsEqual(needle)
        case .contains: return contains(needle, text)
        default: return false
        }
    }

    /// Compares at each place. Where the needle almost fits many times, a search that never goes back takes over.
    private static func contains(_ needle: UnsafeBufferPointer<UInt8>, _ text: UnsafeBufferPointer<UInt8>) -> Bool {
        guard let first = needle.first else { return true }
        var stepsLeft = 4 * (text.count + needle.count) + 256
        for start in 0...text.count - needle.count where text[start] == first {
            var length = 1
            while length < needle.count, text[start + length] == needle[length] { length += 1 }
            if length == needle.count { return true }
            stepsLeft -= length
            guard stepsLeft > 0 else {
                var search = LinearSearch(for: Array(needle)[...])
                return search.find(in: text[start...]) != nil
            }
        }
        return false
    }
}
