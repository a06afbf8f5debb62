internal import SluiceModel
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

/// Applies one frame's pages, commits and completions to the store, inside one transaction.
final class FrameApplier {
    let applier: Applier
    let storage: SQLiteClientStorage
    let objectImages: ObjectImages
    private let memberships: ObjectMemberships
    let map: SchemaMap
    let transaction: StoreTransaction
    /// The subscriptions whose state or progress the frame changed, by the ids of their records.
    private(set) var concerned: [UInt64: Subscription] = [:]
    /// The subscriptions that the server completed relying on members that are here no longer.
    private(set) var misled: [Subscription] = []
    /// What has left a subscription in this step, and is still to be looked at.
    var departed: [(object: ObjectRef, reason: RemovalReason)] = []
    /// Those among it that were deleted or may not be read any more.
    var gone: Set<ObjectRef> = []
    /// The version that complete subscriptions are at: that of the last commit. Pages of the frame may be of a later
    /// one, whose commit comes behind them.
    private var commitVersion: UInt64
    /// Whether the server has rules. Then it does not always say whether an object is hidden or deleted.
    private(set) lazy var hasContext = ReadingContext(storage).isKnown
    /// Whether the user's program wants to keep what is revoked, asked once for an object of the frame.
    var revoked: [ObjectRef: Bool] = [:]
    private var bootstrapped: [Subscription] = []
    private var completed: [Subscription] = []
    /// The targets of links in commits, and in pages that are applied like commits. The server has sent each target
    /// that it has.
    private var linkTargets: Set<ObjectRef> = []

    init(_ applier: Applier, map: SchemaMap, _ transaction: StoreTransaction) {
        self.applier = applier
        storage = applier.storage
        objectImages = applier.images
        memberships = ObjectMemberships(applier.storage, applier.active)
        self.map = map
        self.transaction = transaction
        commitVersion = applier.storage.syncState?.version ?? 0
    }

    // MARK: Catching up

    /// Ends the wait for the catch-up. The server's first content in a session brings, in one frame, everything that it
    /// could resume. Any other complete subscription stays behind the version that the store now moves to, and is no
    /// longer complete.
    func catchUp(_ content: [ServerContent]) throws {
        guard applier.active.awaitsCatchUp else { return }
        applier.active.awaitsCatchUp = false
        var resumed: Set<UInt64> = []
        for case .complete(let complete) in content { resumed.insert(complete.subscription) }
        for subscription in applier.active.values where subscription.isComplete {
            if let wireID = subscription.wireID, resumed.contains(wireID) { continue }
            concerned[subscription.record.id] = subscription
            let effect = subscription.fallBehind(at: storage.syncState?.version ?? 0)
            try subscription.carryOut(effect, in: storage, transaction)
            transaction.noteRebuild(subscription.record.id)
        }
    }

    /// Ends a step: removes the objects that no subscription holds any more after its messages.
    func finish() throws {
        for (object, reason) in departed { try remove(object, because: reason) }
        departed = []
        gone = []
        for subscription in completed {
            for target in subscription.staged.takeTargets() where try memberships.isMissed(target, by: subscription) {
                linkTargets.insert(target)
            }
        }
        for subscription in bootstrapped { try dropStale(subscription) }
        try showMembers()
        // The server does not have link targets that neither arrived nor belong to a complete subscription.
        for target in linkTargets
        where try !storage.hasPending(target) && !memberships.isCompletelySynced(target) && !keeps(target, .unknown) {
            try objectImages.evict(target, reason: .unknown, transaction)
        }
        linkTargets = []
        bootstrapped = []
        completed = []
    }

    /// Shows the last images of members of subscriptions that are complete now and sent no newer ones: these are right.
    private func showMembers() throws {
        guard !completed.isEmpty else { return }
        for object in try storage.objectsWithBaseImage
        where try completed.contains(where: { try storage.isMember(object, of: $0.record.id, role: nil) }) {
            transaction.touch(object)
            let targets = try objectImages.showServerImage(of: object, transaction)
            linkTargets.formUnion(try targets.filter(memberships.isMissedByMembers))
        }
    }

    // MARK: Pages and completion

