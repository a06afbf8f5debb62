internal import SluiceAccess
internal import SluiceJSON
internal import SluiceModel
internal import SluiceQuery
internal import SluiceRules
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// What the user of each session may read and do at the present state.
///
/// A session is bound when it opens. The binding is made anew when a commit changes a fact that it depends on, when the
/// user proves other claims, and when the rules or the schema change. Sessions of one user share the work, and users for
/// whom the same holds share the binding. Where no rules decide, nothing follows a commit, and no upload waits for one.
final class Permissions {
    /// Where bindings come from.
    private enum Source {
        /// Everybody may do everything.
        case none
        /// What users may read, fixed for the life of a session. They may write everything.
        case contexts(ReadContexts)
        case rules(AccessRules)
    }

    /// A session that has another binding now.
    struct Change {
        let session: SessionID
        let former: AccessBinding
        /// What holds from now on, or why that is not known.
        let binding: Result<AccessBinding, any Error>
    }

    /// What a binding depends on, of a user.
    private struct Subject: Hashable {
        let id: String?
        let claims: JSONValue
        /// Equal for equal values of `$client`; they may be long.
        let variables: ObjectID

        init(_ user: User, _ variables: ValueMap) {
            id = user.id
            claims = user.identity.claims
            self.variables =
                variables.entries.isEmpty
                ? ObjectID(high: 0, low: 0) : SHA256.truncatedID(of: variables.wireBytes())
        }

        /// Without the claims, which are long and seldom tell users apart: each transaction is judged by what is found
        /// here.
        func hash(into hasher: inout Hasher) {
            hasher.combine(id)
            hasher.combine(variables)
        }
    }

    /// A user who has sessions.
    private struct Bound {
        var user: User
        var variables: ValueMap
        var binding: AccessBinding
        var facts: Set<Query.Key> = []
        var sessions: Set<SessionID> = []
        /// Why it is not known what holds; nothing is allowed then.
        var failure: (any Error)?
        /// Whether it is of a former schema, and follows no facts any more.
        var isForgotten = false
    }

    private let database: Database
    private var source: Source
    private let facts: FactViews
    private var subjects: [SessionID: Subject] = [:]
    /// What held for sessions that have ended, whose uploads may still wait to be judged.
    private var departed: [SessionID: AccessBinding] = [:]
    private var bound: [Subject: Bound] = [:]
    private var dependents: [Query.Key: Set<Subject>] = [:]
    /// The bindings in use, so that equal ones are one, with the number of users who have each.
    private var bindings: [ObjectID: (binding: AccessBinding, count: Int)] = [:]

    init(_ database: Database, contexts: ReadContexts?, rules: AccessRules?) {
        self.database = database
        facts = FactViews(database)
        source = rules.map { .rules($0) } ?? contexts.map { .contexts($0) } ?? .none
    }

    /// Whether rules decide.
    var hasRules: Bool { if case .rules = source { true } else { false } }

    /// The rules that hold; nil if none do.
    var rules: AccessRules? { if case .rules(let rules) = source { rules } else { nil } }

    /// Whether writes have to be judged.
    var judgesWrites: Bool { hasRules }

    /// What holds for the user of a session; nothing is allowed in one that is not open, and everything in the server's
    /// own process.
    func binding(of session: SessionID) -> AccessBinding {
        if case .none = source { return .everything }
        if session == .server { return .everything }
        return subjects[session].flatMap { bound[$0]?.binding } ?? departed[session] ?? denial
    }

    /// Allows nothing.
    private var denial: AccessBinding {
        AccessRules.denial.bind(User(id: nil, mayExtendSchema: false), schema: database.storage.schema) { _ in [] }
    }

    /// Forgets the sessions that have ended. Call it when nothing waits to be judged.
    func forgetDeparted() { if !departed.isEmpty { departed = [:] } }

    /// What the client of a session that opens is told of its context; none if everybody may read everything.
    func notice(of session: SessionID) -> [ServerMessage] {
        let binding = binding(of: session)
        return binding.reads.isEverything ? [] : [binding.notice(to: session)]
    }

