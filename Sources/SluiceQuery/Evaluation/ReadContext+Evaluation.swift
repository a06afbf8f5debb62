package import SluiceModel

extension ReadContext {
    /// Whether an object is readable.
    ///
    /// - Parameter source: the objects as they are, whoever reads.
    package func allows(_ row: Row, ofClass classIndex: Int, in source: any ObjectSource) throws -> Bool {
        let evaluator = prepared(ofClass: classIndex) { Evaluator($0, schema: schema) }
        return try evaluator?.matches(row, in: source) ?? true
    }
}
