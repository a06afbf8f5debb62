internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// The publication of one commit: gathers what it changes for each session, and makes the frames that say so. Changes
/// that are equal and not large are encoded once, and acknowledgements go with the last part for their session
/// (`ConcernedSessions`, `CommitFrames`).
struct Publication {
    private let database: Database
    private let group: CommittedGroup
    private var concerned = ConcernedSessions()
    /// nil where everybody is told who has written.
    private var veil: AuthorVeil?
    // Most views that change alike have equal deltas, and then the rows need not be read again; the others may still
    // have equal blocks.
    private var knownDeltas = KnownParts<ShownDelta>()
    private var knownBlocks = KnownParts<ShownContent>()
    /// The sessions whose context has changed with the commit, with what they are told of it.
    private var contexts: [SessionID: ContextNotice] = [:]
    /// How many blocks were encoded.
    private(set) var encodedCount: UInt64 = 0

    init(_ group: CommittedGroup, _ database: Database, veil: AuthorVeil?) {
        self.group = group
        self.database = database
        self.veil = veil
    }

    /// Adds the change of a view for those of its subscriptions that are complete.
    mutating func add(_ delta: ViewDelta, of view: SharedView) throws {
        let receivers = view.receivers
        guard view.hasLightReceivers else { return try add(delta, of: view, for: receivers) }
        try add(delta, of: view, for: receivers.filter { !$0.isLight })
        try add(delta, of: view, for: receivers.filter(\.isLight), areLight: true)
    }

    /// - Parameter areLight: whether the receivers keep no store, and so are told places and whole lists.
    private mutating func add(
        _ delta: ViewDelta, of view: SharedView, for receivers: [ChangeReceiver], areLight: Bool = false
    ) throws {
        guard !receivers.isEmpty else { return }
        let delta = areLight ? delta : delta.toldToStores(of: view.query)
        let places = areLight ? try view.places(in: database.storage).rows(of: delta) : nil
        let audiences =
            veil?.audiences(of: receivers, for: delta.authors) ?? [.init(unnamed: [], receivers: receivers)]
        for audience in audiences {
            let isSteady = !areLight && view.includesAllAlike
            var encoded = try encode(delta, in: view.query.context, isSteady: isSteady, unnamed: audience.unnamed)
            if let places { encoded = EncodedParts(encoded, places: places) }
            concerned.add(encoded, for: audience.receivers)
            view.cost.noteSent(byteCount: encoded.byteCount * audience.receivers.count)
        }
    }

    /// Adds a change for one subscription.
    ///
    /// - Parameter context: what the subscription's reader may read after the commit.
    mutating func add(_ delta: ViewDelta, for subscription: ViewSubscription, in context: ReadContext) throws {
        let isLight = subscription.subscriber.isLight
        let delta = isLight ? delta : delta.toldToStores(of: subscription.view.query)
        let isSteady = !isLight && context.isEverything && subscription.view.includesAllAlike
        let unnamed = veil?.unnamed(of: delta.authors, to: subscription.session) ?? []
        var encoded = try encode(delta, in: context, isSteady: isSteady, unnamed: unnamed)
        if isLight {
            let places = subscription.view.places(in: database.storage)
            encoded = EncodedParts(encoded, places: try places.rows(of: delta))
        }
        concerned.add(encoded, for: [ChangeReceiver(subscription)])
        subscription.view.cost.noteSent(byteCount: encoded.byteCount)
    }

    /// Adds what a session is told of its context, in the message that brings what the new context changes.
    mutating func add(_ context: ServerMessage, for session: SessionID) {
        contexts[session, default: ContextNotice()].context = context
    }

    /// Tells a client that a complete subscription is brought to the new context in pages, and is not complete before.
    ///
    /// - Parameter kind: resumed if the pages bring what differs, and bootstrap if they bring everything.
    mutating func interrupt(_ subscription: ViewSubscription, _ kind: ServerMessage.Complete.Kind) {
        contexts[subscription.session, default: ContextNotice()].interrupted.append(
            .init(
                session: subscription.session.session, subscriptions: [subscription.id],
                version: group.delta.version, progress: 0, kind: kind, content: ViewBlock()))
    }