    /// Whether a user may change the schema.
    func mayChangeSchema(_ session: SessionID, _ user: User) -> Bool {
        hasRules ? binding(of: session).has(.schema) : user.mayExtendSchema
    }

    /// Whether a transaction may change what its author, or somebody else, may do, so that the next one must be judged
    /// after it is committed.
    func concerns(_ changeset: Changeset) -> Bool {
        guard !facts.isEmpty else { return false }
        if let creations = changeset.creations { return facts.classes.contains(creations.classIndex) }
        return changeset.operations.contains { facts.classes.contains($0.object.classIndex) }
    }

    // MARK: Sessions

    /// Binds a session that is about to open.
    ///
    /// - Parameter variables: the values of `$client`.
    /// - Throws: ``StorageError`` when what decides cannot be read, and what the rules throw.
    func open(_ session: SessionID, _ user: User, variables: ValueMap = ValueMap()) throws {
        if case .none = source { return }
        close(session)
        let subject = Subject(user, variables)
        if bound[subject]?.isForgotten ?? true {
            let (binding, keys) = try bind(user, variables)
            let former = bound[subject]
            bound[subject] = Bound(
                user: user, variables: variables, binding: share(binding), sessions: former?.sessions ?? [])
            if let former { release(former.binding) }
            note(keys, for: subject)
        }
        subjects[session] = subject
        bound[subject]?.sessions.insert(session)
    }

    /// Whether it was found what holds for the user of a session, and is followed; it need not be while nothing decides.
    func isBound(_ session: SessionID) -> Bool {
        if case .none = source { return true }
        return subjects[session].flatMap { bound[$0] }.map { !$0.isForgotten } ?? false
    }

    /// Checks that it is known what holds for the user of a session.
    ///
    /// - Throws: why it could not be found.
    func confirm(_ session: SessionID) throws {
        if let failure = subjects[session].flatMap({ bound[$0]?.failure }) { throw failure }
    }

    /// Whether the facts that decide what the user of a session may read were at an earlier version what they are now.
    ///
    /// What a client says of the version of its objects proves nothing: a user who has joined a team later is not told
    /// what there was before.
    ///
    /// - Parameter commit: all changes since the earlier version.
    func heldAlike(for session: SessionID, since commit: CommitDelta) throws -> Bool {
        guard !facts.isEmpty, !commit.classes.isDisjoint(with: facts.classes),
            let known = subjects[session].flatMap({ bound[$0]?.facts })
        else { return true }
        return try known.allSatisfy { try facts.isUnchanged($0, since: commit) }
    }

    func close(_ session: SessionID) {
        guard let subject = subjects.removeValue(forKey: session) else { return }
        departed[session] = bound[subject]?.binding
        bound[subject]?.sessions.remove(session)
        guard let left = bound[subject], left.sessions.isEmpty else { return }
        note([], for: subject)
        bound[subject] = nil
        release(left.binding)
        facts.dropUnused()
    }

    /// Binds a session anew whose user has proved again who it is.
    func renew(_ session: SessionID, _ user: User) -> [Change] {
        guard let known = subjects[session].flatMap({ bound[$0] }) else { return [] }
        return rebind(session, user, known.variables)
    }

    /// Binds a session anew whose client has chosen other values of `$client`.
    func choose(_ variables: ValueMap, by session: SessionID) -> [Change] {
        guard let known = subjects[session].flatMap({ bound[$0] }) else { return [] }
        return rebind(session, known.user, variables)
    }

    private func rebind(_ session: SessionID, _ user: User, _ variables: ValueMap) -> [Change] {
        guard hasRules, subjects[session] != Subject(user, variables) else { return [] }
        let former = binding(of: session)
        do {
            try open(session, user, variables: variables)
            let binding = binding(of: session)
            return binding === former ? [] : [Change(session: session, former: former, binding: .success(binding))]
        } catch {
            return [Change(session: session, former: former, binding: .failure(error))]
        }
    }

    // MARK: Changes

