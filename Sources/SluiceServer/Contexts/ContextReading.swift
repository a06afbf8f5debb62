internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews

/// What readers gain and lose whose rights have changed, or whose views a commit has changed in many objects, while it
/// is found beside the writer.
///
/// A view that holds nothing is compared by what the conditions of the two contexts differ in. Readers who lose the same
/// alternatives lose the same objects, but for what each still has by another alternative: so these objects are found and
/// encoded once, and for each reader only what it keeps of them is looked up. Other views follow the change of context
/// as one commit (``ContextTurn``). A view whose context stays is made anew (``LiveView/renewed(since:in:)``), once for
/// all who have it.
///
/// What commits have changed since the state that the readers have is judged object by object, as it was then: the
/// others are now as they were.
final class ContextReading: SnapshotReading {
    struct Request {
        /// The view in the former context at the state that the reader has, which nobody else uses.
        ///
        /// With the same query as ``query`` it may also be a view that could not follow, and is at no state.
        let former: LiveView
        /// The query in the new context.
        let query: Query
        let shape: ViewShape
        /// What was found to differ before, ascending.
        var earlier: [ObjectRef] = []

        /// Whether the reader may read what it might before.
        var isOfSameContext: Bool { former.query.key == query.key }

        /// Whether the conditions on the queried class alone say what is gained and lost.
        ///
        /// - Parameter target: the view in the new context, at whatever state.
        static func isDivided(_ former: LiveView, _ target: LiveView) -> Bool {
            let classIndex = target.query.classIndex
            guard former.isDivisible, target.isDivisible,
                let was = former.query.context.closing(classIndex), let now = target.query.context.closing(classIndex)
            else { return false }
            return was.id == now.id
        }
    }

    /// What one reader gains and loses.
    enum Outcome {
        /// - departures: what leaves.
        /// - kept: what of it does not leave here.
        /// - settling: what is sent as it is then, or leaves, ascending.
        case divided(departures: DeparturePages?, kept: Set<ObjectRef>, settling: [ObjectRef])
        /// The view in the new context at the state that was read, and what may differ, ascending.
        case turned(LiveView, [ObjectRef])
        /// It is too much, or was not found.
        case unknown
    }

    private struct Key: Hashable {
        let query: ObjectID
        let condition: ObjectID
    }

    private struct ContextKey: Hashable {
        let former: ObjectID
        let context: ObjectID
    }

    private let requests: [(request: Request, isDivided: Bool)]
    private let commit: CommitDelta
    private let schema: Schema
    private let pageRowCount: Int
    /// How many more objects may be found.
    private var room: Int
    /// One for each request, once it was read.
    private(set) var outcomes: [Outcome] = []
    private var departures: [Key: DeparturePages] = [:]
    private var turns: [ContextKey: ContextTurn] = [:]
    /// What was found for views whose contexts stay, by the former view.
    private var renewed: [ObjectIdentifier: Outcome] = [:]

    /// The lists of departures, each encoded once.
    var lists: [DeparturePages] { Array(departures.values) }

    /// - Parameters:
    ///   - commit: everything that was changed since the state of the former views, up to that which is read.
    ///   - countMax: how many objects may be found.
    init(
        _ requests: [(request: Request, isDivided: Bool)], since commit: CommitDelta, schema: Schema, pageRowCount: Int,
        countMax: Int
    ) {
        self.requests = requests
        self.commit = commit
        self.schema = schema
        self.pageRowCount = pageRowCount
        room = countMax
    }

    func read(in snapshot: any ServerSnapshot, within work: WorkLimit) throws {
        let source = CommitSource(commit, over: snapshot)
        let before = OldStateSource(commit, over: source, schema: schema)
        for (request, isDivided) in requests {
            guard room > 0 else {
                outcomes.append(.unknown)
                continue
            }
            do {
                if request.isOfSameContext {
                    outcomes.append(try renew(request, in: source))
                } else {
                    outcomes.append(
                        isDivided
                            ? try divide(request, in: snapshot, source, before: before)
                            : try turn(request, in: source, before: before))
                }
            } catch is UnturnableView { outcomes.append(.unknown) }
        }
        turns = [:]
        renewed = [:]
    }

    // MARK: By alternatives

