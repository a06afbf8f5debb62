import SluiceExchange
import SluiceJSON
import SluiceTransport
import Synchronization

/// A client of the JSON form that sends the texts that a test gives it, and keeps those that arrive.
final class JSONClient: MessageConnectionDelegate {
    private let received: AsyncStream<JSONValue>
    private let continuation: AsyncStream<JSONValue>.Continuation
    private let error = Mutex<TransportError?>(nil)
    private let connection = Mutex<(any MessageConnection)?>(nil)

    init() { (received, continuation) = AsyncStream.makeStream() }

    /// Connects in memory.
    convenience init(
        _ network: LoopbackNetwork, _ url: String = "ws://server/any", headers: HTTPHeaders = [:]
    ) throws {
        self.init()
        var headers = headers
        headers.append("Sec-WebSocket-Protocol", "sluice.json.1")
        let made = network.connect(to: try Endpoint(url), headers: headers, delegate: self)
        connection.withLock { $0 = made }
    }

    func send(_ text: String) { connection.withLock { $0 }?.send(SharedBuffer(text: Array(text.utf8))) }

    func close() { connection.withLock { $0 }?.close() }

    /// Waits for the next message; nil once the connection has ended.
    func next() async -> JSONValue? {
        for await message in received { return message }
        return nil
    }

    /// Waits for the next message of a type, and drops those before it.
    func next(_ type: String) async -> JSONValue? {
        while let message = await next() { if message["type"]?.string == type { return message } }
        return nil
    }

    /// Waits for the change that completes a subscription, or changes one that is complete.
    func change() async -> JSONValue? {
        while let message = await next("change") { if message["state"]?.string == "complete" { return message } }
        return nil
    }

    /// Waits for the end of the connection, and returns its error.
    func end() async -> TransportError? {
        for await _ in received {}
        return error.withLock { $0 }
    }

    func connection(_ connection: any MessageConnection, didReceive message: UnsafeRawBufferPointer) {
        let text = String(decoding: message, as: UTF8.self)
        continuation.yield((try? JSONParser.parse(text)) ?? .string(text))
    }

    func connection(_ connection: any MessageConnection, didCloseWith error: TransportError?) {
        self.error.withLock { $0 = error }
        continuation.finish()
    }
}

extension JSONValue {
    /// The rows of a change: what each has, but for its id and place, as JSON.
    var put: [String] {
        (self["put"]?.array ?? []).map { row in
            guard case .object(let members) = row else { return row.text }
            return JSONValue.object(members.filter { !["@id", "@sort", "@class"].contains($0.name) }).text
        }
    }

    /// The keys of the rows of a change, in the order of their places.
    var keysInOrder: [String] {
        (self["put"]?.array ?? []).sorted { ($0["@sort"]?.string ?? "") < ($1["@sort"]?.string ?? "") }
            .map { $0["@key"]?.text ?? "" }
    }
}
