internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// What clients keep although no subscription of theirs holds it, as far as they have said so: they are told when an
/// object of it may not be read any more.
///
/// A client offers what it keeps when its session opens, when it lets go of a subscription, and when its context
/// changes. The answer names what is not there for its user. The rest is watched until the session ends: a commit that
/// changes a watched object itself is answered at once, and one that changes what a rule reads on the way to it soon
/// (``next(now:)``). A client learns nothing of objects that it may not read, since those answer as missing ones do.
final class KeptObjectChecks {
    /// What one session keeps.
    private struct Holder {
        var access: AccessBinding
        var objects: Set<ObjectRef> = []
        /// The classes that decide, beside an object itself, whether it may be read.
        var classes: Set<Int> = []
    }

    /// What is judged again, over several turns, since a commit has changed what rules read.
    private struct Round {
        var sessions: [SessionID] = []
        /// The session whose turn it is, and what of its objects is left.
        var session: SessionID?
        var objects: [ObjectRef] = []
        /// Whether everything is judged, and not only what other objects decide, too.
        var isWhole = false

        var isOver: Bool { sessions.isEmpty && objects.isEmpty }
    }

    /// The time between two rounds, in microseconds.
    private static let roundTime: Int64 = 1_000_000

    private let database: Database
    private var holders: [SessionID: Holder] = [:]
    private var watchers: [ObjectRef: Set<SessionID>] = [:]
    /// The sessions that must judge what they keep again after a change of a class.
    private var dependents: [Int: Set<SessionID>] = [:]
    /// The classes with dependents that have changed since the last round began.
    private var changedClasses: Set<Int> = []
    /// Whether a commit could not be followed since the last round began.
    private var isBehind = false
    private var round = Round()
    private var nextRoundAt: Int64 = .min
    /// How many objects are watched, an object of two sessions twice.
    private(set) var count = 0
    /// How many times an object was judged. Tests use it to see how this work grows.
    private(set) var judgementCount = 0

    init(_ database: Database) { self.database = database }

    // MARK: Offers

    /// Judges what a client offers, and watches what may be read as far as the limits allow.
    ///
    /// - Returns: what is not there for the user, in the order of the offer.
    func offer(_ objects: [ObjectRef], by session: SessionID, _ access: AccessBinding) throws -> [ObjectRef] {
        if holders[session]?.access !== access { rebind(session, access) }
        var withdrawn: [ObjectRef] = []
        for object in objects {
            if try mayRead(object, access) {
                watch(object, by: session)
            } else {
                forget(object, of: session)
                withdrawn.append(object)
            }
        }
        return withdrawn
    }

    func close(_ session: SessionID) {
        guard let holder = holders.removeValue(forKey: session) else { return }
        for object in holder.objects { removeWatcher(session, of: object) }
        for classIndex in holder.classes { dependents[classIndex]?.remove(session) }
        count -= holder.objects.count
    }

    private func rebind(_ session: SessionID, _ access: AccessBinding) {
        var holder = holders[session] ?? Holder(access: access)
        for classIndex in holder.classes { dependents[classIndex]?.remove(session) }
        holder.access = access
        holder.classes = []
        holders[session] = holder
        for classIndex in Set(holder.objects.map(\.classIndex)) { noteClasses(deciding: classIndex, session) }
    }

    private func watch(_ object: ObjectRef, by session: SessionID) {
        guard let holder = holders[session], holder.objects.count < database.limits.cachedObjectCountMax,
            count < database.limits.allCachedObjectCountMax, holders[session]?.objects.insert(object).inserted == true
        else { return }
        count += 1
        watchers[object, default: []].insert(session)
        noteClasses(deciding: object.classIndex, session)
    }

    /// Notes the classes that decide whether objects of a class may be read.
    private func noteClasses(deciding classIndex: Int, _ session: SessionID) {
        guard let condition = holders[session]?.access.reads.condition(ofClass: classIndex) else { return }
        for path in condition.form.predicateDependencies.linkPaths
        where holders[session]?.classes.insert(path.targetClass).inserted == true {
            dependents[path.targetClass, default: []].insert(session)
        }
    }

