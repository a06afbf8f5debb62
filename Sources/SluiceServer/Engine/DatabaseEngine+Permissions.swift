internal import SluiceModel
internal import SluiceQuery
package import SluiceRules
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// A subscription on its way from the view of one context to that of another.
struct ContextMove {
    let subscription: ViewSubscription
    let query: Query
    /// The view in the new context, if it could be made of the old one; nil if everything is sent anew.
    let live: LiveView?
}

/// What happens to sessions whose users may read something else than before: each of their subscriptions moves from the
/// view in the former context to that in the new one.
///
/// It happens with the commit that causes it. A subscription leaves its view before that follows the commit, with the
/// whole difference, and arrives at the other view after that has followed it. So no change of the former view is sent
/// any more, and none of the other is missed.
extension DatabaseEngine {
    /// Lets the rules judge what is uploaded.
    func judgeWrites() {
        committer.authority = permissions.judgesWrites ? { [unowned self] in permissions.binding(of: $0) } : nil
    }

    /// The rules that the database has; nil if it has none.
    ///
    /// Rules that this version cannot read let nobody do anything.
    func storedRules() -> AccessRules? {
        do {
            let version = try database.storage.rulesVersion
            guard version > 0, let bytes = try database.storage.rules(ofVersion: version) else { return nil }
            return AccessRules(try RulesFile(bytes))
        } catch {
            database.noteFailure("the rules could not be read; nobody may do anything", error)
            return .denial
        }
    }

    /// Lets the rules that the database has hold, if it has any. Call it when an existing database is opened.
    package func loadRules() {
        if let rules = storedRules() { hold(rules) }
    }

    /// Lets the rules hold that the server was started with, and stores them. Where others were stored after them, as
    /// `sluice rules deploy` does, those hold: a server that is started again with its old file undoes nothing.
    ///
    /// - Parameter isWritable: whether the database can be written; if not, nothing is stored.
    package func begin(with rules: RulesFile?, isWritable: Bool) throws {
        configuredRules = rules
        guard let rules else { return loadRules() }
        if isSuperseded(rules) {
            database.note(
                .warning, "the database has other rules, which were stored after those of the server's file; they hold")
            return loadRules()
        }
        if isWritable { try deploy(rules) }
    }

    /// Whether a file of rules was stored before the one that holds. What cannot be read counts as stored later.
    private func isSuperseded(_ file: RulesFile) -> Bool {
        do {
            let last = try database.storage.rulesVersion
            guard last > 1, try database.storage.rules(ofVersion: last) != file.canonicalBytes else { return false }
            return try (1..<last).contains { try database.storage.rules(ofVersion: $0) == file.canonicalBytes }
        } catch {
            database.noteFailure("the versions of the rules could not be read", error)
            return true
        }
    }

    /// Lets rules hold from now on.
    func hold(_ rules: AccessRules?) {
        let hadRules = permissions.hasRules
        turn(permissions.deploy(rules))
        judgeWrites()
        // Sessions were not bound before there were rules.
        if hadRules != permissions.hasRules {
            endAll(.init(.permissionDenied, "the database's rules have changed", action: .retry))
        }
    }

    /// Stores other rules, which hold from now on. Rules that the database has already change nothing.
    ///
    /// - Returns: the version of the rules, and whether it is new.
    @discardableResult
    package func deploy(_ file: RulesFile) throws -> (version: Int, isNew: Bool) {
        let stored = try store(file)
        if stored.isNew { hold(AccessRules(file)) }
        return stored
    }

    /// Stores other rules, which do not hold yet.
    func store(_ file: RulesFile) throws -> (version: Int, isNew: Bool) {
        let version = try database.storage.rulesVersion
        if version > 0, try database.storage.rules(ofVersion: version) == file.canonicalBytes {
            return (version, false)
        }
        try database.becomeDurable()
        if version == 0, let configuredRules, configuredRules != file {
            // So that it is known later which of them came first.
            try database.transaction { try database.storage.setRules(configuredRules.canonicalBytes) }
        }
        try database.transaction { try database.storage.setRules(file.canonicalBytes) }
        return (try database.storage.rulesVersion, true)
    }

