public import Dispatch
internal import SluiceQuery

/// One group of objects, and what was computed over them.
public struct AggregateGroup<Key, Values> {
    /// The value of the property that the objects have in common; of several properties their values in turn.
    public let key: Key
    /// What was computed, in the order in which it was asked for.
    public let values: Values
}

extension AggregateGroup: Sendable where Key: Sendable, Values: Sendable {}

/// What a query computes over each group of what it finds; see `grouped(by:computing:)`.
public struct GroupedResults<Element: ResultElement, Key: Sendable, Values: Sendable, Functions: Sendable>: Sendable {
    /// The groups as they are fetched and observed: in their order.
    public typealias Group = AggregateGroup<Key, Values>

    private let results: Results<Element>
    private let paths: [PathSyntax]
    private let functions: Functions
    private let description: AggregateDescription<Element, [Group]>

    init(
        _ results: Results<Element>, by paths: [PathSyntax], _ functions: Functions,
        _ description: AggregateDescription<Element, [Group]>
    ) {
        self.results = results
        self.paths = paths
        self.functions = functions
        self.description = description
    }

    private func refined(_ clause: QuerySyntax.Clause) -> GroupedResults {
        GroupedResults(results, by: paths, functions, description.adding(clause))
    }

    /// Sorts the groups by something that is computed: `.sorted(by: { $0.0 }, ascending: false)`, where `$0` is what
    /// `grouped(by:computing:)` was given. Sorting again makes a stronger order. Without one, and between equals, groups
    /// are in the ascending order of their keys.
    public func sorted<Value>(by function: (Functions) -> Aggregate<Value>, ascending: Bool = true) -> GroupedResults {
        refined(.sort([QuerySyntax.SortSyntax(function(functions).path, isAscending: ascending)]))
    }

    /// Sorts the groups by their keys, of several by the first of them, then by the next.
    public func sortedByKey(ascending: Bool = true) -> GroupedResults {
        refined(.sort(paths.map { QuerySyntax.SortSyntax($0, isAscending: ascending) }))
    }

    /// Keeps at most `count` groups, the first in the order.
    public func limit(_ count: Int) -> GroupedResults { refined(.limit(count)) }

    /// The same as one value.
    package var aggregates: AggregateResults<Element, [Group]> { AggregateResults(results, description) }

    /// The query in its canonical form.
    ///
    /// - Throws: `QueryError`.
    public var canonicalText: String { get throws { try aggregates.canonicalText } }

    /// The groups as they are known here now; see ``AggregateResults/fetch()``.
    public func fetch() throws -> [Group] { try aggregates.fetch() }

    /// The groups as they are known here now, and whether they are exact.
    public func snapshot() throws -> AggregateSnapshot<[Group]> { try aggregates.snapshot() }

    /// Waits for what the server says; see ``AggregateResults/synced(timeout:)``.
    @discardableResult
    public func synced(timeout: Duration? = nil) async throws -> [Group] {
        try await aggregates.synced(timeout: timeout)
    }

    /// Observes the groups; see ``AggregateResults/observe(on:_:onError:)``.
    public func observe(
        on queue: DispatchQueue? = nil, _ handler: @escaping @Sendable (AggregateChange<[Group]>) throws -> Void,
        onError: (@Sendable (any Error) -> Void)? = nil
    ) throws -> NotificationToken {
        try aggregates.observe(on: queue, handler, onError: onError)
    }

    /// Observes the groups with handlers on the main actor, as results are observed.
    public func observe(
        isolation actor: MainActor, _ handler: @escaping @MainActor (AggregateChange<[Group]>) throws -> Void,
        onError: (@MainActor (any Error) -> Void)? = nil
    ) throws -> NotificationToken {
        try aggregates.observe(isolation: actor, handler, onError: onError)
    }

    /// Observes the groups with handlers on an actor, which are called with it.
    public func observe<Isolation: Actor>(
        isolation actor: Isolation,
        _ handler: @escaping @Sendable (isolated Isolation, AggregateChange<[Group]>) throws -> Void,
        onError: (@Sendable (isolated Isolation, any Error) -> Void)? = nil
    ) throws -> NotificationToken {
        try aggregates.observe(isolation: actor, handler, onError: onError)
    }

    /// The changes of the groups as a sequence; see ``AggregateResults/changes``.
    public var changes: AggregateChanges<Element, [Group]> { aggregates.changes }

    /// The changes of the groups, for those who wait for an event and not for ever.
    public func changes(timeout: Duration) -> AggregateChanges<Element, [Group]> {
        aggregates.changes(timeout: timeout)
    }

    /// The same, asking the server nothing; see ``Results/cached()``.
    public func cached() -> GroupedResults { GroupedResults(results.cached(), by: paths, functions, description) }
}
