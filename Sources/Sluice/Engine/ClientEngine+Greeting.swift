internal import SluiceModel
internal import SluiceStorage
internal import SluiceWire

/// The greeting of a session, and the limits and features that it agrees on.
extension ClientEngine {
    private static let features: Features = [.resume, .reports, .removal]

    /// Sends the hello, and asks the server to open the session.
    func greet() {
        guard session.phase == .connecting, let name = options.databaseName else { return }
        session.phase = .opening
        let state = storage.syncState
        let identity = state.map {
            ClientIdentity(databaseID: $0.databaseID, epoch: $0.epoch, clientID: $0.clientID, nonce: $0.nonce)
        }
        send([
            .hello(.init(features: Self.features, agent: options.agent)),
            .open(
                .init(
                    session: SyncSession.number, path: name, credentials: options.credentials, identity: identity,
                    version: state?.version ?? 0, acknowledged: retiredSequence,
                    options: openOptions, schema: options.isReadOnly ? Schema() : declarations.standing)),
        ])
    }

    private var openOptions: ClientMessage.Open.Options {
        if options.isReadOnly { return .readOnly }
        return options.isShortLived ? .shortLived : []
    }

    /// Tells the server that this store ends, if everything written here is acknowledged, so that the server removes
    /// the record of a short-lived store. The store must be closed afterwards.
    func sayGoodbye() {
        guard options.isShortLived, session.isActive, storage.outboxCount == 0 else { return }
        send([.close(session: SyncSession.number)])
    }

    /// Records the server's protocol version, features and limits.
    func greeted(_ reply: ServerMessage.HelloReply) {
        guard !session.isGreeted else { return abandonConnection("the server said hello twice") }
        let versions = ProtocolVersion.minimum...ProtocolVersion.maximum
        guard versions.contains(reply.version) else {
            let known =
                versions.count == 1 ? "\(versions.lowerBound)" : "\(versions.lowerBound) to \(versions.upperBound)"
            return fail(
                SyncError(
                    .protocolViolation,
                    "the server speaks version \(reply.version) of the protocol, and this library \(known)"))
        }
        session.isGreeted = true
        session.features = reply.features.intersection(Self.features)
        session.limits = reply.limits
        let idle = Duration.milliseconds(Int64(clamping: reply.limits.idleTimeoutMilliseconds))
        if options.heartbeat * 2 > idle {
            log?(
                .warning,
                "the server drops connections that are idle for \(idle); set heartbeat to at most half of that",
                [("heartbeat", "\(options.heartbeat)")])
        }
    }

    /// Sends messages in one frame. A frame that the server does not accept ends syncing with an error that says so,
    /// since sending it again would not help.
    func send(_ messages: [ClientMessage]) {
        switch frame(of: messages) {
        case .success(let bytes): actions.append(.send(bytes))
        case .failure(let error): fail(error)
        }
    }

    /// Sends messages in one frame, so that the server answers all of them at one version; in more only where they do
    /// not fit one.
    func sendTogether(_ messages: ArraySlice<ClientMessage>) {
        let frame = frame(of: Array(messages))
        if case .success(let bytes) = frame, messages.count <= options.dataLimits.messageCount {
            actions.append(.send(bytes))
        } else if messages.count > 1 {
            let middle = messages.startIndex + messages.count / 2
            sendTogether(messages[..<middle])
            sendTogether(messages[middle...])
        } else if case .failure(let error) = frame {
            fail(error)
        }
    }

    /// A frame that the server accepts.
    func frame(of messages: [ClientMessage]) -> Result<[UInt8], SyncError> {
        var frame = FrameBuilder()
        for message in messages { frame.append(message) }
        let size = frame.size
        let bytes = frame.finish()
        guard bytes.count <= session.limits.frameLengthMax, size <= session.limits.expandedLengthMax else {
            return .failure(
                SyncError(
                    .limitExceeded,
                    "\(bytes.count) bytes (\(size) expanded) have to be sent in one piece, and the server accepts "
                        + "\(session.limits.frameLengthMax) (\(session.limits.expandedLengthMax))"))
        }
        return .success(bytes)
    }

    /// The approximate maximum of bytes in a frame that several transactions share.
    var uploadByteCountMax: Int { min(options.uploadByteCountMax, frameLengthMax / 2) }

    /// The maximum number of members in one message of a list.
    var listedMemberCountMax: Int { max(1, min(options.listedMemberCountMax, frameLengthMax / 256)) }

    /// The most bytes of a frame that the server accepts, before compression too.
    var frameLengthMax: Int {
        Int(clamping: min(session.limits.frameLengthMax, session.limits.expandedLengthMax))
    }
}
