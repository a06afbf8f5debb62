import Dispatch
import Sluice
import SluiceModel
import SluiceTransport
import SluiceWire
import Synchronization

/// A server that begins to answer on each connection, and then loses it.
final class ScriptedServer: Sendable {
    /// What the server sends on a connection; connections count from 1.
    typealias Script = @Sendable (_ connection: Int) -> (rows: [Row], isComplete: Bool)

    private let schema: Schema
    private let script: Script
    private let count = Mutex(0)

    init(_ schema: Schema, _ script: @escaping Script) {
        self.schema = schema
        self.script = script
    }

    /// The number of connections so far.
    var connectionCount: Int { count.withLock { $0 } }

    func connect(_ delegate: any MessageConnectionDelegate) -> any MessageConnection {
        let number = count.withLock { count in
            count += 1
            return count
        }
        let connection = Connection(number, self, delegate)
        connection.queue.async { delegate.connectionDidOpen(connection) }
        return connection
    }

    private func answer(_ message: ClientMessage, on connection: Int) -> [ServerMessage]? {
        let now = Timestamp(microseconds: 1)
        switch message {
        case .hello:
            return [.hello(.init(version: 1, features: .all, time: now, limits: ServerLimits(), agent: "script"))]
        case .open:
            return [
                .opened(
                    .init(
                        session: 1, identity: ScriptedSession.identity, outcome: connection == 1 ? .created : .resumed,
                        version: 3, acknowledged: 0, schema: schema))
            ]
        case .subscribe(let request):
            let (rows, isComplete) = script(connection)
            var content = ViewBlock()
            for row in rows { content.objects.append(row, classIndex: 0, role: .root, properties: [0, 1]) }
            let page = ServerMessage.page(
                .init(
                    session: 1, subscriptions: [request.subscription], version: 3, progress: 0.5, content: content))
            let complete = ServerMessage.complete(
                .init(
                    session: 1, subscription: request.subscription, version: 3, acceptedAt: now, kind: .bootstrap,
                    digest: nil))
            return isComplete ? [page, complete] : [page]
        default: return []
        }
    }

    /// One connection; everything happens on its queue, in order.
    private final class Connection: MessageConnection {
        let id: ConnectionID
        let queue = DispatchQueue(label: "scripted server")
        private let server: ScriptedServer
        private let delegate: any MessageConnectionDelegate

        init(_ number: Int, _ server: ScriptedServer, _ delegate: any MessageConnectionDelegate) {
            id = ConnectionID(rawValue: UInt64(number))
            self.server = server
            self.delegate = delegate
        }

        var peerDescription: String { "the script" }
        var queuedBytes: Int { 0 }

        func send(_ message: SharedBuffer) {
            let bytes = message.withUnsafeBytes { Array($0) }
            queue.async { [self] in
                guard let messages = try? Frame.decode(bytes, as: ClientMessage.self) else { return }
                for message in messages {
                    guard let answer = server.answer(message, on: Int(id.rawValue)), !answer.isEmpty else { continue }
                    var frame = FrameBuilder()
                    for message in answer { frame.append(message) }
                    frame.finish().withUnsafeBytes { delegate.connection(self, didReceive: $0) }
                    let isCut = answer.contains { if case .page = $0 { true } else { false } } && answer.count == 1
                    if isCut {
                        delegate.connection(
                            self, didCloseWith: TransportError(.init(rawValue: "cut"), "cut", outlook: .passing))
                    }
                }
            }
        }

        func admit() {}
        func close(code: CloseCode, reason: String) {}
        func abort() {}
        func pauseReceiving(for reason: PauseReason) {}
        func resumeReceiving(after reason: PauseReason) {}
    }
}
