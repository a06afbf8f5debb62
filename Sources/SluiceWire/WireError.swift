/// Why bytes could not be decoded, or a message not be encoded.
package struct WireError: Error, Hashable, Sendable, CustomStringConvertible {
    /// What kind of thing was wrong. More codes may come.
    package struct Code: Hashable, Sendable, CustomStringConvertible {
        package let description: String

        /// The bytes end before the thing they describe does.
        package static let truncated = Code(description: "truncated")
        /// Bytes that describe nothing: an unknown tag, a number out of range, text that is not UTF-8.
        package static let malformed = Code(description: "malformed")
        /// A stored form of a newer version, or none at all.
        package static let unknownFormat = Code(description: "unknownFormat")
        /// A length, count or nesting above what this reader accepts.
        package static let limitExceeded = Code(description: "limitExceeded")
        /// A message type that this version does not know and may not skip.
        package static let unknownMessage = Code(description: "unknownMessage")
    }

    package let code: Code
    /// What was wrong and what would be right. Never holds user data.
    package let message: String
    /// Where in the buffer that was being read, in bytes; in a compressed frame or block, within its expanded content.
    package let offset: Int

    package init(_ code: Code, _ message: String, offset: Int) {
        self.code = code
        self.message = message
        self.offset = offset
    }

    package var description: String { "wire: \(message) (\(code), at byte \(offset))" }
}
