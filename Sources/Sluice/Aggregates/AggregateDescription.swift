internal import SluiceModel
package import SluiceQuery

/// What a query with AGGREGATE is to compute, and how Swift values are made of it: for stores, and for the databases of a
/// server in this process.
package struct AggregateDescription<Element: ResultElement, Output: Sendable>: Sendable {
    /// Makes a Swift value of the groups that are shown. The binding is of the queried class.
    package typealias Decode =
        @Sendable (_ aggregates: Query.Aggregates, _ groups: [GroupFigures], _ binding: ElementBinding) throws -> Output

    package let query: QueryDescription<Element>
    /// Makes what makes the values of one reader after the other: it may keep what it has made of groups that stay as they
    /// are.
    package let decoder: @Sendable () -> Decode

    init(_ query: QueryDescription<Element>, _ decode: @escaping Decode) {
        self.query = query
        decoder = { decode }
    }

    /// - Parameters:
    ///   - decode: makes what stands for one group.
    ///   - wrap: makes the value of all of them, in their order.
    init<Group: Sendable>(
        _ query: QueryDescription<Element>,
        each decode: @escaping @Sendable (Query.Aggregates, GroupFigures, ElementBinding) throws -> Group,
        _ wrap: @escaping @Sendable (Query.Aggregates, [Group]) -> Output
    ) {
        self.query = query
        decoder = {
            let made = DecodedGroups<Group>()
            return { aggregates, groups, binding in
                try wrap(aggregates, made.renew(groups, binding) { try decode(aggregates, $0, binding) })
            }
        }
    }

    private init(_ query: QueryDescription<Element>, decoder: @escaping @Sendable () -> Decode) {
        self.query = query
        self.decoder = decoder
    }

    package static var notComputing: QueryError {
        QueryError(.unsupported, "the query computes nothing; add AGGREGATE, as in AGGREGATE(@count)", at: nil)
    }

    /// The same with a further clause.
    package func adding(_ clause: QuerySyntax.Clause) -> AggregateDescription {
        AggregateDescription(query.adding(clauses: [clause]), decoder: decoder)
    }
}

extension QueryDescription where Element: Model {
    /// Computes over everything that the query finds.
    package func aggregate<each Value: Sendable>(
        _ functions: (AggregateColumns<Element>) -> (repeat Aggregate<each Value>)
    ) -> AggregateDescription<Element, (repeat each Value)> {
        let functions = functions(AggregateColumns())
        let places = AggregatePlaces(repeat each functions)
        return AggregateDescription(adding(clauses: [.aggregate(places.paths)])) { aggregates, groups, binding in
            guard let group = groups.first else { throw ModelError(.typeMismatch, "nothing has been computed") }
            var values = places.all(of: aggregates.results(of: group.figures))[...]
            return (repeat try (each functions).decode(values.popFirst() ?? .null, binding))
        }
    }

    /// Computes one thing over everything that the query finds.
    package func aggregate<Value: Sendable>(
        _ function: (AggregateColumns<Element>) -> Aggregate<Value>
    ) -> AggregateDescription<Element, Value> {
        let function = function(AggregateColumns())
        return AggregateDescription(adding(clauses: [.aggregate([function.path])])) { aggregates, groups, binding in
            guard let group = groups.first else { throw ModelError(.typeMismatch, "nothing has been computed") }
            return try function.decode(aggregates.results(of: group.figures)[0], binding)
        }
    }

    /// Computes one thing over each group of what the query finds.
    package func grouped<each Key: PropertyValue, Value: Sendable>(
        by paths: [PathSyntax], one function: Aggregate<Value>
    ) -> AggregateDescription<Element, [AggregateGroup<(repeat each Key), Value>]> {
        let query = adding(clauses: [.group(paths), .aggregate([function.path])])
        return AggregateDescription(query) { aggregates, group, binding in
            var keys = group.keys[...]
            return AggregateGroup(
                key: (repeat try (each Key).decode(nextOf: &keys, in: binding)),
                values: try function.decode(aggregates.results(of: group.figures)[0], binding))
        } _: {
            $1
        }
    }

    /// Computes over each group of what the query finds.
    package func grouped<each Key: PropertyValue, each Value: Sendable>(
        by paths: [PathSyntax], _ functions: repeat Aggregate<each Value>
    ) -> AggregateDescription<Element, [AggregateGroup<(repeat each Key), (repeat each Value)>]> {
        let places = AggregatePlaces(repeat each functions)
        let functions = (repeat each functions)
        let query = adding(clauses: [.group(paths), .aggregate(places.paths)])
        return AggregateDescription(query) { aggregates, group, binding in
            var keys = group.keys[...]
            let key = (repeat try (each Key).decode(nextOf: &keys, in: binding))
            var values = places.all(of: aggregates.results(of: group.figures))[...]
            return AggregateGroup(
                key: key, values: (repeat try (each functions).decode(values.popFirst() ?? .null, binding)))
        } _: {
            $1
        }
    }
}

/// Where the results of functions are among those of a query, which has each function once.
struct AggregatePlaces: Sendable {
    private(set) var paths: [PathSyntax] = []
    private var places: [Int] = []

    init<each Value>(_ functions: repeat Aggregate<each Value>) {
        var known: [String: Int] = [:]
        for function in repeat each functions {
            let name = function.path.components.map { "\($0.kind)" }.joined(separator: ".")
            let place = known[name] ?? paths.count
            if place == paths.count { paths.append(function.path) }
            known[name] = place
            places.append(place)
        }
    }

    /// One result for each function that was asked for.
    func all(of results: [Value]) -> [Value] { places.map { $0 < results.count ? results[$0] : .null } }
}

extension PropertyValue {
    /// The next of the keys of a group.
    fileprivate static func decode(nextOf keys: inout ArraySlice<Value>, in binding: ElementBinding) throws -> Self {
        guard let value = keys.popFirst(), let key = decode(value, in: binding) else {
            throw ModelError(.typeMismatch, "the key of a group is no \(Self.self)")
        }
        return key
    }

    /// The Swift value of one that is in no row.
    ///
    /// - Parameter binding: what links are followed through.
    static func decode(_ value: Value, in binding: ElementBinding) -> Self? {
        withExtendedLifetime(binding) {
            decode(value, from: RowDecoder(Row(key: .int(0), values: binding.defaultValues), binding))
        }
    }
}

extension Query {
    /// The query, which finds objects.
    ///
    /// - Throws: `QueryError` where it computes something instead.
    package func ofObjects() throws(QueryError) -> Query {
        guard aggregates == nil else {
            throw QueryError(
                .unsupported,
                "AGGREGATE computes figures and finds no objects; read them by aggregate(_:), grouped(by:computing:) or "
                    + "aggregates, or with 'sluice query'", at: nil)
        }
        return self
    }
}
