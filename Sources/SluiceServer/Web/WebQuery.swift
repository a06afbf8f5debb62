internal import SluiceExchange
internal import SluiceModel
internal import SluiceQuery
internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// One query by HTTP: a session that reads subscribes, waits until it is complete, and answers with the rows of that
/// version in their order.
final class WebQuery: Sendable {
    /// The most bytes of an answer's rows.
    static let byteCountMax = 64 << 20

    private struct State {
        var schema = Schema()
        var query = ""
        var rows: [ObjectRef: (place: String, line: [UInt8])] = [:]
        var byteCount = 0
        var places: [ObjectRef: String] = [:]
        var isDone = false
    }

    private let exchange: HTTPExchange
    private let subscribe: @Sendable (Schema) -> ClientMessage?
    private let headers: HTTPHeaders
    private let state = Mutex(State())

    /// - Parameters:
    ///   - headers: what every answer has.
    ///   - subscribe: makes the request for a schema; nil if it has answered that it cannot.
    init(_ exchange: HTTPExchange, headers: HTTPHeaders, subscribe: @escaping @Sendable (Schema) -> ClientMessage?) {
        self.exchange = exchange
        self.headers = headers
        self.subscribe = subscribe
    }

    /// Takes messages of the server.
    ///
    /// - Returns: what to send, and whether the session is over.
    func receive(_ messages: [ServerMessage]) -> (send: [ClientMessage], isDone: Bool) {
        state.withLock { state in
            var send: [ClientMessage] = []
            for message in messages where !state.isDone {
                receive(message, &state, &send)
                if state.byteCount > Self.byteCountMax {
                    fail(
                        WebFailure(
                            400, .limitExceeded,
                            "the results take more than \(Self.byteCountMax) bytes; ask for fewer, with a LIMIT or EXCLUDE"
                        ),
                        &state)
                }
            }
            return (send, state.isDone)
        }
    }

    /// The connection has ended before there was an answer.
    func end() {
        state.withLock { state in
            if !state.isDone { fail(WebFailure(503, .shuttingDown, "the session has ended; try again"), &state) }
        }
    }

    private func fail(_ failure: WebFailure, _ state: inout State) {
        state.isDone = true
        state.rows = [:]
        exchange.respond(failure.response.adding(headers))
    }

    private func receive(_ message: ServerMessage, _ state: inout State, _ send: inout [ClientMessage]) {
        switch message {
        case .opened(let opened):
            state.schema = opened.schema ?? Schema()
            guard let request = subscribe(state.schema) else {
                state.isDone = true
                return
            }
            if case .subscribe(let subscribe) = request { state.query = subscribe.query }
            send.append(request)
        case .schema(_, let schema): state.schema = schema
        case .places(let places): for row in places.rows { state.places[row.object] = row.key }
        case .page(let page):
            take(page.content, &state)
            send.append(.credit(session: JSONSession.number, pages: 1))
        case .complete(let complete): answer(complete, &state)
        case .error(let failure) where failure.action != .report:
            fail(WebFailure(failure.code, failure.message, failure.action), &state)
        case .subscriptionError(let error):
            fail(WebFailure(error.code, error.message, .report, position: error.position), &state)
        case .moved(let moved):
            var response = WebFailure(503, .shuttingDown, "the database is served at \(moved.url)").response
            response.headers.append("Retry-After", "1")
            state.isDone = true
            exchange.respond(response.adding(headers))
        default: break
        }
    }

    private func take(_ block: ViewBlock, _ state: inout State) {
        for departure in block.departures {
            if let former = state.rows.removeValue(forKey: departure.object) { state.byteCount -= former.line.count }
        }
        for group in block.objects.groups where group.role == .root {
            let declared = state.schema[group.classIndex]
            for position in 0..<group.count {
                let object = ObjectRef(group.classIndex, group.keys[position])
                var writer = JSONWriter()
                writer.raw("{\"@id\":")
                writer.string(Identity(className: declared.name, key: object.key).objectID.description)
                for (property, value) in zip(group.positions, group.values(at: position))
                where declared.properties.indices.contains(property) && !declared.properties[property].isRetired {
                    writer.name(declared.properties[property].name, isFirst: false)
                    writer.write(value)
                }
                writer.raw("}")
                writer.endLine()
                let place = state.places.removeValue(forKey: object) ?? ""
                let former = state.rows.updateValue((place, writer.bytes), forKey: object)
                state.byteCount += writer.bytes.count - (former?.line.count ?? 0)
            }
        }
        // Results that stand elsewhere by now.
        for (object, place) in state.places { state.rows[object]?.place = place }
        state.places = [:]
    }

    private func answer(_ complete: ServerMessage.Complete, _ state: inout State) {
        state.isDone = true
        var lines = state.rows.values.sorted { UTF8Order.less($0.place, $1.place) }.map(\.line)
        state.rows = [:]
        if let figures = complete.figures {
            let query = try? Query.parse(state.query, schema: state.schema)
            if let groups = query.flatMap({ JSONFigures(figures, of: $0) }) {
                lines = groups.lines
            } else if case .int(let total)? = figures.first {
                lines.append(Array("{\"@total\":\(total)}\n".utf8))
            }
        }
        let (exchange, headers, version) = (exchange, headers, complete.version)
        let body = lines
        Task {
            var head: HTTPHeaders = [
                "Content-Type": "application/jsonl; charset=utf-8", "Cache-Control": "no-store",
                "X-Content-Type-Options": "nosniff", "Sluice-Version": "\(version)",
            ]
            for field in headers.fields { head.append(field.name, field.value) }
            guard exchange.begin(status: 200, head) else { return }
            var piece: [UInt8] = []
            for line in body {
                piece += line
                guard piece.count >= 1 << 16 else { continue }
                guard await exchange.write(piece) else { return }
                piece = []
            }
            if !piece.isEmpty { guard await exchange.write(piece) else { return } }
            exchange.end()
        }
    }
}

extension HTTPResponse {
    /// The response with further headers.
    func adding(_ headers: HTTPHeaders) -> HTTPResponse {
        var response = self
        for field in headers.fields { response.headers.append(field.name, field.value) }
        return response
    }
}
