internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceViews
internal import SluiceWire

extension DatabaseEngine {
    /// Sends the changes of a durable group to all sessions concerned, and acknowledges the uploads to their authors.
    func publish(_ group: CommittedGroup) {
        var concerned: [SessionID: [SessionBlock]] = [:]
        pageCache.noteChanges(group.delta)
        let before = OldStateSource(group.delta, over: storage, schema: storage.schema)
        let candidates = viewsConcerned(by: group.delta, before: before)
        var spent: [SessionID: Int] = [:]
        var encoded = candidates.count > 1 ? KnownChanges() : nil
        #if SLUICE_CHECK
            var deltas: [ObjectIdentifier: ViewDelta] = [:]
            defer { checkViews(after: group.delta, reporting: deltas) }
        #endif
        for live in candidates {
            guard let view = views[live.query.hash] else { continue }
            do {
                let delta = try followCommit(with: view, spending: &spent) {
                    defer { index.update(live) }
                    return try live.apply(group.delta, in: storage, before: before)
                }
                guard let delta else { continue }
                #if SLUICE_CHECK
                    deltas[ObjectIdentifier(live)] = delta
                #endif
                view.noteChange()
                try distribute(delta, of: view, group: group, to: &concerned, sharing: &encoded)
            } catch {
                giveUp(view, because: error)
            }
        }
        send(concerned.filter { sessions[$0.key] != nil }, acknowledging: group)
        endOverloaded()
    }

    /// Ends the sessions that take their pages so slowly that too much has changed behind them.
    private func endOverloaded() {
        var counts: [SessionID: Int] = [:]
        for subscription in bootstrapping { counts[subscription.session.id, default: 0] += subscription.touchedCount }
        for (id, count) in counts.sorted(by: { $0.key < $1.key }) where count > limits.touchedObjectCountMax {
            guard let session = sessions[id] else { continue }
            end(
                session, .overloaded, "more has changed behind the pages of a bootstrap than the server keeps",
                action: .retry)
        }
    }

    /// The views that a commit may change. If the index cannot be read, these are all views: each of them then fails by
    /// itself, or follows the commit.
    private func viewsConcerned(by commit: CommitDelta, before: OldStateSource) -> [LiveView] {
        do {
            return try index.candidates(for: commit, in: storage, before: before)
        } catch {
            log?(
                .error, "the views that a commit concerns were not found", [("database", name), ("error", "\(error)")])
            return views.values.map(\.live)
        }
    }

    /// Updates a view after a commit, within the steps that one of its sessions has left. It is charged to the session
    /// that was charged least.
    private func followCommit(
        with view: SharedView, spending spent: inout [SessionID: Int], _ body: () throws -> ViewDelta?
    ) throws -> ViewDelta? {
        let payer = view.subscriptions.map(\.session.id).min { spent[$0, default: 0] < spent[$1, default: 0] }
        let left = limits.upkeepStepCountMax - (payer.flatMap { spent[$0] } ?? 0)
        var stepCount = 0
        defer { if let payer { spent[payer, default: 0] += stepCount } }
        return try limitingWork(for: nil, stepCountMax: max(left, limits.viewUpkeepStepCountMin)) { work in
            defer { stepCount = work.stepCount }
            return try body()
        }
    }

    /// The messages about one view for one session.
    private struct SessionBlock {
        var subscriptions: [UInt64]
        var parts: EncodedParts
    }

    /// The change of a view, encoded once, in parts of bounded size. Views with the same change share one encoding.
    private final class EncodedParts {
        let blocks: [(block: SharedBlock, size: Int)]

        /// - Parameter blocks: the blocks with their approximate sizes before compression.
        init(_ blocks: [(block: SharedBlock, size: Int)]) { self.blocks = blocks }
    }

    /// The small changes of views that a group's publication has encoded. Most views that change alike have equal
    /// deltas, and then the rows need not be read again; the others may still have equal blocks.
    private struct KnownChanges {
        var byDelta: [ViewDelta: EncodedParts] = [:]
        var byBlock: [ViewBlock: EncodedParts] = [:]
    }

    private func distribute(
        _ delta: ViewDelta, of view: SharedView, group: CommittedGroup,
        to concerned: inout [SessionID: [SessionBlock]], sharing known: inout KnownChanges?
    ) throws {
        var parts: EncodedParts?
        let isBootstrapping = view.subscriptions.contains { !$0.isComplete }
        let objects = isBootstrapping || pageCache.hasRun(of: view.query.hash) ? delta.objects : []
        pageCache.touch(objects, of: view.query.hash)
        for subscription in view.subscriptions {
            guard subscription.isComplete else {
                subscription.touch(objects)
                continue
            }
            let encoded = try parts ?? encode(delta, group: group, sharing: &known)
            parts = encoded
            let id = subscription.session.id
            if let position = concerned[id]?.firstIndex(where: { $0.parts === encoded }) {
                concerned[id]?[position].subscriptions.append(subscription.id)
            } else {
                concerned[id, default: []].append(SessionBlock(subscriptions: [subscription.id], parts: encoded))
            }
        }
    }