    /// Checks the values of `$client` before they are kept.
    ///
    /// - Throws: ``SessionEnd`` when there are too many, or a value is none that rules could compare.
    func check(_ variables: ValueMap) throws(SessionEnd) {
        guard let problem = VariableLimits.problem(with: variables) else { return }
        throw SessionEnd(.limitExceeded, problem, action: .stop)
    }

    func mayChangeSchema(_ session: ServerSession) -> Bool {
        session.clientID != nil && permissions.mayChangeSchema(session.id, session.user)
    }

    /// Brings sessions to what holds for their users now, without a commit.
    func turn(_ changes: [Permissions.Change]) {
        guard !changes.isEmpty else { return }
        let storage = database.storage
        let nothing = CommittedGroup(
            delta: CommitDelta(changes: [], version: storage.version), authors: [],
            acceptedAt: storage.acceptedAt ?? Timestamp(microseconds: 0))
        publish(nothing, turning: changes)
    }

    /// Takes the subscriptions that move out of their views, which are at the state before a commit that the database
    /// has made.
    ///
    /// - Parameter publication: gets the differences of those that are complete.
    func leave(
        _ changes: [Permissions.Change], _ commit: CommitDelta, _ publication: inout Publication
    ) -> [ContextMove] {
        guard !changes.isEmpty else { return [] }
        var turns = ContextTurns(commit, database)
        var moves: [ContextMove] = []
        for change in changes {
            guard let subscriber = subscriptions[change.session] else { continue }
            guard case .success(let binding) = change.binding else {
                end(change.session, .init(.internalError, "what the user may do could not be found", action: .retry))
                continue
            }
            subscriber.access = binding
            // Where only the right to write has changed the context is the same, and what the client was told of its
            // privileges is void.
            publication.add(binding.notice(to: change.session), for: change.session)
            for subscription in Array(subscriber.subscriptions.all) {
                do throws(HiddenPropertyError) {
                    let query = try binding.query(subscription.view.query)
                    guard query.key != subscription.view.query.key else { continue }
                    moves.append(leave(subscription, for: query, &turns, &publication))
                } catch {
                    end(subscription, because: error)
                }
            }
        }
        return moves
    }

    private func leave(
        _ subscription: ViewSubscription, for query: Query, _ turns: inout ContextTurns,
        _ publication: inout Publication
    ) -> ContextMove {
        let view = subscription.view
        var live: LiveView?
        if subscription.isComplete {
            do {
                let turned = try turns.turned(view, to: query, shape: hub.shape(of: query))
                if let delta = turned.delta { try publication.add(delta, for: subscription, in: query.context) }
                live = turned.view
            } catch {
                database.noteFailure("a subscription begins anew, since its reader's rights changed", error, at: .debug)
            }
        }
        view.remove(subscription)
        if !view.hasSubscriptions { removeView(view) }
        return ContextMove(subscription: subscription, query: query, live: live)
    }

    /// Lets the subscriptions arrive at views that are at the state after the commit.
    ///
    /// - Returns: those that are sent everything anew.
    func arrive(_ moves: [ContextMove]) -> [ContextMove] {
        moves.filter { move in
            guard let live = move.live else { return true }
            let subscription = move.subscription
            guard subscription.subscriber.has(subscription) else { return false }
            let arrived = ViewSubscription(
                id: subscription.id, subscriber: subscription.subscriber, view: hub[move.query.key] ?? insert(live))
            subscription.subscriber.subscriptions.replace(by: arrived)
            arrived.view.add(arrived)
            return false
        }
    }

