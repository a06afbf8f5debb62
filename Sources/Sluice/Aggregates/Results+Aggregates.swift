internal import SluiceQuery

extension Results where Element: Model {
    /// Computes something over everything that the query finds, instead of its objects:
    ///
    /// ```swift
    /// let stats = flights.where { $0.delay > 60 }.aggregate { ($0.count, $0.average(\.delay), $0.max(\.delay)) }
    /// for try await change in stats.changes {
    ///     let (count, average, longest) = change.value
    /// }
    /// ```
    ///
    /// Orders, limits and exclusions of the query make it a `QueryError`, since it computes over everything that the
    /// condition finds.
    ///
    /// - Parameter functions: at most 16.
    public func aggregate<each Value: Sendable>(
        _ functions: (AggregateColumns<Element>) -> (repeat Aggregate<each Value>)
    ) -> AggregateResults<Element, (repeat each Value)> {
        AggregateResults(self, refinement.aggregate(functions))
    }

    /// Computes something over each group of what the query finds: over the objects that have the same value of a
    /// property, or link to the same object.
    ///
    /// ```swift
    /// let top = flights.grouped(by: \.carrier) { ($0.count, $0.average(\.delay)) }
    ///     .sorted(by: { $0.0 }, ascending: false).limit(5)
    /// for group in try top.fetch() { print(group.key, group.values.0) }
    /// ```
    ///
    /// - Parameters:
    ///   - path: properties that are no collections, also behind links to one object; at most four. Of several, as in
    ///     `grouped(by: \.origin, \.carrier) { $0.count }`, the key of a group is a tuple.
    ///   - functions: at most 16.
    public func grouped<each Key: PropertyValue, each Value: Sendable>(
        by path: repeat KeyPath<Column<Element>, Column<each Key>>,
        computing functions: (AggregateColumns<Element>) -> (repeat Aggregate<each Value>)
    ) -> GroupedResults<Element, (repeat each Key), (repeat each Value), (repeat Aggregate<each Value>)> {
        let functions = functions(AggregateColumns())
        let paths = Column<Element>.paths(repeat each path)
        return GroupedResults(self, by: paths, functions, refinement.grouped(by: paths, repeat each functions))
    }

    /// Computes one thing over everything that the query finds, as `aggregate(_:)` computes several.
    public func aggregate<Value: Sendable>(
        _ function: (AggregateColumns<Element>) -> Aggregate<Value>
    ) -> AggregateResults<Element, Value> {
        let function = function(AggregateColumns())
        return AggregateResults(self, refinement.aggregate { _ in function })
    }

    /// Computes one thing over each group of what the query finds, as `grouped(by:computing:)` computes several.
    public func grouped<each Key: PropertyValue, Value: Sendable>(
        by path: repeat KeyPath<Column<Element>, Column<each Key>>,
        computing function: (AggregateColumns<Element>) -> Aggregate<Value>
    ) -> GroupedResults<Element, (repeat each Key), Value, Aggregate<Value>> {
        let function = function(AggregateColumns())
        let paths = Column<Element>.paths(repeat each path)
        return GroupedResults(self, by: paths, function, refinement.grouped(by: paths, one: function))
    }
}