    private func encode(
        _ delta: ViewDelta, group: CommittedGroup, sharing known: inout KnownChanges?
    ) throws -> EncodedParts {
        // A large change is less likely to equal another, and costs more to look up.
        let isShareable = delta.memberCount <= 64
        if isShareable, let same = known?.byDelta[delta] { return same }
        let parts = try encode(delta, group: group, isShareable: isShareable, sharing: &known)
        if isShareable { known?.byDelta[delta] = parts }
        return parts
    }

    private func encode(
        _ delta: ViewDelta, group: CommittedGroup, isShareable: Bool, sharing known: inout KnownChanges?
    ) throws -> EncodedParts {
        var builder = ViewBlockBuilder(
            rowCountMax: limits.pageRowCount, byteCountMax: limits.pageByteCount,
            authors: delta.authors.map { group.authors[$0] }, schema: storage.schema, limits: limits.data)
        for object in delta.entered { try builder.add(object, role: .root, source: storage) }
        for object in delta.linkedEntered { try builder.add(object, role: .linked, source: storage) }
        for object in delta.updated + delta.linkedUpdated { try builder.add(object, role: .member, source: storage) }
        for departure in delta.left { builder.add(departure, role: .root) }
        for departure in delta.linkedLeft { builder.add(departure, role: .linked) }
        let block = builder.blocks[0]
        let isShareable = isShareable && builder.blocks.count == 1
        if isShareable, let same = known?.byBlock[block] { return same }
        statistics.sentBlockCount += 1
        let parts = EncodedParts(builder.blocks.map { (SharedBlock($0), $0.estimatedSize) })
        if isShareable { known?.byBlock[block] = parts }
        return parts
    }

    private func send(_ concerned: [SessionID: [SessionBlock]], acknowledging group: CommittedGroup) {
        // Sessions that receive identical bytes share one buffer.
        var shared: [FrameKey: (frame: [UInt8], connections: [UInt64])] = [:]
        for (id, blocks) in concerned.sorted(by: { $0.key < $1.key }) {
            let acknowledged = group.acknowledged[id]
            if acknowledged == nil, blocks.count == 1, blocks[0].parts.blocks.count == 1 {
                let key = FrameKey(
                    session: id.session, subscriptions: blocks[0].subscriptions,
                    parts: ObjectIdentifier(blocks[0].parts))
                if shared[key] == nil { shared[key] = (commitFrames(id, blocks, group, nil)[0], []) }
                shared[key]?.connections.append(id.connection)
            } else {
                for frame in commitFrames(id, blocks, group, acknowledged) {
                    actions.append(.send(frame, to: id.connection))
                }
            }
        }
        for (frame, connections) in shared.values.sorted(by: { $0.connections[0] < $1.connections[0] }) {
            actions.append(.broadcast(frame, to: connections))
        }
        for id in group.acknowledged.keys.sorted() where concerned[id] == nil && sessions[id] != nil {
            for frame in commitFrames(id, [], group, group.acknowledged[id]) {
                actions.append(.send(frame, to: id.connection))
            }
        }
    }

    private struct FrameKey: Hashable {
        var session: UInt64
        var subscriptions: [UInt64]
        var parts: ObjectIdentifier
    }

    /// Makes one commit message, or several that continue each other.
    private func commitFrames(
        _ id: SessionID, _ blocks: [SessionBlock], _ group: CommittedGroup, _ acknowledged: UInt64?
    ) -> [[UInt8]] {
        var (frames, rejections) = rejectionFrames(of: id, in: group)
        var messages: [[(subscriptions: [UInt64], block: SharedBlock)]] = [[]]
        var byteCount = 0
        for block in blocks {
            for part in block.parts.blocks {
                if byteCount > 0, byteCount + part.size > limits.frameByteCount {
                    messages.append([])
                    byteCount = 0
                }
                messages[messages.count - 1].append((block.subscriptions, part.block))
                byteCount += part.size
            }
        }
        for (position, parts) in messages.enumerated() {
            let isLast = position == messages.count - 1
            let header = CommitHeader(
                session: id.session, version: group.delta.version, acceptedAt: group.acceptedAt,
                acknowledged: isLast ? acknowledged : nil, isContinued: !isLast)
            var frame = FrameBuilder()
            if isLast { for rejection in rejections { frame.append(rejection) } }
            frame.appendCommit(header, blocks: parts)
            frames.append(frame.finish())
        }
        return frames
    }

    /// What of a session's uploads a group rejected: full frames, and the messages to be sent with the commit that
    /// acknowledges the uploads, so that the client settles both at once.
    private func rejectionFrames(
        of id: SessionID, in group: CommittedGroup
    ) -> (frames: [[UInt8]], rest: [ServerMessage]) {
        var frames: [[UInt8]] = []
        var rest: [ServerMessage] = []
        for rejection in group.rejections where rejection.session == id {
            if rest.count == limits.sharedRejectionCount {
                var frame = FrameBuilder()
                for message in rest { frame.append(message) }
                frames.append(frame.finish())
                rest = []
            }
            rest.append(.rejected(.init(session: id.session, rejection: rejection.rejection)))
        }
        return (frames, rest)
    }
}

extension SessionID: Comparable {
    package static func < (left: SessionID, right: SessionID) -> Bool {
        (left.connection, left.session) < (right.connection, right.session)
    }
}