    func apply(_ page: ServerMessage.Page) throws {
        let subscriptions = subscriptions(page.subscriptions)
        guard !subscriptions.isEmpty else { return }
        for subscription in subscriptions {
            applier.requests.noteAnswer(to: subscription)
            concerned[subscription.record.id] = subscription
            let phase = subscription.phase
            let effect = try subscription.receive(page, at: commitVersion)
            if effect == .demote { try noteSwitch(of: subscription) }
            if subscription.phase != phase { try subscription.carryOut(effect, in: storage, transaction) }
            if subscription.hasStagedTargets {
                try forEachLinkTarget(page.content) { subscription.staged.noteTarget($0) }
            } else {
                try forEachLinkTarget(page.content) { linkTargets.insert($0) }
            }
        }
        try apply(page.content, to: subscriptions)
        // The store has objects of this version, whether or not the subscription is ever complete: a server that does
        // not know the version must not take them for its own.
        try storage.advance(to: page.version)
    }

    /// Notes that the server brings a complete subscription to another context. Until it is complete again, its members
    /// must not be resumed by their version.
    private func noteSwitch(of subscription: Subscription) throws {
        let id = subscription.record.id
        try storage.noteHoles(except: Set(storage.subscriptions.lazy.map(\.id).filter { $0 != id }))
        transaction.noteRebuild(id)
    }

    func apply(_ complete: ServerMessage.Complete) throws {
        guard let subscription = subscriptions([complete.subscription]).first else { return }
        applier.requests.noteAnswer(to: subscription)
        let id = subscription.record.id
        concerned[id] = subscription
        let wasComplete = subscription.isComplete
        switch try subscription.receive(complete, now: applier.now()) {
        case .requestAnew: return misled.append(subscription)
        case .finish:
            for object in try storage.finishStaging(id) {
                transaction.noteMembership(object, of: id, reason: subscription.staged.reasonOfDeparture(of: object))
                depart(object, because: .unknown)
            }
            bootstrapped.append(subscription)
        case .confirm where subscription.record.hasHoles:
            // Objects that this store has lost are members no longer.
            try storage.beginStagingCopy(id)
            _ = try storage.finishStaging(id)
        case .confirm, .none, .stage, .stageCopy, .abandon, .demote: break
        }
        completed.append(subscription)
        subscription.membershipIsStored()
        if subscription.query.hasFigures { transaction.noteFigures(of: id) }
        try storage.updateSubscription(subscription.record)
        // The values of what it has were shown as they came.
        if !wasComplete { transaction.noteRebuild(id, rereads: false) }
        try storage.advance(to: complete.version)
    }

    /// Removes stale rows: they match the query on disk, the server did not name them, and no subscription holds them.
    private func dropStale(_ subscription: Subscription) throws {
        let id = subscription.record.id
        let query = subscription.query
        // Whether a row matches is not known without the objects that link to it.
        guard !query.readsBacklinks else { return }
        let stale: [ObjectRef]
        if query.object == nil, !query.isPartial {
            stale = try storage.nonmembers(of: id, matching: query)
        } else {
            // Rows beyond the limit may be right, so only those within it are examined.
            let matching =
                try query.object.map { try storage.findObject($0).map { [$0] } ?? [] } ?? storage.refs(matching: query)
            stale = try matching.filter { try !storage.isMember($0, of: id, role: nil) }
        }
        for object in stale { try dropIfUnheld(object, reason: .unknown) }
    }

    // MARK: Commits

    func apply(_ commit: ServerMessage.Commit) throws {
        for block in commit.blocks {
            let subscriptions = block.subscriptions.flatMap(applier.requests.subscriptions(concernedBy:))
            guard !subscriptions.isEmpty else { continue }
            try apply(block.content, to: subscriptions)
            try forEachLinkTarget(block.content) { linkTargets.insert($0) }
        }
        for figures in commit.figures {
            for subscription in subscriptions(figures.subscriptions) { try apply(figures.values, to: subscription) }
        }
        guard !commit.header.isContinued else { return }
        try storage.advance(to: commit.header.version)
        commitVersion = commit.header.version
    }

    /// Stores what the query of a subscription computes over everything that it matches.
    private func apply(_ figures: [Value], to subscription: Subscription) throws {
        try subscription.receive(changedFigures: figures)
        try storage.updateSubscription(subscription.record)
        transaction.noteFigures(of: subscription.record.id)
        for other in applier.active.borrowers(of: subscription) {
            other.borrow(total: subscription.record.figures)
            try storage.updateSubscription(other.record)
            transaction.noteFigures(of: other.record.id)
        }
    }

