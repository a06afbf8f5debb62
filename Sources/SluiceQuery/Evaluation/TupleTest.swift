internal import SluiceModel

/// A ``TupleMembership``, prepared for evaluation.
final class TupleTest: Sendable {
    private let readers: [PathReader]
    private let tuples: [[Value]]
    private let isNegated: Bool

    init(_ membership: TupleMembership, isNegated: Bool, schema: Schema) {
        readers = membership.paths.map { PathReader($0, schema: schema) }
        tuples = membership.tuples
        self.isNegated = isNegated
    }

    /// An estimate of how long the evaluation takes.
    var cost: Int { 4 * readers.count }

    func passes(_ context: EvaluationContext, _ source: any ObjectSource) throws -> Bool {
        var comparisonCount = 0
        return try passes(context, source, counting: &comparisonCount)
    }

    /// Does the same, and counts how often two values are compared.
    func passes(
        _ context: EvaluationContext, _ source: any ObjectSource, counting comparisonCount: inout Int
    ) throws -> Bool {
        // The range of tuples that agree with the values read so far.
        var (start, end) = (0, tuples.count)
        for column in readers.indices {
            let value = try readers[column].value(in: context, source)
            if value.isNull { return isNegated }
            start = firstIndex(in: start, end, column, &comparisonCount) { Value.compare($0, value) >= 0 }
            end = firstIndex(in: start, end, column, &comparisonCount) { Value.compare($0, value) > 0 }
            if start == end { return isNegated }
        }
        return !isNegated
    }

    private func firstIndex(
        in start: Int, _ end: Int, _ column: Int, _ comparisonCount: inout Int, where isBehind: (Value) -> Bool
    ) -> Int {
        var (low, high) = (start, end)
        while low < high {
            let middle = (low + high) / 2
            comparisonCount += 1
            if isBehind(tuples[middle][column]) { high = middle } else { low = middle + 1 }
        }
        return low
    }
}
