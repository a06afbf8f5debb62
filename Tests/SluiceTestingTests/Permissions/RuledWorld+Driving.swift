import Sluice
import SluiceModel
import SluiceServer
import SluiceStorage
import SluiceViews
import SluiceWire
import Testing

/// Carries out what the engines of a ``RuledWorld`` want done, on one thread.
extension RuledWorld {
    /// Carries everything out until nobody has anything to do.
    func settle() {
        var isBusy = true
        while isBusy {
            time += 1_000
            isBusy = serveReaders()
            for client in clients.values.sorted(by: { $0.user < $1.user }) {
                let ready = client.ready
                client.ready = []
                if !ready.isEmpty { isBusy = true }
                for observation in ready { client.engine.observerIsReady(observation.id) }
                for action in client.engine.takeActions() {
                    isBusy = true
                    carryOut(action, of: client)
                }
            }
            if engine.hasWork, sendsPages {
                isBusy = true
                deliver(engine.step(now: now))
            }
            while sendsPages, !delaysReadings,
                let preparation = engine.takeReading() ?? engine.takePreparation()
            {
                isBusy = true
                preparation.run()
                deliver(engine.handle([.prepared(preparation)], now: now))
            }
        }
        check()
    }

    /// Gives back what was read beside the writer.
    func finish(_ reading: QueryPreparation) {
        deliver(engine.handle([.prepared(reading)], now: now))
        settle()
    }

    /// Lets what waits be read.
    func readBeside() {
        delaysReadings = false
        settle()
    }

    /// Lets the server do what is due by the clock.
    func checkSessions(later delay: Int64) {
        time += delay
        repeat { deliver(engine.checkSessions(now: now)) } while engine.isJudgingCached
        settle()
    }

    /// Lets the server send one round of pages.
    func step() {
        deliver(engine.step(now: now))
        settle()
    }

    func carryOut(_ action: ClientAction, of client: Client) {
        switch action {
        case .connect:
            guard client.isReachable else { return client.engine.handle(.closed(reason: "away")) }
            connectionCount += 1
            client.number = connectionCount
            client.connection = ConnectionProtocol(limits: ServerLimits(), login: DevelopmentLogin())
            client.engine.handle(.opened())
        case .disconnect:
            guard client.connection != nil else { return }
            let sessions = client.connection?.sessions.keys.sorted() ?? []
            client.connection = nil
            for session in sessions {
                deliver(engine.handle([.closed(SessionID(connection: client.number, session: session))], now: now))
            }
        case .reconnect: if client.isReachable { client.engine.handle(.reconnect) }
        case .renew, .probe: break
        case .storePostponed: client.engine.handle(.storePostponed)
        case .send(let frame):
            guard client.heldFrames == nil else {
                client.heldFrames?.append(frame)
                return
            }
            let number = client.number
            for action in client.connection?.receive(frame, now: now) ?? [] {
                switch action {
                case .send(let frame): receive(frame, number)
                case .open(let session, _, let open, _, _):
                    let id = SessionID(connection: number, session: session)
                    deliver(engine.handle([.open(id, open, identity(client))], now: now))
                case .deliver(let session, _, _, let messages, _):
                    let id = SessionID(connection: number, session: session)
                    deliver(engine.handle([.messages(id, messages)], now: now))
                case .authenticate, .renewed, .forget, .expel: problems.append("a login that takes time")
                case .close(let reason):
                    problems.append(reason)
                    lose(client)
                }
            }
        }
    }

    /// Lets the server receive what a client has sent meanwhile.
    func releaseFrames(of user: String) {
        let client = self[user]
        let frames = client.heldFrames ?? []
        client.heldFrames = nil
        for frame in frames { carryOut(.send(frame), of: client) }
        settle()
    }

    func deliver(_ actions: [DatabaseAction]) {
        for action in actions {
            switch action {
            case .send(let frame, let connection): receive(frame, connection)
            case .broadcast(let frame, let connections), .offer(let frame, let connections):
                for connection in connections { receive(frame, connection) }
            case .consult: break
            case .end(let id, _):
                clients.values.first { $0.number == id.connection }?.connection?.ended(session: id.session)
            }
        }
    }

    func receive(_ frame: [UInt8], _ connection: UInt64) {
        if let reader = readers.first(where: { $0.number == connection }) { return receive(frame, by: reader) }
        guard let client = clients.values.first(where: { $0.number == connection && $0.connection != nil }) else {
            return
        }
        do {
            let messages = try Frame.decode(frame, as: ServerMessage.self)
            client.frames.append(messages)
            for message in messages { try judge(message, to: client) }
        } catch { problems.append("\(error)") }
        client.engine.handle(.received(frame))
    }

    func check() {
        do {
            for client in clients.values {
                for classIndex in server.schema.classes.indices {
                    try server.forEachRow(ofClass: classIndex) { row in
                        let object = ObjectRef(classIndex, row.key)
                        if !client.readable.contains(object), try mayRead(client, object) {
                            client.readable.insert(object)
                        }
                        return true
                    }
                }
            }
        } catch { problems.append("\(error)") }
        for problem in problems.prefix(3) { Issue.record("\(problem)") }
    }
}
