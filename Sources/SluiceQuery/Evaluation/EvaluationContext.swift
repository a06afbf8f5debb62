internal import SluiceModel

/// The objects that paths begin at: the queried object, and the current objects of the enclosing subqueries.
///
/// A context refers to rows and contexts of its callers, so it must not outlive the call that it was made for.
struct EvaluationContext {
    private let row: UnsafePointer<Row>
    private let depth: Int
    private let outer: UnsafePointer<EvaluationContext>?

    /// Calls `body` with the context of a queried object.
    static func with<Result>(
        _ row: Row, _ body: (EvaluationContext) throws -> Result
    ) rethrows -> Result {
        try withUnsafePointer(to: row) { try body(EvaluationContext(row: $0, depth: 0, outer: nil)) }
    }

    /// Calls `body` with the context of a subquery that judges one of its objects.
    func entering<Result>(
        _ row: Row, _ body: (EvaluationContext) throws -> Result
    ) rethrows -> Result {
        try withUnsafePointer(to: self) { outer in
            try withUnsafePointer(to: row) {
                try body(EvaluationContext(row: $0, depth: depth + 1, outer: outer))
            }
        }
    }

    /// The object of a scope, 0 being the queried one.
    func row(at scope: Int) -> UnsafePointer<Row> {
        var context = self
        while context.depth > scope, let outer = context.outer { context = outer.pointee }
        return context.row
    }
}