    private func forget(_ object: ObjectRef, of session: SessionID) {
        guard holders[session]?.objects.remove(object) != nil else { return }
        count -= 1
        removeWatcher(session, of: object)
    }

    private func removeWatcher(_ session: SessionID, of object: ObjectRef) {
        watchers[object]?.remove(session)
        if watchers[object]?.isEmpty ?? false { watchers[object] = nil }
    }

    // MARK: Commits

    /// Judges what a commit has changed.
    ///
    /// - Parameter access: what holds for a session after the commit; nil if it is not open.
    /// - Returns: what is not there any more for whom.
    func follow(
        _ commit: CommitDelta, access: (SessionID) -> AccessBinding?
    ) throws -> [(session: SessionID, withdrawn: [ObjectRef])] {
        guard count > 0 else { return [] }
        changedClasses.formUnion(commit.classes.filter { !(dependents[$0]?.isEmpty ?? true) })
        var withdrawn: [SessionID: [ObjectRef]] = [:]
        for change in commit.changes {
            for session in watchers[change.object] ?? [] {
                guard let access = access(session), try !mayRead(change.object, access) else { continue }
                withdrawn[session, default: []].append(change.object)
            }
        }
        for (session, objects) in withdrawn { for object in objects { forget(object, of: session) } }
        return withdrawn.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// Notes that a commit could not be followed, so that everything is judged again in the next round.
    func judgeAllAgain() { isBehind = true }

    /// Whether something is being judged again over several turns.
    var isJudging: Bool { !round.isOver }

    /// Judges a part of what has to be judged again, since a commit has changed what rules read. Nothing is judged more
    /// often than once a second.
    ///
    /// - Parameter access: what holds for a session now; nil if it is not open.
    /// - Returns: what is not there any more for whom; nil if nothing is due.
    func next(
        now: Timestamp, access: (SessionID) -> AccessBinding?
    ) throws -> (session: SessionID, withdrawn: [ObjectRef])? {
        if round.isOver { beginRound(now: now) }
        while round.objects.isEmpty, let session = round.sessions.popLast() {
            guard let holder = holders[session] else { continue }
            round.session = session
            round.objects = holder.objects.filter { round.isWhole || isDecidedElsewhere($0.classIndex, holder.access) }
        }
        guard let session = round.session, !round.objects.isEmpty else { return nil }
        let part = round.objects.suffix(database.limits.judgedObjectCountMax)
        round.objects.removeLast(part.count)
        guard let access = access(session), let holder = holders[session] else { return nil }
        let withdrawn = try part.filter { try holder.objects.contains($0) && !mayRead($0, access) }
        for object in withdrawn { forget(object, of: session) }
        return (session, withdrawn)
    }

    private func beginRound(now: Timestamp) {
        guard isBehind || !changedClasses.isEmpty, now.microseconds >= nextRoundAt else { return }
        nextRoundAt = now.microseconds + Self.roundTime
        let sessions =
            isBehind ? Set(holders.keys) : changedClasses.reduce(into: Set()) { $0.formUnion(dependents[$1] ?? []) }
        round = Round(sessions: sessions.sorted(), isWhole: isBehind)
        changedClasses = []
        isBehind = false
    }

    /// Whether other objects decide, too, whether one of a class may be read.
    private func isDecidedElsewhere(_ classIndex: Int, _ access: AccessBinding) -> Bool {
        access.reads.condition(ofClass: classIndex).map { !$0.form.predicateDependencies.linkPaths.isEmpty } ?? false
    }

    // MARK: Judging

    /// Whether an object is there for a user. One that is missing and one that may not be read are the same.
    private func mayRead(_ object: ObjectRef, _ access: AccessBinding) throws -> Bool {
        judgementCount += 1
        let storage = database.storage
        guard !storage.schema[object.classIndex].isRetired, let row = try storage.row(object) else { return false }
        return try access.reads.allows(row, ofClass: object.classIndex, in: storage)
    }
}
