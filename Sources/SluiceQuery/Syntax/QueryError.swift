public import SluiceModel

/// Why a query was refused.
public struct QueryError: SluiceError, Hashable {
    /// What kind of thing was wrong. More codes may come.
    public struct Code: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        /// Text that the grammar does not allow.
        public static let syntax = Code(description: "syntax")
        /// A class that the schema does not have.
        public static let unknownClass = Code(description: "unknownClass")
        /// A property that its class does not have.
        public static let unknownProperty = Code(description: "unknownProperty")
        /// Operands, or an operator and its operands, that do not go together.
        public static let typeMismatch = Code(description: "typeMismatch")
        /// A construct that the language knows and this version does not run.
        public static let unsupported = Code(description: "unsupported")
        /// A query that is too long, too deep or too wide.
        public static let limitExceeded = Code(description: "limitExceeded")
        /// An argument that the text names and the caller did not give, or one that the text does not use.
        public static let missingArgument = Code(description: "missingArgument")
        /// An exclusion that would hide what the query needs.
        public static let invalidExclusion = Code(description: "invalidExclusion")
        /// A property that the results are sorted by twice, ascending and descending.
        public static let repeatedSortKey = Code(description: "repeatedSortKey")
    }

    /// What kind of thing was wrong, to be compared in code.
    public let code: Code
    /// What was wrong and what would be right.
    public let message: String
    /// Where in the query's text, in UTF-8 bytes from its start; nil when the query was not built from text.
    public let position: Int?

    package init(_ code: Code, _ message: String, at position: Int?) {
        self.code = code
        self.message = message
        self.position = position
    }

    public var description: String {
        position.map { "query, at byte \($0): \(message)" } ?? "query: \(message)"
    }
}