    /// Brings the bindings to the state after a commit.
    ///
    /// - Returns: the sessions that have another binding now, ascending.
    func follow(_ commit: CommitDelta) -> [Change] {
        guard !facts.isEmpty, !commit.classes.isDisjoint(with: facts.classes) else { return [] }
        do {
            let changed = try facts.follow(commit)
            guard !changed.isEmpty else { return [] }
            return rebind(changed.reduce(into: []) { $0.formUnion(dependents[$1] ?? []) })
        } catch {
            // What holds now is not known, so nobody is sent anything before it is.
            database.noteFailure("what users may do could not follow a commit", error)
            forgetFacts()
            return fail(Set(bound.keys), error)
        }
    }

    /// Takes other rules, which hold from now on.
    func deploy(_ rules: AccessRules?) -> [Change] {
        source = rules.map { .rules($0) } ?? .none
        return rebindAll()
    }

    /// Brings the bindings to a schema that has grown.
    func grow() -> [Change] {
        forgetFacts()
        return rebindAll()
    }

    /// Forgets what was looked up. It is found anew for the next session.
    func forgetFacts() {
        facts.removeAll()
        dependents = [:]
        for subject in bound.keys {
            bound[subject]?.facts = []
            bound[subject]?.isForgotten = true
        }
    }

    private func rebindAll() -> [Change] {
        if case .none = source { return [] }
        return rebind(Set(bound.keys))
    }

    private func rebind(_ concerned: Set<Subject>) -> [Change] {
        var changes: [Change] = []
        for subject in concerned {
            guard let known = bound[subject] else { continue }
            let (former, sessions) = (known.binding, known.sessions)
            do {
                let (made, keys) = try bind(known.user, known.variables)
                note(keys, for: subject)
                bound[subject]?.isForgotten = false
                guard made.id != former.id || made.reads.schema != former.reads.schema else { continue }
                let binding = share(made)
                bound[subject]?.binding = binding
                release(former)
                changes += sessions.map { Change(session: $0, former: former, binding: .success(binding)) }
            } catch {
                database.noteFailure("what a user may do could not be found", error)
                changes += fail([subject], error)
            }
        }
        facts.dropUnused()
        return changes.sorted { $0.session < $1.session }
    }

    /// Takes everything from users of whom it is not known what holds now.
    private func fail(_ concerned: Set<Subject>, _ error: any Error) -> [Change] {
        concerned.flatMap { subject -> [Change] in
            guard let known = bound[subject] else { return [] }
            bound[subject]?.binding = denial
            bound[subject]?.failure = error
            release(known.binding)
            return known.sessions.map { Change(session: $0, former: known.binding, binding: .failure(error)) }
        }
    }

    // MARK: Binding

    private func bind(_ user: User, _ variables: ValueMap) throws -> (AccessBinding, Set<Query.Key>) {
        let schema = database.storage.schema
        var keys: Set<Query.Key> = []
        switch source {
        case .none: return (.everything, keys)
        case .contexts(let contexts): return (AccessBinding(reads: try contexts(user, schema)), keys)
        case .rules(let rules):
            let binding = try rules.bind(user, variables: variables, schema: schema) { query in
                keys.insert(query.key)
                return try facts.results(of: query)
            }
            return (binding, keys)
        }
    }

    private func note(_ keys: Set<Query.Key>, for subject: Subject) {
        let former = bound[subject]?.facts ?? []
        for key in keys.subtracting(former) {
            facts.retain(key)
            dependents[key, default: []].insert(subject)
        }
        for key in former.subtracting(keys) {
            facts.release(key)
            dependents[key]?.remove(subject)
            if dependents[key]?.isEmpty ?? false { dependents[key] = nil }
        }
        bound[subject]?.facts = keys
    }

    private func share(_ binding: AccessBinding) -> AccessBinding {
        let known = bindings[binding.id].flatMap { $0.binding.reads.schema == binding.reads.schema ? $0 : nil }
        bindings[binding.id] = (known?.binding ?? binding, (known?.count ?? 0) + 1)
        return known?.binding ?? binding
    }

    private func release(_ binding: AccessBinding) {
        guard let known = bindings[binding.id], known.binding === binding else { return }
        bindings[binding.id] = known.count > 1 ? (binding, known.count - 1) : nil
    }
}
