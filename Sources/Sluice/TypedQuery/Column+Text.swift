internal import SluiceQuery

/// The types of text properties: `String` and `String?`.
public protocol TextColumnValue {}

extension String: TextColumnValue {}
extension Optional: TextColumnValue where Wrapped == String {}

extension Column where Value: TextColumnValue {
    /// A condition that holds when the text begins with `prefix`.
    public func hasPrefix(_ prefix: String, caseInsensitive: Bool = false) -> Condition {
        compared(.beginsWith, to: .value(.string(prefix)), ignoringCase: caseInsensitive)
    }

    /// A condition that holds when the text ends with `suffix`.
    public func hasSuffix(_ suffix: String, caseInsensitive: Bool = false) -> Condition {
        compared(.endsWith, to: .value(.string(suffix)), ignoringCase: caseInsensitive)
    }

    /// A condition that holds when the text contains `part`.
    public func contains(_ part: String, caseInsensitive: Bool = false) -> Condition {
        compared(.contains, to: .value(.string(part)), ignoringCase: caseInsensitive)
    }

    /// A condition that holds when the text matches `pattern`, in which `?` matches one character and `*` any sequence
    /// of characters.
    public func like(_ pattern: String, caseInsensitive: Bool = false) -> Condition {
        compared(.like, to: .value(.string(pattern)), ignoringCase: caseInsensitive)
    }

    /// A condition that holds when the text equals `text`, by default without regard to upper and lower case.
    public func equals(_ text: String, caseInsensitive: Bool = true) -> Condition {
        compared(.equal, to: .value(.string(text)), ignoringCase: caseInsensitive)
    }
}
