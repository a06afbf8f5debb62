import Sluice
import SluiceModel
import SluiceQuery
import SluiceServer
import SluiceStorage
import SluiceWire

/// Clients and a server, driven by hand: the engines of the product without threads or sockets.
final class HandDrivenSync {
    /// Limits that tests reach with little data.
    static let smallLimits: DataLimits = {
        var limits = DataLimits()
        limits.frameByteCount = 64 << 10
        limits.expandedByteCount = 64 << 10
        limits.objectByteCount = 40 << 10
        limits.transactionByteCount = 44 << 10
        limits.blockByteCount = 8 << 10
        limits.overheadByteCount = 8 << 10
        limits.objectElementCount = 4_000
        limits.transactionElementCount = 8_000
        limits.uploadElementCount = 10_000
        limits.downloadElementCount = 30_000
        limits.operationCount = 300
        limits.keyByteCount = 64
        limits.listedKeyCount = 500
        limits.classCount = 10
        limits.propertyCount = 20
        limits.schemaPropertyCount = 100
        limits.schemaByteCount = 4 << 10
        return limits
    }()

    private struct Client {
        var isOffline = false
        /// What has arrived and is not read yet; nil while everything is read at once.
        var unread: [[UInt8]]?
        /// The bytes of the uploads, and of what the server has sent.
        var sentByteCount = 0
        var receivedByteCount = 0
        let storage: SQLiteClientStorage
        let engine: ClientEngine
        var connection: ConnectionProtocol?
    }

    let schema: Schema
    private let limits: DataLimits
    let server: SQLiteServerStorage
    private let engine: DatabaseEngine
    private var clients: [Client] = []
    private var time: Int64 = 1_000_000
    /// Why the server closed connections, and why clients left them.
    private(set) var violations: [String] = []
    private(set) var rejections: [(client: Int, rejection: WriteRejection)] = []

    /// - Parameters:
    ///   - clientLimits: the limits of the clients, if they are others.
    ///   - beforehand: what the clients' stores do before they have a server.
    init(
        clientCount: Int, _ schema: Schema, limits: DataLimits = HandDrivenSync.smallLimits,
        clientLimits: DataLimits? = nil, beforehand: (ClientEngine) throws -> Void = { _ in }
    ) throws {
        self.schema = schema
        self.limits = limits
        server = try SQLiteServerStorage.open(.memory, databaseID: ObjectID(high: 1, low: 1))
        var engineLimits = DatabaseLimits()
        engineLimits.data = limits
        engineLimits.pageByteCount = limits.blockByteCount
        engineLimits.frameByteCount = limits.blockByteCount
        engineLimits.server.operationCountMax = UInt64(limits.operationCount)
        var number: UInt64 = 0
        let random: () -> UInt64 = {
            number += 1
            return number
        }
        engine = DatabaseEngine(name: "small", storage: server, limits: engineLimits, random: random)
        for index in 0..<clientCount {
            let storage = try SQLiteClientStorage.open(.memory)
            _ = try storage.transaction { try storage.merge(schema, sides: ("the store", "the models")) }
            var options = ClientOptions()
            options.dataLimits = clientLimits ?? limits
            options.uploadByteCountMax = limits.blockByteCount
            try beforehand(
                ClientEngine(storage: storage, options: options, now: { [unowned self] in now }, random: random))
            options.databaseName = "small"
            let engine = try ClientEngine(
                storage: storage, options: options, now: { [unowned self] in now }, random: random)
            engine.onRejection = { [unowned self] in rejections.append((index, $0)) }
            clients.append(Client(storage: storage, engine: engine))
            engine.handle(.start)
        }
    }

    /// Takes the network from a client, as if it had been cut.
    func cut(_ client: Int) {
        guard !clients[client].isOffline else { return }
        clients[client].isOffline = true
        disconnect(client)
        clients[client].engine.handle(.closed(reason: "cut"))
        _ = clients[client].engine.takeActions()
    }

    /// Gives a client the network again.
    func mend(_ client: Int) {
        guard clients[client].isOffline else { return }
        clients[client].isOffline = false
        clients[client].engine.handle(.reconnect)
    }

    /// Has a client read nothing from now on.
    func pause(_ client: Int) { clients[client].unread = [] }