    private func divide(
        _ request: Request, in snapshot: any ServerSnapshot, _ source: CommitSource, before: OldStateSource
    ) throws -> Outcome {
        let query = request.query
        let former = request.former
        let (was, now) = (
            former.query.context.condition(ofClass: query.classIndex),
            query.context.condition(ofClass: query.classIndex)
        )
        let target = LiveView(query, shape: request.shape)
        target.activateWithoutReading()
        let changed = try changedObjects(of: query, [was, now], in: source)
        // Nothing is told of what the reader could read neither before the commit nor after it.
        var settling = try changed.filter {
            try former.member($0, in: before) != nil || target.member($0, in: source) != nil
        }
        var (leaving, kept): (DeparturePages?, Set<ObjectRef>) = (nil, [])
        if let lost = Query.surplus(on: query.className, of: was, over: now, schema: schema) {
            leaving = try departures(of: query, lost, in: snapshot)
            // By its other alternatives the reader may have some of it still.
            if let both = Query.meeting(on: query.className, lost, and: now, schema: schema) {
                kept = Set(try refs(matching: query, both, in: snapshot))
            }
            kept.formUnion(changed)
        }
        if let gained = Query.difference(on: query.className, now, butNot: was, schema: schema) {
            settling.formUnion(try refs(matching: query, gained, in: snapshot))
        }
        room -= kept.count + settling.count
        return .divided(departures: leaving, kept: kept, settling: settling.sorted())
    }

    /// The objects that a query's readers may have had, and that are not as they were, by themselves or by what lies on
    /// a path.
    private func changedObjects(
        of query: Query, _ conditions: [Query?], in source: CommitSource
    ) throws -> Set<ObjectRef> {
        var changed = Set(commit.changes.lazy.map(\.object).filter { $0.classIndex == query.classIndex })
        for dependencies in [query.dependencies] + conditions.compactMap({ $0?.predicateDependencies }) {
            for (object, _) in try PathDependents(dependencies).roots(affectedBy: commit, in: source) {
                changed.insert(object)
            }
        }
        return changed
    }

    private func departures(
        of query: Query, _ lost: Query, in snapshot: any ServerSnapshot
    ) throws -> DeparturePages {
        let key = Key(query: query.hash, condition: lost.hash)
        if let known = departures[key] { return known }
        let made = DeparturePages(try refs(matching: query, lost, in: snapshot), pageRowCount: pageRowCount)
        room -= made.count
        departures[key] = made
        return made
    }

    /// The results that a query has for whom may read what meets a condition.
    private func refs(matching query: Query, _ condition: Query, in snapshot: any ServerSnapshot) throws -> [ObjectRef]
    {
        guard let context = query.context.ruling(condition) else { throw UnturnableView.followsOtherLinks }
        return try snapshot.roots(matching: query.read(in: context), after: nil)
    }

    // MARK: As one commit

    private func turn(_ request: Request, in source: CommitSource, before: OldStateSource) throws -> Outcome {
        let (former, query) = (request.former, request.query)
        let key = ContextKey(former: former.query.context.id, context: query.context.id)
        let turn =
            try turns[key]
            ?? ContextTurn(
                commit, from: former.query.context, to: query.context, in: source, before: before, schema: schema)
        turns[key] = turn
        let made = try former.turned(by: turn, to: query, shape: request.shape, memberCountMax: room)
        var objects = made.delta?.objects ?? []
        // A client may have lost what was gone for a moment.
        for change in commit.changes {
            if try former.member(change.object, in: before) != nil || made.view.member(change.object, in: source) != nil
            {
                objects.insert(change.object)
            }
        }
        room -= objects.count
        return .turned(made.view, objects.sorted())
    }

    // MARK: In the same context

    private func renew(_ request: Request, in source: CommitSource) throws -> Outcome {
        let key = ObjectIdentifier(request.former)
        if let known = renewed[key] { return known }
        let (view, objects) = try request.former.renewed(since: commit, in: source)
        let all = request.earlier.isEmpty ? objects : objects.union(request.earlier)
        let outcome: Outcome = all.count <= room ? .turned(view, all.sorted()) : .unknown
        room -= all.count
        renewed[key] = outcome
        return outcome
    }
}
