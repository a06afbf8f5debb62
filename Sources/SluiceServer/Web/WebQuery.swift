internal import SluiceExchange
internal import SluiceModel
internal import SluiceQuery
internal import SluiceStorage
internal import SluiceTransport
internal import SluiceWire
internal import Synchronization

/// One query by HTTP: a session that reads subscribes, waits until it is complete, and answers with the rows of that
/// version in their order, or with what the query computes.
///
/// Memory holds a page and a piece of the answer: rows go to ``SortedLines`` as they come, and from there to the peer as
/// it takes them.
final class WebQuery: Sendable {
    /// The most bytes of an answer's rows, so that a request does not fill the disk.
    static let byteCountMax = 1 << 30
    private static let pieceByteCount = 1 << 16

    private struct State {
        var schema = Schema()
        var query = ""
        /// The rows; nil while there are none.
        var lines: SortedLines?
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
                do throws(StorageError) { try receive(message, &state, &send) } catch {
                    fail(.gathering(error), &state)
                }
                if state.lines?.byteCount ?? 0 > Self.byteCountMax {
                    let message =
                        "the results take more than \(Self.byteCountMax) bytes; ask for fewer, with a LIMIT or EXCLUDE"
                    fail(WebFailure(400, .limitExceeded, message), &state)
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
        state.lines = nil
        exchange.respond(failure.response.adding(headers))
    }

    private func receive(
        _ message: ServerMessage, _ state: inout State, _ send: inout [ClientMessage]
    ) throws(StorageError) {
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
            try take(page.content, &state)
            exchange.noteWork()
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
        // Nothing of it is part of the answer: the session asks one query, and is over once that is complete.
        case .hello, .commit, .listMembers, .digest, .login, .context, .withdrawn, .rejected, .error, .message, .report,
            .reportError:
            break
        }
    }

    // MARK: Rows

    private func take(_ block: ViewBlock, _ state: inout State) throws(StorageError) {
        let schema = state.schema
        func name(_ object: ObjectRef) -> String {
            Identity(className: schema[object.classIndex].name, key: object.key).objectID.description
        }
        let lines: SortedLines
        if let made = state.lines { lines = made } else { lines = try SortedLines() }
        state.lines = lines
        for departure in block.departures where departure.role != .linked { try lines.remove(name(departure.object)) }
        for group in block.objects.groups where group.role == .root {
            for row in 0..<group.count {
                let object = ObjectRef(group.classIndex, group.keys[row])
                let id = name(object)
                var writer = JSONWriter()
                writer.raw("{\"@id\":")
                writer.string(id)
                group.write(propertiesOf: row, schema[group.classIndex], to: &writer)
                writer.raw("}")
                writer.endLine()
                try lines.set(writer.bytes, named: id, at: state.places.removeValue(forKey: object) ?? "")
            }
        }
        // Results that stand elsewhere by now.
        for (object, place) in state.places { try lines.move(name(object), to: place) }
        state.places = [:]
    }

    // MARK: The answer

    private func answer(_ complete: ServerMessage.Complete, _ state: inout State) {
        state.isDone = true
        let end = Self.end(of: state.query, complete.figures, state.schema)
        var head: HTTPHeaders = [
            "Content-Type": "application/jsonl; charset=utf-8", "Cache-Control": "no-store",
            "X-Content-Type-Options": "nosniff", "Sluice-Version": "\(complete.version)",
        ]
        for field in headers.fields { head.append(field.name, field.value) }
        Task { [head] in
            guard exchange.begin(status: 200, head) else { return }
            do throws(StorageError) {
                while let piece = try next() { guard await exchange.write(piece) else { return } }
            } catch { return exchange.abort() }
            if !end.isEmpty { guard await exchange.write(end) else { return } }
            exchange.end()
        }
    }

    private func next() throws(StorageError) -> [UInt8]? {
        try state.withLock { state throws(StorageError) in
            try state.lines?.next(byteCount: Self.pieceByteCount)
        }
    }

    /// What follows the rows: the total, or all groups.
    private static func end(of text: String, _ figures: [Value]?, _ schema: Schema) -> [UInt8] {
        guard let figures else { return [] }
        if let query = try? Query.parse(text, schema: schema), let groups = JSONFigures(figures, of: query) {
            return groups.lines.flatMap { $0 }
        }
        if case .int(let total)? = figures.first { return JSONWriter.line(ofTotal: total) }
        return []
    }
}

extension WebFailure {
    fileprivate static func gathering(_ error: StorageError) -> WebFailure {
        WebFailure(
            503, .overloaded,
            "the answer could not be gathered in the server's folder for temporary files: \(error.message)")
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