    /// Calls `body` with the targets of the links in a block's rows, as far as the query follows them.
    private func forEachLinkTarget(_ block: ViewBlock, _ body: (ObjectRef) -> Void) throws {
        for group in block.objects.groups {
            guard let classIndex = map.classIndex(fromServer: group.classIndex),
                let properties = map.properties(fromServer: group.properties, ofClass: group.classIndex)
            else { continue }
            let declared = storage.schema[classIndex].properties
            let columns = group.columns
            for (position, property) in properties.enumerated() {
                guard let target = declared[property].type.targetClass.flatMap(storage.schema.index(of:)) else {
                    continue
                }
                columns[position].forEachTarget { body(ObjectRef(target, $0)) }
                for case (.edits(let edits), position) in group.notes.lazy.map({ ($0.content, $0.column) }) {
                    for value in edits.values { value.forEachLink { body(ObjectRef(target, $0)) } }
                }
            }
        }
    }

    // MARK: Blocks

    /// The subscriptions that content is for. What was on its way to those that have ended since is for nobody: it is not
    /// stored, and nothing is made of what it leaves out.
    private func subscriptions(_ wireIDs: [UInt64]) -> [Subscription] {
        wireIDs.compactMap(applier.requests.subscription)
    }

    private func apply(_ block: ViewBlock, to subscriptions: [Subscription]) throws {
        for departure in block.departures {
            guard let object = map.fromServer(departure.object) else {
                throw SyncError(.protocolViolation, "an unknown class")
            }
            for subscription in subscriptions { try leave(object, departure, subscription) }
            depart(object, because: departure.reason)
        }
        for group in block.objects.groups {
            guard let classIndex = map.classIndex(fromServer: group.classIndex),
                let properties = map.properties(fromServer: group.properties, ofClass: group.classIndex)
            else { throw SyncError(.protocolViolation, "a class or property that was not announced") }
            let images = ServerImages(
                classIndex: classIndex, classSchema: storage.schema[classIndex], properties: properties,
                server: applier.schema.server[group.classIndex], serverProperties: group.properties)
            let notes = Dictionary(grouping: group.notes, by: \.row)
            try removeGone(group, ofClass: classIndex)
            for row in try storeTogether(group, images, of: classIndex, to: subscriptions) {
                let object = ObjectRef(classIndex, group.keys[row])
                let isApplied = try apply(
                    images, object, version: group.versions[row], values: group.values(at: row),
                    notes: notes[row] ?? [], isWhole: group.role != .member)
                if !isApplied { mislead(subscriptions) }
                if group.role == .member { continue }
                for subscription in subscriptions {
                    try join(object, group.role == .root ? .root : .linked, subscription)
                }
            }
        }
    }

    private func join(_ object: ObjectRef, _ role: MemberRole, _ subscription: Subscription) throws {
        let id = subscription.record.id
        // An object has one role: a root that is also linked counts as a root.
        let other: MemberRole = role == .root ? .linked : .root
        if subscription.isStaging {
            try storage.unstageMember(object, role: other, in: id)
            try storage.stageMember(object, role: role, in: id)
        } else {
            try storage.removeMember(object, role: other, from: id)
            if try storage.addMember(object, role: role, to: id) { transaction.noteMembership(object, of: id) }
        }
    }

    private func leave(_ object: ObjectRef, _ departure: ViewBlock.Departure, _ subscription: Subscription) throws {
        let id = subscription.record.id
        let roles: [MemberRole] =
            switch departure.role {
            case .root: [.root]
            case .linked: [.linked]
            case .member: [.root, .linked]
            }
        for role in roles {
            if subscription.isStaging {
                try storage.unstageMember(object, role: role, in: id)
                subscription.staged.noteDeparture(of: object, because: departure.reason)
            } else if try storage.removeMember(object, role: role, from: id) {
                transaction.noteMembership(object, of: id, reason: departure.reason)
            }
        }
        try noteAbsence(of: object, because: departure.reason)
    }

    /// Has subscriptions start anew, since the server relies on objects or lists that are not here.
    private func mislead(_ subscriptions: [Subscription]) {
        for subscription in subscriptions where !misled.contains(where: { $0 === subscription }) {
            misled.append(subscription)
        }
    }
}
