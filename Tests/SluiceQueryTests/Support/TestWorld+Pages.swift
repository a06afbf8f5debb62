import SluiceModel
import SluiceStorage
import SluiceViews

@testable import SluiceQuery

/// Pages in the order of a query.
extension TestWorld {
    /// Compares pages that SQL reads with the results of a query in memory.
    ///
    /// - Parameters:
    ///   - query: without stages.
    ///   - results: the keys of its results, in order.
    ///   - indices: of the results behind which pages begin.
    /// - Returns: how they differ; nil if they do not.
    func pageDifference(_ query: Query, _ results: [ObjectKey], at indices: [Int]) throws -> String? {
        let compiler = SQLCompiler(schema: schema, now: now)
        let database = try database()
        func page(after position: SortPosition?, _ count: Int) throws -> [ObjectKey] {
            let statement = compiler.select(query, after: position, limit: count)
            return try keys(database.integers(statement), ofClass: query.classIndex)
        }
        for count in [1, 3, results.count, results.count + 2] {
            let first = try page(after: nil, count)
            guard first == Array(results.prefix(count)) else { return "the first \(count) are \(first), of \(results)" }
        }
        let source = ReadableObjects(self, in: query.context)
        let evaluator = Evaluator(query, schema: schema)
        for index in indices where results.indices.contains(index) && query.limit == nil {
            guard let row = try source.row(ObjectRef(query.classIndex, results[index])) else { continue }
            let values = Array(try evaluator.sortValues(of: row, in: source).prefix(query.sort.count))
            let id = Identity(className: query.className, key: row.key).objectID
            for count in [1, 2, results.count] {
                let next = try page(after: SortPosition(values: values, id: id), count)
                guard next == Array(results.dropFirst(index + 1).prefix(count)) else {
                    return "\(count) behind number \(index) are \(next), of \(results)"
                }
            }
        }
        return nil
    }
}
