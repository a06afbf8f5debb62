internal import SluiceModel

/// The checked clauses of a query.
struct CheckedClauses {
    struct Exclusion {
        let properties: [Int]
        let text: String
    }

    var sort: [SortTerm] = []
    var limit: Int?
    var section = Query.Section()
    var stages: [Query.Stage] = []
    var positionPaths: [Query.Path] = []
    /// What the query computes; nil where it finds objects.
    var aggregates: Query.Aggregates?
    /// The clauses in canonical form, each after a blank. Setting ``exclusions`` appends theirs.
    var text = ""
    /// The same without LIMIT; nil unless one LIMIT alone says how many results there are.
    var textWithoutLimit: String?
    /// Sorted by text; no path is the beginning of another.
    var exclusions: [Exclusion] = [] {
        didSet {
            if !exclusions.isEmpty { append(" EXCLUDE(\(exclusions.map(\.text).joined(separator: ", ")))") }
        }
    }
    /// Whether the query asks for its total. Setting it, after ``exclusions``, appends TOTAL.
    var hasTotal = false { didSet { if hasTotal { append(" TOTAL") } } }

    private mutating func append(_ clause: String) {
        text += clause
        textWithoutLimit? += clause
    }
}