    /// - Parameters:
    ///   - isSteady: whether the reader may read what it might before the commit, and the view includes what it did,
    ///     apart from whole objects: what comes anew is not held as it was before.
    ///   - unnamed: the authors of whom the reader is told that they are somebody.
    private mutating func encode(
        _ delta: ViewDelta, in context: ReadContext, isSteady: Bool, unnamed: Set<Int>
    ) throws -> EncodedParts {
        // A large change is less likely to equal another, and costs more to look up.
        let isShareable = delta.memberCount <= 64
        let shown = ShownDelta(
            delta: delta, context: context.veilsLinks ? context.id : nil, isSteady: isSteady, unnamed: unnamed)
        if isShareable, let same = knownDeltas.find(shown) { return same }
        let authors = delta.authors.map { unnamed.contains($0) ? group.authors[$0].unnamed : group.authors[$0] }
        let parts = try encode(delta, by: authors, in: context, isSteady: isSteady, isShareable: isShareable)
        if isShareable { knownDeltas.add(parts, for: shown) }
        return parts
    }

    private mutating func encode(
        _ delta: ViewDelta, by authors: [CommitAuthor], in context: ReadContext, isSteady: Bool, isShareable: Bool
    ) throws -> EncodedParts {
        let (storage, limits) = (database.storage, database.limits)
        var builder = ViewBlockBuilder(
            rowCountMax: limits.pageRowCount, byteCountMax: limits.pageByteCount,
            authors: authors, schema: storage.schema, limits: limits.data)
        func add(_ object: ViewObject, role: RowRole) throws {
            // What the group has changed is in memory.
            let change = group.delta.change(of: object.object)
            guard let row = try change.map(\.new) ?? storage.row(object.object) else { return }
            let shown = try context.shown(row, ofClass: object.object.classIndex, in: storage)
            // Who held the object has what was there before, except of links that may come and go with their targets.
            let veiled = PropertySet(context.veiledLinks(ofClass: object.object.classIndex).map(\.property))
            let edits = role == .member && isSteady ? change?.listEdits(object.changed.subtracting(veiled)) : nil
            try builder.add(
                shown, of: object.object.classIndex, properties: object.changed, role: role, edits: edits ?? [:])
        }
        for object in delta.entered { try add(object, role: .root) }
        for object in delta.linkedEntered { try add(object, role: .linked) }
        for object in delta.updated { try add(object, role: .member) }
        for object in delta.linkedUpdated { try add(object, role: .member) }
        for departure in delta.left { builder.add(departure, role: .root) }
        for departure in delta.linkedLeft { builder.add(departure, role: .linked) }
        let figures = delta.figures?.values ?? delta.total.map { [.int(Int64($0))] }
        let content = ShownContent(block: builder.blocks[0], figures: figures)
        let isShareable = isShareable && builder.blocks.count == 1
        if isShareable, let same = knownBlocks.find(content) { return same }
        encodedCount += 1
        let parts = EncodedParts(builder.blocks.map { (SharedBlock($0), $0.estimatedSize) }, figures: figures)
        if isShareable { knownBlocks.add(parts, for: content) }
        return parts
    }

    /// The frames for all sessions concerned, which also acknowledge the uploads to their authors. O(n log n) for n
    /// sessions, and O(n) if they subscribed in the order in which they connected.
    ///
    /// - Parameter isOpen: whether a session is still open.
    func frames(where isOpen: (SessionID) -> Bool) -> [DatabaseAction] {
        var actions: [DatabaseAction] = []
        let frames = CommitFrames(group: group, contexts: contexts, limits: database.limits)
        var shared = SharedFrames()
        // Those that are told more than what others are told.
        let others = Set(group.acknowledged.keys).union(contexts.keys).sorted()
        var told: Set<SessionID> = []
        var next = 0
        concerned.forEachSession { id, changes in
            guard isOpen(id) else { return }
            while next < others.count, others[next] < id { next += 1 }
            let isToldMore = next < others.count && others[next] == id
            if isToldMore { told.insert(id) }
            if !isToldMore, changes.count == 1, let change = changes.first, concerned.isInOneFrame(change) {
                shared.add(change) { frames.make(for: id, concerned.blocks(changes))[0] }
            } else {
                actions += frames.make(for: id, concerned.blocks(changes)).map { .send($0, to: id.connection) }
            }
        }
        actions += shared.actions
        for id in others where !told.contains(id) && isOpen(id) {
            actions += frames.make(for: id, []).map { .send($0, to: id.connection) }
        }
        return actions
    }
}

