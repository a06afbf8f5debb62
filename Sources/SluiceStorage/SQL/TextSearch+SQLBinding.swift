internal import SluiceModel
package import SluiceQuery

extension TextSearch {
    /// Whether `text` begins with, ends with or contains `needle`, which are both text or both bytes; nil if they are
    /// not.
    ///
    /// - Parameter comparison: which of the three; with any other operator nothing is found.
    package static func finds(_ needle: SQLBinding, in text: SQLBinding, _ comparison: ComparisonOperator) -> Bool? {
        switch (text, needle) {
        case (.text(var text), .text(var needle)):
            text.withUTF8 { text in needle.withUTF8 { finds($0, in: text, comparison) } }
        case (.blob(let bytes), .blob(let needle)):
            bytes.withUnsafeBufferPointer { bytes in
                needle.withUnsafeBufferPointer { finds($0, in: bytes, comparison) }
            }
        default: nil
        }
    }
}
