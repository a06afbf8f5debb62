public import Sluice
internal import SluiceQuery
internal import SluiceServer
internal import SluiceStorage
internal import SluiceViews

/// What a query on a database of a server in this process computes over everything that it finds, to fetch or to observe.
/// `aggregate(_:)` and `grouped(by:computing:)` make it.
public struct ServerAggregates<Element: ResultElement, Output: Sendable>: Sendable {
    private let results: ServerResults<Element>
    private let description: AggregateDescription<Element, Output>

    init(_ results: ServerResults<Element>, _ description: AggregateDescription<Element, Output>) {
        self.results = results.refined { _ in description.query }.forFigures()
        self.description = description
    }

    /// Computes over what there is at this call, beside the queue that serves clients; in a database in memory on it.
    /// O(matches).
    ///
    /// - Throws: `QueryError`; `ServerError` when the database cannot be used, or has too many groups; `ModelError` when a
    ///   type cannot hold a key or a result.
    public func fetch() async throws -> Output {
        let (results, description) = (results, description)
        return try await results.database.access.query { objects in
            let query = try results.query(in: objects.schema)
            guard let aggregates = query.aggregates,
                let groups = try objects.figures(of: query, schema: objects.schema)
            else { throw AggregateDescription<Element, Output>.notComputing }
            let binding = try results.database.bindings.binding(
                of: Element.self, classIndex: query.classIndex, schema: objects.schema)
            return try description.decoder()(aggregates, aggregates.shown(groups), binding)
        }
    }

    /// The values as a sequence: what there is when the iteration begins, and then what each commit makes of it. A consumer
    /// that is slow gets the last of several. Ending the iteration ends the observation.
    public var changes: ServerAggregateChanges<Element, Output> {
        ServerAggregateChanges(results: results, description: description)
    }
}

/// The changes of what a query on a server's database computes. Each iteration is a separate observation.
public struct ServerAggregateChanges<Object: ResultElement, Output: Sendable>: AsyncSequence, Sendable {
    let results: ServerResults<Object>
    let description: AggregateDescription<Object, Output>

    /// Makes an iterator, whose observation begins with its first ``Iterator/next()``.
    public func makeAsyncIterator() -> Iterator { Iterator(results.changes.makeAsyncIterator(), results, description) }

    /// One observation.
    public struct Iterator: AsyncIteratorProtocol {
        private var changes: DatabaseChanges<Object>.Iterator
        private let results: ServerResults<Object>
        private let decode: AggregateDescription<Object, Output>.Decode
        /// What was computed last, in its order.
        private var known: KnownGroups?

        init(
            _ changes: DatabaseChanges<Object>.Iterator, _ results: ServerResults<Object>,
            _ description: AggregateDescription<Object, Output>
        ) {
            self.changes = changes
            self.results = results
            decode = description.decoder()
        }

        /// Waits for the next value; nil when the task was cancelled.
        ///
        /// - Throws: as ``ServerAggregates/fetch()``, and a `ServerError` when the database cannot be used any more.
        public mutating func next() async throws -> Output? {
            while let change = try await changes.next() {
                let query = try results.query(in: change.schema)
                guard let aggregates = query.aggregates else {
                    throw AggregateDescription<Object, Output>.notComputing
                }
                guard let figures = change.figures else { continue }
                let groups = try groups(after: figures, aggregates)
                let binding = try results.database.bindings.binding(
                    of: Object.self, classIndex: query.classIndex, schema: change.schema)
                return try decode(aggregates, groups, binding)
            }
            return nil
        }

        /// The groups in their order. O(change · log groups), and O(groups) to move what stands behind.
        private mutating func groups(
            after figures: ToldFigures, _ aggregates: Query.Aggregates
        ) throws -> [GroupFigures] {
            switch figures {
            case .whole(let groups): known = KnownGroups(aggregates, aggregates.values(of: groups))
            case .change(let change): if known?.apply(change.values) == false { known = nil }
            }
            guard let known else {
                throw ServerError(.database, "what the query computes was not followed any more; observe it again")
            }
            return known.groups
        }
    }
}

