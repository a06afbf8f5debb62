internal import SluiceModel

/// The checked clauses of a query.
struct CheckedClauses {
    struct Exclusion {
        let properties: [Int]
        let text: String
    }

    var sort: [SortKey] = []
    var limit: Int?
    var stages: [Query.Stage] = []
    var positionPaths: [Query.Path] = []
    /// The clauses in canonical form, each after a blank. Setting ``exclusions`` appends theirs.
    var text = ""
    /// Sorted by text; no path is the beginning of another.
    var exclusions: [Exclusion] = [] {
        didSet {
            if !exclusions.isEmpty { text += " EXCLUDE(\(exclusions.map(\.text).joined(separator: ", ")))" }
        }
    }
}