/// Frames that several sessions are sent: those that receive identical bytes share one buffer.
private struct SharedFrames {
    private struct Key: Hashable {
        let session: UInt64
        let subscription: UInt64
        let parts: Int
    }

    private var places: [Key: Int] = [:]
    private var frames: [(frame: [UInt8], connections: [UInt64])] = []
    // Sessions that follow each other mostly have the same.
    private var latest: (key: Key, place: Int)?

    /// Adds a session that is told one change and nothing else.
    ///
    /// - Parameter frame: makes the frame, if no session before has the same.
    mutating func add(_ change: ConcernedSessions.Change, _ frame: () -> [UInt8]) {
        let key = Key(
            session: change.session.session, subscription: change.receiver.subscription, parts: change.parts)
        if let latest, latest.key == key { return frames[latest.place].connections.append(change.session.connection) }
        let place = places[key] ?? frames.count
        if place == frames.count {
            places[key] = place
            frames.append((frame(), []))
        }
        latest = (key, place)
        frames[place].connections.append(change.session.connection)
    }

    var actions: [DatabaseAction] { frames.map { .broadcast($0.frame, to: $0.connections) } }
}

/// A change of a view, as its reader is shown it.
private struct ShownDelta: Hashable {
    let delta: ViewDelta
    /// What the reader may read, where links show only with their targets; nil where equal changes are shown alike.
    let context: ObjectID?
    let isSteady: Bool
    /// The authors whom the reader is not told by name.
    let unnamed: Set<Int>
}

/// What is sent of a small change of a view.
private struct ShownContent: Hashable {
    let block: ViewBlock
    let figures: [Value]?
}

extension ViewDelta {
    /// The change without a total that stores count themselves.
    fileprivate func toldToStores(of query: Query) -> ViewDelta {
        guard total != nil, !query.countsMatches else { return self }
        var delta = self
        delta.total = nil
        return delta
    }
}

extension ObjectDelta {
    /// How those lists that the group has edited come from what they were; without those that changed so much that the
    /// whole takes no more.
    fileprivate func listEdits(_ properties: PropertySet) -> [Int: ListEdits] {
        guard let old, let new, new.hasIdentities else { return [:] }
        return new.listEdits(properties, from: old).filter { property, edits in
            guard case .list(let values) = new.values[property] else { return false }
            return edits.count * 2 <= values.count + 2
        }
    }
}

/// The change of a view, encoded once, in parts of bounded size. Views with the same change share one encoding.
final class EncodedParts {
    let blocks: [(block: SharedBlock, size: Int)]
    /// What the query computes over everything that it matches; nil where that has not changed.
    let figures: [Value]?
    /// What the blocks and figures add to frames, in bytes.
    let byteCount: Int
    /// Where the results among the rows stand; nil for receivers that find that out themselves.
    let places: [ServerMessage.Place]?

    /// - Parameter blocks: the blocks with their approximate sizes before compression.
    init(_ blocks: [(block: SharedBlock, size: Int)], figures: [Value]? = nil) {
        self.blocks = blocks
        self.figures = figures
        places = nil
        byteCount = blocks.reduce(figures?.encodedSize ?? 0) { $0 + $1.block.size }
    }

    /// The same parts with places, for receivers that are told them.
    init(_ parts: EncodedParts, places: [ServerMessage.Place]) {
        blocks = parts.blocks
        figures = parts.figures
        byteCount = parts.byteCount
        self.places = places
    }
}

/// Finds the encoding of a change that equals an earlier one. Views that change alike often follow each other, so the
/// change found last is compared first, and a single change is not hashed.
private struct KnownParts<Change: Hashable> {
    private var latest: (change: Change, parts: EncodedParts)?
    /// All changes; empty while there is one.
    private var all: [Change: EncodedParts] = [:]

    mutating func find(_ change: Change) -> EncodedParts? {
        guard let latest else { return nil }
        if latest.change == change { return latest.parts }
        guard let parts = all[change] else { return nil }
        self.latest = (change, parts)
        return parts
    }

    mutating func add(_ parts: EncodedParts, for change: Change) {
        if let latest {
            if all.isEmpty { all[latest.change] = latest.parts }
            all[change] = parts
        }
        latest = (change, parts)
    }
}
