internal import FoundationEssentials

extension ClassSchema {
    /// Reads a key of the class as ``ObjectKey/description`` writes it; nil if the text is none.
    package func key(_ text: String) -> ObjectKey? {
        switch keyType {
        case .int: Int64(text).map { .int($0) }
        case .string: .string(text)
        case .uuid: UUID(uuidString: text).map { .uuid($0) }
        case .objectID: ObjectID(text).map { .id($0) }
        default: nil
        }
    }
}
