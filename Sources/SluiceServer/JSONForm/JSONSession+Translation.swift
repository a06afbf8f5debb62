internal import SluiceExchange
internal import SluiceModel
internal import SluiceTransport
internal import SluiceWire

/// What frames are to the client.
extension JSONSession {
    /// Takes the messages of a frame that goes to the client.
    mutating func translate(_ frame: [ServerMessage]) -> Translation {
        var translation = Translation(messages: begun + frame)
        let isContinued = frame.contains {
            if case .commit(let commit) = $0 { commit.header.isContinued } else { false }
        }
        if isContinued {
            begun += frame
            // What else the frame has would be told twice.
            return translation
        }
        begun = []
        let former = context
        let wasOpen = if case .open = phase { true } else { false }
        for (position, message) in translation.messages.enumerated() { translate(message, at: position, &translation) }
        // Behind the changes that bring the subscriptions there: a client that loses the connection between the two does
        // not take what it has for what it may read now.
        if wasOpen, context != former, translation.close == nil, let client {
            translation.pieces.append(.text(JSONMessage.make("context") { $0.member("client", client.text) }))
        }
        return translation
    }

    private mutating func translate(_ message: ServerMessage, at position: Int, _ translation: inout Translation) {
        switch message {
        case .hello, .digest, .withdrawn, .listMembers, .places, .message: break
        case .opened(let opened): self.opened(opened, &translation)
        case .schema(_, let schema):
            self.schema = schema
            translation.pieces.append(.text(JSONMessage.schema(schema)))
        case .page(let page): self.page(page, at: position, &translation)
        case .complete(let complete): self.complete(complete, at: position, &translation)
        case .commit(let commit): self.commit(commit, at: position, &translation)
        case .login(let login):
            // The first that a client is told is that the session is open.
            if case .opening = phase {
                self.login = login
            } else {
                translation.pieces.append(.text(JSONMessage.login(login)))
            }
        case .context(let context): self.context(context)
        case .subscriptionError(let error):
            guard subscriptions.removeValue(forKey: error.subscription) != nil else { return }
            translation.pieces.append(
                .text(
                    JSONMessage.error(
                        error.code, error.message, subscription: error.subscription, position: error.position,
                        action: .report)))
        case .rejected(let rejected):
            translation.pieces.append(.text(JSONMessage.rejected(rejected.rejection, schema)))
        case .error(let failure): self.failed(failure, &translation)
        case .moved(let moved):
            end()
            translation.pieces.append(.text(JSONMessage.make("moved") { $0.member("url", moved.url) }))
            translation.close = (.normal, "the session goes on at another server")
        case .report(_, let request, let bytes):
            let json = jobs.remove(request) == nil ? bytes : Array("{\"done\":\(Self.isDone(bytes))}".utf8)
            translation.pieces.append(
                .text(
                    JSONMessage.make("answer") { writer in
                        writer.member("id", request)
                        writer.name("value", isFirst: false)
                        writer.json(json)
                    }))
        case .reportError(let error):
            jobs.remove(error.request)
            translation.pieces.append(
                .text(
                    JSONMessage.error(
                        error.code, error.message, ask: error.request, position: error.position, action: .report)))
        }
    }

    /// Whether the first of some changes of records was made.
    private static func isDone(_ answer: [UInt8]) -> Bool {
        let made = try? ByteReader.decode(answer) { reader throws(WireError) in
            try reader.array(minimumSize: 1) { reader throws(WireError) in try reader.bool() }
        }
        return made?.first ?? false
    }

    private mutating func opened(_ opened: ServerMessage.Opened, _ translation: inout Translation) {
        guard let open = noteOpening() else { return }
        schema = opened.schema ?? Schema()
        let name = JSONClientName(opened.identity, context)
        client = name
        let isKnown = opened.outcome == .resumed || opened.outcome == .copied
        // What was right in another context is not in this one.
        known = isKnown && open.client?.context == context ? open.version : nil
        translation.pieces.append(
            .text(JSONMessage.opened(opened, client: name, database: database, time: now(), schema)))
        if let login { translation.pieces.append(.text(JSONMessage.login(login))) }
        login = nil
        let held = held
        self.held = []
        heldByteCount = 0
        translation.steps = held.flatMap { receive($0) }
    }

    private mutating func context(_ message: ServerMessage.Context) {
        let context = JSONClientName.Context(context: message.context, fields: message.fields)
        guard context != self.context else { return }
        self.context = context
        (known, versions) = (nil, nil)
        if let identity = client?.identity { client = JSONClientName(identity, context) }
    }

