internal import SluiceModel

/// The objects that paths begin at: the queried one, and those that the subqueries around speak of.
struct EvaluationContext {
    private final class Outer {
        let row: Row
        let outer: Outer?

        init(_ row: Row, _ outer: Outer?) {
            self.row = row
            self.outer = outer
        }
    }

    private let row: Row
    private let depth: Int
    private let outer: Outer?

    init(_ row: Row) { self.init(row, depth: 0, outer: nil) }

    private init(_ row: Row, depth: Int, outer: Outer?) {
        self.row = row
        self.depth = depth
        self.outer = outer
    }

    /// The context within a subquery, about one of its objects.
    func entering(_ row: Row) -> EvaluationContext {
        EvaluationContext(row, depth: depth + 1, outer: Outer(self.row, outer))
    }

    /// The object of a scope, 0 being the queried one.
    func row(at scope: Int) -> Row {
        if scope == depth { return row }
        var current = outer
        for _ in 1..<(depth - scope) { current = current?.outer }
        return current?.row ?? row
    }
}