    /// Has a client read what has arrived meanwhile, and everything that comes.
    ///
    /// - Parameter isTogether: whether it reads everything at once, else frame by frame.
    func goOn(_ client: Int, isTogether: Bool) {
        let unread = clients[client].unread ?? []
        clients[client].unread = nil
        if isTogether { return clients[client].engine.receive(unread) }
        for frame in unread { clients[client].engine.receive([frame]) }
    }

    /// How many frames a client has not read.
    func unreadCount(_ client: Int) -> Int { clients[client].unread?.count ?? 0 }

    func sentByteCount(_ client: Int) -> Int { clients[client].sentByteCount }

    func receivedByteCount(_ client: Int) -> Int { clients[client].receivedByteCount }

    /// Lets time pass.
    func wait(_ microseconds: Int64) { time += microseconds }

    private var now: Timestamp { Timestamp(microseconds: time) }

    func engine(_ client: Int) -> ClientEngine { clients[client].engine }

    func storage(_ client: Int) -> SQLiteClientStorage { clients[client].storage }

    /// Carries everything out until nobody has anything to do.
    func settle() {
        var isBusy = true
        while isBusy {
            time += 1_000
            isBusy = false
            for index in clients.indices {
                for action in clients[index].engine.takeActions() {
                    isBusy = true
                    carryOut(action, of: index)
                }
            }
            if engine.hasWork {
                isBusy = true
                deliver(engine.step(now: now))
                while let reading = engine.takeReading() {
                    reading.run()
                    deliver(engine.handle([.prepared(reading)], now: now))
                }
                if let preparation = engine.takePreparation() {
                    preparation.run()
                    deliver(engine.handle([.prepared(preparation)], now: now))
                }
            }
        }
    }

    private func carryOut(_ action: ClientAction, of index: Int) {
        guard !clients[index].isOffline else { return }
        switch action {
        case .connect:
            var announced = ServerLimits()
            announced.frameLengthMax = UInt64(limits.frameByteCount)
            announced.expandedLengthMax = UInt64(limits.expandedByteCount)
            announced.operationCountMax = UInt64(limits.operationCount)
            clients[index].connection = ConnectionProtocol(
                limits: announced, dataLimits: limits, login: DevelopmentLogin())
            clients[index].engine.handle(.opened())
        case .disconnect:
            violations.append("client \(index) left: \(clients[index].engine.lastProblem ?? "")")
            disconnect(index)
        case .reconnect: clients[index].engine.handle(.reconnect)
        case .renew, .probe: break
        case .storePostponed: clients[index].engine.handle(.storePostponed)
        case .send(let frame):
            clients[index].sentByteCount += frame.count
            for action in clients[index].connection?.receive(frame, now: now) ?? [] {
                switch action {
                case .send(let frame): clients[index].engine.handle(.received(frame))
                case .open(let session, _, let open, let user, _):
                    deliver(engine.handle([.open(id(index, session), open, user)], now: now))
                case .deliver(let session, _, _, let messages, _):
                    deliver(engine.handle([.messages(id(index, session), messages)], now: now))
                case .authenticate, .renewed, .forget, .expel: violations.append("a login that takes time")
                case .close(let reason):
                    violations.append(reason)
                    disconnect(index)
                }
            }
        }
    }

    private func id(_ index: Int, _ session: UInt64) -> SessionID {
        SessionID(connection: UInt64(index), session: session)
    }

    private func disconnect(_ index: Int) {
        for session in clients[index].connection?.sessions.keys.sorted() ?? [] {
            deliver(engine.handle([.closed(id(index, session))], now: now))
        }
        clients[index].connection = nil
        if clients[index].unread != nil { clients[index].unread = [] }
    }

    private func deliver(_ actions: [DatabaseAction]) {
        for action in actions {
            switch action {
            case .send(let frame, let connection): receive(frame, Int(connection))
            case .broadcast(let frame, let connections), .offer(let frame, let connections):
                for connection in connections { receive(frame, Int(connection)) }
            case .consult: break
            case .end(let id, _): clients[Int(id.connection)].connection?.ended(session: id.session)
            }
        }
    }

    private func receive(_ frame: [UInt8], _ index: Int) {
        guard clients[index].connection != nil else { return }
        if frame.count > limits.frameByteCount { violations.append("a frame of \(frame.count) bytes") }
        clients[index].receivedByteCount += frame.count
        guard clients[index].unread == nil else {
            clients[index].unread?.append(frame)
            return
        }
        clients[index].engine.handle(.received(frame))
    }
}