    private mutating func failed(_ failure: ServerMessage.Failure, _ translation: inout Translation) {
        translation.pieces.append(
            .text(
                JSONMessage.error(
                    failure.code, failure.message, action: failure.action, wait: failure.retryAfter)))
        guard failure.action != .report else { return }
        end()
        translation.close = (failure.action == .retry ? .tryAgainLater : .policyViolation, failure.message)
    }

    // MARK: Changes

    /// The change that a page or a completion belongs to: the last one, if it is of the same subscriptions and not
    /// complete.
    private func open(_ ids: [UInt64], _ translation: Translation) -> Int? {
        guard case .change(let change)? = translation.pieces.last, change.subscriptions == ids, !change.isComplete
        else {
            return nil
        }
        return translation.pieces.count - 1
    }

    private mutating func page(_ page: ServerMessage.Page, at position: Int, _ translation: inout Translation) {
        translation.pageCount += page.subscriptions.count
        for id in page.subscriptions {
            guard var subscription = subscriptions[id] else { continue }
            var change = JSONChange(
                subscriptions: [id], version: page.version, showsLinks: subscription.audience.showsLinks)
            change.resets = subscription.note(page.kind)
            subscriptions[id] = subscription
            change.parts = [JSONChange.Part(message: position, block: 0)]
            change.progress = page.kind == .bootstrap ? Int((page.progress * 1_000).rounded()) : nil
            if case .change(var last)? = translation.pieces.last, last.subscriptions == [id], !last.isComplete {
                last.parts += change.parts
                last.resets = last.resets || change.resets
                last.progress = change.progress
                translation.pieces[translation.pieces.count - 1] = .change(last)
            } else {
                translation.pieces.append(.change(change))
            }
        }
    }

    private mutating func complete(
        _ complete: ServerMessage.Complete, at position: Int, _ translation: inout Translation
    ) {
        let id = complete.subscription
        guard var subscription = subscriptions[id] else { return }
        var change: JSONChange
        if let place = open([id], translation), case .change(let begun) = translation.pieces[place] {
            change = begun
            translation.pieces.remove(at: place)
        } else {
            change = JSONChange(
                subscriptions: [id], version: complete.version, showsLinks: subscription.audience.showsLinks)
        }
        change.version = complete.version
        change.isComplete = true
        change.progress = nil
        change.acceptedAt = complete.acceptedAt.microseconds
        change.add(complete.figures, of: subscription.audience, message: position, place: nil)
        subscription.noteCompletion()
        subscriptions[id] = subscription
        note(complete.version)
        translation.pieces.append(.change(change))
    }

    private mutating func commit(_ commit: ServerMessage.Commit, at position: Int, _ translation: inout Translation) {
        let header = commit.header
        for (number, block) in commit.blocks.enumerated() {
            for (audience, ids) in receivers(block.subscriptions) {
                var change = changed(ids, header, showsLinks: audience.showsLinks, &translation)
                change.parts.append(JSONChange.Part(message: position, block: number))
                if let client = client?.identity.clientID, client != 0,
                    block.content.authors.contains(where: { $0.clientID == client })
                {
                    change.ownClient = client
                }
                translation.pieces.append(.change(change))
            }
        }
        for (number, figures) in commit.figures.enumerated() {
            for (audience, ids) in receivers(figures.subscriptions) {
                var change = changed(ids, header, showsLinks: audience.showsLinks, &translation)
                change.add(figures.values, of: audience, message: position, place: number)
                translation.pieces.append(.change(change))
            }
        }
        note(header.version)
        guard let acknowledged = header.acknowledged else { return }
        translation.pieces.append(.text(JSONMessage.acknowledged(acknowledged, at: header.version)))
    }

    /// Those of some subscriptions that the client has, by how they are told, in the order of their first ones.
    private func receivers(_ ids: [UInt64]) -> [(audience: JSONSubscription.Audience, ids: [UInt64])] {
        var receivers: [(audience: JSONSubscription.Audience, ids: [UInt64])] = []
        for id in ids {
            guard let audience = audience(of: id) else { continue }
            if let place = receivers.firstIndex(where: { $0.audience == audience }) {
                receivers[place].ids.append(id)
            } else {
                receivers.append((audience, [id]))
            }
        }
        return receivers
    }

    /// Removes the change of some subscriptions that a commit has begun among the pieces, or begins one.
    private func changed(
        _ ids: [UInt64], _ header: CommitHeader, showsLinks: Bool, _ translation: inout Translation
    ) -> JSONChange {
        for place in translation.pieces.indices {
            guard case .change(let change) = translation.pieces[place], change.isComplete,
                change.version == header.version,
                change.subscriptions == ids
            else { continue }
            translation.pieces.remove(at: place)
            return change
        }
        var change = JSONChange(subscriptions: ids, version: header.version, showsLinks: showsLinks)
        change.isComplete = true
        change.acceptedAt = header.acceptedAt.microseconds
        return change
    }
}
