package import SluiceModel
package import SluiceQuery
internal import Synchronization

/// A rule with its variables replaced: which objects of a class it allows.
package final class BoundCondition: Sendable {
    /// The condition as a query over the class.
    package let query: Query
    private let schema: Schema
    private let evaluator = Mutex<Evaluator?>(nil)

    init(_ query: Query, schema: Schema) {
        self.query = query
        self.schema = schema
    }

    /// Equal for conditions that are equal, of whichever user.
    package var id: ObjectID { query.hash }

    /// The parts of the condition's OR, each of which allows objects by itself: an IN counts as one for each element.
    /// Atoms of different users are equal if their ids are.
    package var atoms: [BoundCondition] {
        isNever ? [] : query.alternatives.map { BoundCondition($0, schema: schema) }
    }

    /// Whether no object is allowed.
    package var isNever: Bool { query.isOfNothing }

    /// Whether every object is allowed.
    package var isAlways: Bool { query.isOfWholeClass }

    /// Whether an object of the class is allowed.
    ///
    /// - Parameter source: the objects as they are, whoever asks: rules see everything.
    package func allows(_ row: Row, in source: any ObjectSource) throws -> Bool {
        let evaluator = evaluator.withLock { known in
            if let known { return known }
            let made = Evaluator(query, schema: schema)
            known = made
            return made
        }
        return try evaluator.matches(row, in: source)
    }
}
