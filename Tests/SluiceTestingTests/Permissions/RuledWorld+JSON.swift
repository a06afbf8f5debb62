import SluiceJSON
import SluiceModel
import SluiceStorage
import SluiceTesting
import SluiceWire

@testable import SluiceServer

/// Clients of the JSON form in a ``RuledWorld``. What they are sent is judged by the same reading of the rules as what
/// stores are sent, and once more as the text that it becomes.
extension RuledWorld {
    func addReader(_ user: String) -> JSONReader {
        let reader = JSONReader(user)
        readers.append(reader)
        connect(reader)
        return reader
    }

    func connect(_ reader: JSONReader) {
        connectionCount += 1
        let features: Features = [.aggregates, .light]
        var machine = ConnectionProtocol(limits: ServerLimits(), offered: features, login: DevelopmentLogin())
        _ = machine.receive([.hello(.init(features: features, agent: "reader"))], byteCount: 0, now: now)
        reader.connect(connectionCount, machine, now: now)
        settle()
    }

    func disconnect(_ reader: JSONReader) {
        reader.disconnect()
        deliver(engine.handle([.closed(SessionID(connection: reader.number, session: 1))], now: now))
        settle()
    }

    /// Carries out what readers have asked for.
    ///
    /// - Returns: whether there was anything.
    func serveReaders() -> Bool {
        var isBusy = false
        for reader in readers {
            let requests = reader.takeRequests()
            guard !requests.isEmpty else { continue }
            isBusy = true
            for action in reader.perform({ $0.receive(requests, byteCount: 0, now: now) }) {
                carryOut(action, of: reader)
            }
        }
        return isBusy
    }

    private func carryOut(_ action: ConnectionProtocol.Action, of reader: JSONReader) {
        func id(_ session: UInt64) -> SessionID { SessionID(connection: reader.number, session: session) }
        switch action {
        case .send(let frame): receive(frame, by: reader)
        case .open(let session, _, let open, _, _):
            deliver(engine.handle([.open(id(session), open, identity(self[reader.user]))], now: now))
        case .deliver(let session, _, _, let messages, _):
            deliver(engine.handle([.messages(id(session), messages)], now: now))
        case .authenticate, .renewed, .forget, .expel: problems.append("a login that takes time")
        case .close(let reason): problems.append(reason)
        }
    }

    func receive(_ frame: [UInt8], by reader: JSONReader) {
        guard reader.machine != nil else { return }
        do {
            for message in try Frame.decode(frame, as: ServerMessage.self) { try judge(message, to: self[reader.user]) }
            reader.receive(frame)
            for (className, key) in reader.apply() {
                guard let classIndex = server.schema.index(of: className),
                    let named = server.schema[classIndex].key(key.filter { $0 != "\"" })
                else {
                    problems.append("\(reader.user) reads of \(className) \(key), which nobody has")
                    continue
                }
                if try !mayRead(self[reader.user], ObjectRef(classIndex, named)) {
                    problems.append("\(reader.user) reads \(className) \(key)")
                }
            }
        } catch { problems.append("\(error)") }
    }
}
