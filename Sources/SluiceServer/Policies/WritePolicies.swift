internal import SluiceModel
internal import Synchronization

/// The validators and resolvers of a server, by class. Any thread may use it; what is added counts from the next group
/// of uploads on.
package final class WritePolicies: Sendable {
    struct Validator: Sendable {
        let timeLimit: Duration
        let judge: @Sendable (ProposedWrite) throws -> WriteVerdict
    }

    private struct Scope: Hashable {
        let className: String
        /// Nil for all databases.
        let database: String?
    }

    private struct State {
        var validators: [Scope: [Validator]] = [:]
        var resolvers: [Scope: ConflictResolver] = [:]
    }

    private let state = Mutex(State())
    private let calls = BoundedCalls()

    package init() {}

    package func add(
        _ className: String, in database: String?, timeLimit: Duration,
        _ judge: @escaping @Sendable (ProposedWrite) throws -> WriteVerdict
    ) {
        let scope = Scope(className: className, database: database)
        state.withLock { $0.validators[scope, default: []].append(Validator(timeLimit: timeLimit, judge: judge)) }
    }

    package func set(_ resolver: ConflictResolver, for className: String, in database: String?) {
        state.withLock { $0.resolvers[Scope(className: className, database: database)] = resolver }
    }

    /// What holds in a database at the moment; nil if that is nothing.
    func policies(of database: String, _ schema: Schema, log: @escaping (String, [(String, String)]) -> Void)
        -> DatabasePolicies?
    {
        let (validators, resolvers) = state.withLock { state in
            guard !state.validators.isEmpty || !state.resolvers.isEmpty else {
                return ([Int: [Validator]](), [Int: ConflictResolver]())
            }
            var validators: [Int: [Validator]] = [:]
            var resolvers: [Int: ConflictResolver] = [:]
            // Those of all databases come first.
            for name in [nil, database] {
                for (scope, found) in state.validators where scope.database == name {
                    if let index = schema.index(of: scope.className) { validators[index, default: []] += found }
                }
                for (scope, resolver) in state.resolvers where scope.database == name {
                    if let index = schema.index(of: scope.className) { resolvers[index] = resolver }
                }
            }
            return (validators, resolvers)
        }
        guard !validators.isEmpty || !resolvers.isEmpty else { return nil }
        return DatabasePolicies(
            database: database, schema: schema, validators: validators, resolvers: resolvers, calls: calls, log: log)
    }
}
