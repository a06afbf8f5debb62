internal import SluiceAccess
package import SluiceModel
package import SluiceQuery
package import SluiceRules
internal import Synchronization

/// Binds users to a rules file.
///
/// What it has to look up about a user it asks for as queries, whose results decide the binding. The server keeps these
/// results current, and has the binding made anew when one changes.
package final class AccessRules: Sendable {
    package let file: RulesFile
    /// The file as compiled for the last schema.
    private let compiled = Mutex<Rules?>(nil)

    package init(_ file: RulesFile) { self.file = file }

    /// Rules that allow nothing.
    static let denial: AccessRules = {
        guard let file = try? RulesFile("{}") else { preconditionFailure("an empty rules file is well formed") }
        return AccessRules(file)
    }()

    /// Makes what holds for a user.
    ///
    /// - Parameters:
    ///   - user: who it is, with what is known about the user.
    ///   - variables: the values of `$client`, which the client chooses.
    ///   - schema: the schema that conditions are checked against.
    ///   - results: the keys of the objects that a query finds at the present state. The binding depends on all queries
    ///     that were asked here.
    package func bind(
        _ user: User, variables: ValueMap = ValueMap(), schema: Schema, results: (Query) throws -> [ObjectKey]
    ) rethrows -> AccessBinding {
        let client = Dictionary(uniqueKeysWithValues: variables.entries.map { ($0.key, $0.value) })
        let ruleUser = RuleUser(id: user.id, claims: user.identity.claims)
        let facts = try facts(of: ruleUser, client: client, schema: schema, results: results)
        return AccessBinding(compiled(for: schema).bind(ruleUser, client: client, facts: facts))
    }

    /// Looks up everything that decides what holds for a user.
    ///
    /// - Parameter results: the keys of the objects that a query finds at the present state.
    package func facts(
        of user: RuleUser, client: ClientVariables = [:], schema: Schema, results: (Query) throws -> [ObjectKey]
    ) rethrows -> RuleFactResults {
        let rules = compiled(for: schema)
        var known: RuleFactResults = [:]
        while true {
            let unknown = rules.facts(of: user, client: client, given: known).filter { known[$0.id] == nil }
            if unknown.isEmpty { return known }
            for fact in unknown { known[fact.id] = try results(fact.query) }
        }
    }

    /// Whether some users' ids may have to be kept from some readers of a database with a schema.
    func hidesUsers(of schema: Schema) -> Bool { compiled(for: schema).hidesUsers }

    /// The file, compiled for a schema.
    package func compiled(for schema: Schema) -> Rules {
        compiled.withLock { known in
            if let known, known.schema == schema { return known }
            let made = Rules(file, schema: schema)
            known = made
            return made
        }
    }
}

/// Says what a user may read of a database with a schema.
package typealias ReadContexts = (User, Schema) throws -> ReadContext
