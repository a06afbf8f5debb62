package import SluiceModel
package import SluiceQuery
internal import Synchronization

/// A rule with its variables replaced: which objects of a class it allows.
package final class BoundCondition: Sendable {
    /// The condition, made when it is first asked for: most users read, and never write.
    private enum State {
        case waiting(@Sendable () -> Query)
        case made(Query)
        case judging(Judge)

        mutating func query() -> Query {
            switch self {
            case .made(let query): return query
            case .judging(let judge): return judge.query
            case .waiting(let make):
                let query = make()
                self = .made(query)
                return query
            }
        }
    }

    /// A condition that was asked about an object. Most are asked by views alone, of which an evaluator is a part.
    private final class Judge: Sendable {
        let query: Query
        let evaluator: Evaluator

        init(_ query: Query, schema: Schema) {
            self.query = query
            evaluator = Evaluator(query, schema: schema)
        }
    }

    private let schema: Schema
    private let state: Mutex<State>

    init(_ query: Query, schema: Schema) {
        self.schema = schema
        state = Mutex(.made(query))
    }

    init(schema: Schema, _ make: @escaping @Sendable () -> Query) {
        self.schema = schema
        state = Mutex(.waiting(make))
    }

    /// Whether the condition was made already.
    var isMade: Bool { state.withLock { if case .waiting = $0 { false } else { true } } }

    /// The condition as a query over the class.
    package var query: Query { state.withLock { $0.query() } }

    /// Whether no object is allowed.
    package var isNever: Bool { query.isOfNothing }

    /// Whether every object is allowed.
    package var isAlways: Bool { query.isOfWholeClass }

    /// Whether an object of the class is allowed.
    ///
    /// - Parameter source: the objects as they are, whoever asks: rules see everything.
    package func allows(_ row: Row, in source: any ObjectSource) throws -> Bool {
        let judge = state.withLock { state in
            if case .judging(let known) = state { return known }
            let made = Judge(state.query(), schema: schema)
            state = .judging(made)
            return made
        }
        return try judge.evaluator.matches(row, in: source)
    }
}
