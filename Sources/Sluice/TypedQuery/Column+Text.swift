internal import SluiceQuery

/// A property that holds text.
public protocol TextColumnValue {}

extension String: TextColumnValue {}
extension Optional: TextColumnValue where Wrapped == String {}

extension Column where Value: TextColumnValue {
    /// The text begins with `prefix`.
    public func hasPrefix(_ prefix: String, caseInsensitive: Bool = false) -> Condition {
        compared(.beginsWith, to: .value(.string(prefix)), ignoringCase: caseInsensitive)
    }

    /// The text ends with `suffix`.
    public func hasSuffix(_ suffix: String, caseInsensitive: Bool = false) -> Condition {
        compared(.endsWith, to: .value(.string(suffix)), ignoringCase: caseInsensitive)
    }

    /// The text contains `part`.
    public func contains(_ part: String, caseInsensitive: Bool = false) -> Condition {
        compared(.contains, to: .value(.string(part)), ignoringCase: caseInsensitive)
    }

    /// The text matches `pattern`, in which `?` stands for one character and `*` for any run.
    public func like(_ pattern: String, caseInsensitive: Bool = false) -> Condition {
        compared(.like, to: .value(.string(pattern)), ignoringCase: caseInsensitive)
    }

    /// The text is `text`, with upper and lower case alike unless told otherwise.
    public func equals(_ text: String, caseInsensitive: Bool = true) -> Condition {
        compared(.equal, to: .value(.string(text)), ignoringCase: caseInsensitive)
    }
}
