internal import SluiceModel
internal import SluiceRules
internal import Synchronization

/// What holds for every database of a server, and may change while it runs: rules and quotas.
final class DatabaseTerms: Sendable {
    struct Values: Sendable {
        var limits: DatabaseLimits
        /// The rules that every database gets, unless others were stored in it after them; nil leaves each what it has.
        var rules: RulesFile?
        /// The most databases for which files are made; nil for any number.
        var databaseCountMax: Int?
    }

    private let state: Mutex<Values>

    init(_ values: Values) { state = Mutex(values) }

    var values: Values { state.withLock { $0 } }

    /// Whether a user may store rules in a database without objects that has those of the server.
    func mayStoreRules(_ user: User) -> Bool {
        guard let rules = values.rules else { return false }
        return AccessRules(rules).bind(user, schema: Schema()) { _ in [] }.has(.rules)
    }

    /// Takes over quotas, and rules if there are any.
    func change(_ rules: RulesFile?, _ quotas: Quotas) {
        state.withLock { values in
            values.limits.apply(quotas)
            values.databaseCountMax = quotas.databaseCountMax
            if let rules { values.rules = rules }
        }
    }
}
