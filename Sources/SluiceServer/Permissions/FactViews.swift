internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// The queries that decide what users may do, kept current from commit to commit: which teams a user is in, whether the
/// user has a role.
///
/// Users who depend on the same query share it. A commit finds the queries that it concerns as it finds live views.
final class FactViews {
    private struct Fact {
        let view: SharedView
        var results: Set<ObjectKey>
        /// How many bindings depend on it.
        var useCount = 0
    }

    private let database: Database
    private let hub: ViewHub
    private var facts: [Query.Key: Fact] = [:]
    private var keys: [ObjectIdentifier: Query.Key] = [:]
    /// The queries that no binding depends on.
    private var unused: Set<Query.Key> = []

    init(_ database: Database) {
        self.database = database
        hub = ViewHub(database)
    }

    var isEmpty: Bool { facts.isEmpty }

    /// The classes of which a change may change a fact.
    private(set) var classes: Set<Int> = []

    /// What a query finds now, ascending. From then on it is kept current, until the next ``dropUnused()`` after its last
    /// ``release(_:)``.
    func results(of query: Query) throws -> [ObjectKey] {
        if let known = facts[query.key] { return known.results.sorted() }
        let found = try database.limitingWork(for: nil) { _ in
            try database.storage.refs(matching: query).map(\.key)
        }
        let view = hub.insert(try hub.make(Self.withoutLinks(query, database.storage.schema)))
        facts[query.key] = Fact(view: view, results: Set(found))
        keys[ObjectIdentifier(view)] = query.key
        unused.insert(query.key)
        classes.formUnion(view.live.shape.concernedProperties.keys)
        return found.sorted()
    }

    /// The same query, whose live view follows no links.
    private static func withoutLinks(_ query: Query, _ schema: Schema) throws -> Query {
        let links = schema[query.classIndex].properties.filter { $0.type.targetClass != nil && !$0.isRetired }
        guard !links.isEmpty else { return query }
        let names = links.map { "\\\($0.name)" }.joined(separator: ", ")
        return try Query.parse("\(query.canonicalText) EXCLUDE(\(names))", schema: schema)
    }

    func retain(_ key: Query.Key) {
        facts[key]?.useCount += 1
        unused.remove(key)
    }

    func release(_ key: Query.Key) {
        facts[key]?.useCount -= 1
        if facts[key]?.useCount == 0 { unused.insert(key) }
    }

    /// Removes the queries that no binding depends on.
    func dropUnused() {
        for key in unused {
            guard let fact = facts.removeValue(forKey: key) else { continue }
            keys[ObjectIdentifier(fact.view)] = nil
            hub.remove(fact.view)
        }
        unused = []
    }

    /// Lets the facts follow a commit that the database has just made.
    ///
    /// - Returns: the queries whose results have changed.
    /// - Throws: ``StorageError`` when a result could not be found.
    func follow(_ commit: CommitDelta) throws -> Set<Query.Key> {
        var changed: Set<Query.Key> = []
        let stragglers = hub.follow(commit) { view, delta in
            guard !delta.entered.isEmpty || !delta.left.isEmpty, let key = keys[ObjectIdentifier(view)] else { return }
            for object in delta.entered { facts[key]?.results.insert(object.object.key) }
            for departure in delta.left { facts[key]?.results.remove(departure.object.key) }
            changed.insert(key)
        }
        if let failure = stragglers.failures.first { throw failure.error }
        return changed
    }

    /// Whether a query has found the same all along, as far as an earlier state and the present one tell.
    ///
    /// - Parameters:
    ///   - key: that of a query that a binding depends on.
    ///   - commit: all changes since the earlier state.
    /// - Complexity: that of applying the commit to one view.
    func isUnchanged(_ key: Query.Key, since commit: CommitDelta) throws -> Bool {
        guard let live = facts[key]?.view.live, live.shape.watches(commit) else { return true }
        return try live.differences(since: commit, in: database.storage).allSatisfy {
            ($0.before?.role == .root) == ($0.now?.role == .root)
        }
    }

    /// Forgets everything; what is asked for is found anew.
    func removeAll() {
        hub.removeAll()
        facts = [:]
        keys = [:]
        unused = []
        classes = []
    }
}