    /// Begins subscriptions anew in their new contexts. What the client was sent of an interrupted bootstrap, it is told
    /// to forget.
    func restart(_ moves: [ContextMove]) {
        for move in moves {
            let former = move.subscription
            guard former.subscriber.has(former) else { continue }
            guarding(former.session) {
                guard let sent = former.receiver.map({ $0.sentObjects }) ?? [] else {
                    throw SessionEnd(.permissionDenied, "what the user may read has changed", action: .retry)
                }
                let comparison = former.comparison
                subscriptionEnded(former)
                do {
                    let view = try turn.charging(former.session) { _ in try sharedView(of: move.query) }
                    let subscription = ViewSubscription(id: former.id, subscriber: former.subscriber, view: view)
                    former.subscriber.subscriptions.replace(by: subscription)
                    view.add(subscription)
                    if let comparison {
                        // The client lists what it has, whatever it may read.
                        subscription.comparison = comparison
                        return
                    }
                    try recall(sent, from: subscription)
                    resumer.noteStartAnew()
                    try turn.charging(former.session) { try bootstraps.beginAnew(subscription, within: $0) }
                    // The client goes on with the membership that it has begun to stage.
                    subscription.receiver?.noteEarlier(sent)
                    listRoots()
                } catch let error as StorageError where error.endsQueryAlone {
                    if let subscription = former.subscriber.subscriptions[former.id] {
                        end(subscription, because: error)
                    }
                }
            }
        }
    }

    /// Ends what was under way for a subscription that begins anew.
    private func subscriptionEnded(_ subscription: ViewSubscription) {
        let isListing = subscription.comparison != nil
        if !isListing { subscription.subscriber.comparedMemberCount -= subscription.announcedCount }
        bootstraps.end(subscription)
        listRoots()
    }

    /// Tells a client of the objects that an interrupted bootstrap has sent and that are not in the view.
    private func recall(_ objects: Set<ObjectRef>, from subscription: ViewSubscription) throws {
        guard !objects.isEmpty else { return }
        let live = subscription.view.live
        let limits = database.limits
        var builder = ViewBlockBuilder(
            rowCountMax: limits.pageRowCount, byteCountMax: limits.pageByteCount, schema: database.storage.schema,
            limits: limits.data)
        for object in objects.sorted() where try live.member(object, in: database.storage) == nil {
            let reason = try live.reasonOfDeparture(object, wasRoot: true, in: database.storage)
            builder.add(object, role: .member, reason: reason)
        }
        for block in builder.blocks where !block.isEmpty {
            let page = ServerMessage.Page(
                session: subscription.session.session, subscriptions: [subscription.id],
                version: database.storage.version, progress: 0, kind: .bootstrap,
                content: block.readable(withNotes: subscription.subscriber.readsNotes))
            outbox.send([.page(page)], to: subscription.session)
        }
    }
}

/// The changes of context of one publication. Sessions whose contexts change alike share the work.
private struct ContextTurns {
    private struct Key: Hashable {
        let former: ObjectID
        let context: ObjectID
    }

    private struct ViewKey: Hashable {
        let view: ObjectIdentifier
        let context: ObjectID
    }

    private let commit: CommitDelta
    private let database: Database
    private let source: CommitSource
    private let before: OldStateSource
    private var turns: [Key: ContextTurn] = [:]
    private var turned: [ViewKey: (view: LiveView, delta: ViewDelta?)] = [:]
    /// Kept, so that their addresses stay theirs.
    private var views: [SharedView] = []

    init(_ commit: CommitDelta, _ database: Database) {
        self.commit = commit
        self.database = database
        source = CommitSource(commit, over: database.storage)
        before = OldStateSource(commit, over: source, schema: database.storage.schema)
    }

    mutating func turned(
        _ view: SharedView, to query: Query, shape: ViewShape
    ) throws -> (view: LiveView, delta: ViewDelta?) {
        let key = ViewKey(view: ObjectIdentifier(view), context: query.context.id)
        if let known = turned[key] { return known }
        let limits = database.limits
        let made = try database.limitingWork(for: nil, stepCountMax: limits.upkeepStepCountMax) { _ in
            let turn = try turn(from: view.query.context, to: query.context)
            guard turn.changeCount <= limits.touchedObjectCountMax else {
                throw StorageError(.interrupted, "the change of context concerns \(turn.changeCount) objects")
            }
            return try view.live.turned(
                by: turn, to: query, shape: shape, memberCountMax: limits.touchedObjectCountMax)
        }
        views.append(view)
        turned[key] = made
        return made
    }

    private mutating func turn(from former: ReadContext, to context: ReadContext) throws -> ContextTurn {
        let key = Key(former: former.id, context: context.id)
        if let known = turns[key] { return known }
        let turn = try ContextTurn(
            commit, from: former, to: context, in: source, before: before, schema: database.storage.schema)
        turns[key] = turn
        return turn
    }
}