extension ServerResults where Element: Model {
    /// Computes something over everything that the query finds, as `Results.aggregate` does for a store.
    public func aggregate<each Value: Sendable>(
        _ functions: (AggregateColumns<Element>) -> (repeat Aggregate<each Value>)
    ) -> ServerAggregates<Element, (repeat each Value)> {
        ServerAggregates(self, description.aggregate(functions))
    }

    /// Computes something over each group of what the query finds, as `Results.grouped` does for a store.
    public func grouped<each Key: PropertyValue, each Value: Sendable>(
        by path: repeat KeyPath<Column<Element>, Column<each Key>>,
        computing functions: (AggregateColumns<Element>) -> (repeat Aggregate<each Value>)
    ) -> ServerGroups<Element, (repeat each Key), (repeat each Value), (repeat Aggregate<each Value>)> {
        let functions = functions(AggregateColumns())
        let paths = Column<Element>.paths(repeat each path)
        return ServerGroups(self, by: paths, functions, description.grouped(by: paths, repeat each functions))
    }

    /// Computes one thing over everything that the query finds.
    public func aggregate<Value: Sendable>(
        _ function: (AggregateColumns<Element>) -> Aggregate<Value>
    ) -> ServerAggregates<Element, Value> {
        let function = function(AggregateColumns())
        return ServerAggregates(self, description.aggregate { _ in function })
    }

    /// Computes one thing over each group of what the query finds.
    public func grouped<each Key: PropertyValue, Value: Sendable>(
        by path: repeat KeyPath<Column<Element>, Column<each Key>>,
        computing function: (AggregateColumns<Element>) -> Aggregate<Value>
    ) -> ServerGroups<Element, (repeat each Key), Value, Aggregate<Value>> {
        let function = function(AggregateColumns())
        let paths = Column<Element>.paths(repeat each path)
        return ServerGroups(self, by: paths, function, description.grouped(by: paths, one: function))
    }
}

/// What a query on a server's database computes over each group of what it finds.
public struct ServerGroups<Element: ResultElement, Key: Sendable, Values: Sendable, Functions: Sendable>: Sendable {
    /// The groups as they are fetched and observed: in their order.
    public typealias Group = AggregateGroup<Key, Values>

    private let results: ServerResults<Element>
    private let paths: [PathSyntax]
    private let functions: Functions
    private let description: AggregateDescription<Element, [Group]>

    init(
        _ results: ServerResults<Element>, by paths: [PathSyntax], _ functions: Functions,
        _ description: AggregateDescription<Element, [Group]>
    ) {
        self.results = results
        self.paths = paths
        self.functions = functions
        self.description = description
    }

    private func refined(_ clause: QuerySyntax.Clause) -> ServerGroups {
        ServerGroups(results, by: paths, functions, description.adding(clause))
    }

    /// Sorts the groups by something that is computed: `.sorted(by: { $0.0 }, ascending: false)`.
    public func sorted<Value>(by function: (Functions) -> Aggregate<Value>, ascending: Bool = true) -> ServerGroups {
        refined(.sort([QuerySyntax.SortSyntax(function(functions).path, isAscending: ascending)]))
    }

    /// Sorts the groups by their keys.
    public func sortedByKey(ascending: Bool = true) -> ServerGroups {
        refined(.sort(paths.map { QuerySyntax.SortSyntax($0, isAscending: ascending) }))
    }

    /// Keeps at most `count` groups, the first in the order.
    public func limit(_ count: Int) -> ServerGroups { refined(.limit(count)) }

    private var aggregates: ServerAggregates<Element, [Group]> { ServerAggregates(results, description) }

    /// Computes the groups as of this call; see ``ServerAggregates/fetch()``.
    public func fetch() async throws -> [Group] { try await aggregates.fetch() }

    /// The groups as a sequence; see ``ServerAggregates/changes``.
    public var changes: ServerAggregateChanges<Element, [Group]> { aggregates.changes }
}
