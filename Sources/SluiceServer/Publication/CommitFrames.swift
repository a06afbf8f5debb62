internal import SluiceViews
internal import SluiceWire

/// What a session is told of another context.
struct ContextNotice {
    var context: ServerMessage?
    /// Empty pages of the subscriptions that are not complete any more.
    var interrupted: [ServerMessage.Page] = []

    /// A client takes what is complete when *context* comes for right in the new context. What is sent anew is not; of
    /// what is brought there by differences the client goes on with what it has.
    var messages: [ServerMessage] {
        let anew = interrupted.filter { $0.kind == .bootstrap }.map(ServerMessage.page)
        let differing = interrupted.filter { $0.kind == .resumed }.map(ServerMessage.page)
        return anew + (context.map { [$0] } ?? []) + differing
    }
}

/// Makes the frames that tell a session of a commit.
struct CommitFrames {
    let group: CommittedGroup
    let contexts: [SessionID: ContextNotice]
    let limits: DatabaseLimits

    /// Makes one commit message, or several that continue each other. The last one acknowledges the session's uploads.
    func make(for id: SessionID, _ blocks: [SessionBlock]) -> [[UInt8]] {
        var (frames, rejections) = rejectionFrames(of: id)
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
        let figures = blocks.compactMap { block in
            block.parts.figures.map {
                ServerMessage.SubscriptionFigures(subscriptions: block.subscriptions, values: $0)
            }
        }
        for (position, parts) in messages.enumerated() {
            let isLast = position == messages.count - 1
            let header = CommitHeader(
                session: id.session, version: group.delta.version, acceptedAt: group.acceptedAt,
                acknowledged: isLast ? group.acknowledged[id] : nil, isContinued: !isLast)
            var frame = FrameBuilder()
            if isLast { for rejection in rejections { frame.append(rejection) } }
            if isLast { for message in contexts[id]?.messages ?? [] { frame.append(message) } }
            if isLast {
                for block in blocks {
                    guard let places = block.parts.places else { continue }
                    frame.append(
                        ServerMessage.places(
                            .init(session: id.session, subscriptions: block.subscriptions, rows: places)))
                }
            }
            frame.appendCommit(header, blocks: parts, figures: isLast ? figures : [])
            frames.append(frame.finish())
        }
        return frames
    }

    /// What of a session's uploads the group rejected: full frames, and the messages to be sent with the commit that
    /// acknowledges the uploads, so that the client settles both at once.
    private func rejectionFrames(of id: SessionID) -> (frames: [[UInt8]], rest: [ServerMessage]) {
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
