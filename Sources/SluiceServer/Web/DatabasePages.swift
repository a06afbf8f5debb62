internal import FoundationEssentials
internal import SluiceExchange
internal import SluiceJSON
internal import SluiceModel
internal import SluiceQuery
internal import SluiceTransport
internal import SluiceWire

/// `GET /DATABASE/query` and `POST /DATABASE/write`: for programs and people that send one request. Each is a session of
/// its own, of the user that the header `Authorization` proves, and so keeps to rules and quotas as any other. None makes a
/// database: it cannot declare classes.
struct DatabasePages: Sendable {
    let door: WebSocketDoor
    let origins: WebOrigins
    let limits: ServerLimits

    /// Adds the pages.
    func add(to routes: inout WebRoutes) {
        add("GET", "query", to: &routes) { exchange, database in query(exchange, database) }
        add("POST", "write", bodyByteCountMax: Int(limits.frameLengthMax), to: &routes) { exchange, database in
            write(exchange, database)
        }
    }

    /// Adds a page, and the answer to a browser that asks whether a page of its own may send the request.
    func add(
        _ method: String, _ name: String, bodyByteCountMax: Int = 0, to routes: inout WebRoutes,
        _ answer: @escaping @Sendable (HTTPExchange, _ database: String) -> Void
    ) {
        routes.add(method, ofDatabases: name, bodyByteCountMax: bodyByteCountMax, answer)
        routes.add("OPTIONS", ofDatabases: name) { exchange, _ in preflight(exchange) }
    }

    // MARK: Pages of browsers

    /// What an answer to a page of a browser has; nil if the page may not have it, which was answered.
    private func admitted(_ exchange: HTTPExchange) -> HTTPHeaders? {
        let request = exchange.request
        guard origins.trustsHost(of: request) else {
            exchange.respond(
                WebFailure(421, .permissionDenied, "this server has no such name; ask it by its address").response)
            return nil
        }
        let site = request.headers["Sec-Fetch-Site"] ?? "none"
        guard request.headers["Origin"] != nil else {
            if ["same-origin", "none"].contains(site) { return ["Vary": "Origin"] }
            exchange.respond(WebFailure(403, .permissionDenied, WebOrigins.refusal).response)
            return nil
        }
        guard let origin = origins.origin(of: request) else {
            exchange.respond(WebFailure(403, .permissionDenied, WebOrigins.refusal).response)
            return nil
        }
        return [
            "Access-Control-Allow-Origin": origin, "Vary": "Origin", "Access-Control-Expose-Headers": "Sluice-Version",
        ]
    }

    /// Answers a browser that asks whether a page may send a request (Fetch, "CORS-preflight fetch").
    private func preflight(_ exchange: HTTPExchange) {
        guard let headers = admitted(exchange) else { return }
        let granted: HTTPHeaders = [
            "Access-Control-Allow-Methods": "GET, POST", "Access-Control-Allow-Headers": "Authorization, Content-Type",
            "Access-Control-Max-Age": "600",
        ]
        exchange.respond(HTTPResponse(status: 204).adding(headers).adding(granted))
    }

    // MARK: Query

    private func query(_ exchange: HTTPExchange, _ database: String) {
        guard let headers = admitted(exchange) else { return }
        let form = WebForm(exchange.request.query ?? "")
        guard let text = form["q"] else {
            return exchange.respond(
                WebFailure(400, .invalidQuery, "the query is missing: /\(database)/query?q=QUERY").response.adding(
                    headers))
        }
        var arguments: [Value] = []
        if let json = form["args"] {
            do {
                guard case .list(let values) = try JSONParser.parse(json).untyped("'args'") else {
                    throw JSONRequestError(message: "'args' is no array")
                }
                arguments = values
            } catch {
                let message = (error as? JSONRequestError)?.message ?? "'args' is no JSON array"
                return exchange.respond(WebFailure(400, .invalidQuery, message).response.adding(headers))
            }
        }
        let given = arguments
        let query = WebQuery(exchange, headers: headers) { schema in
            guard !given.isEmpty else {
                return .subscribe(.init(session: JSONSession.number, subscription: 1, query: text))
            }
            do throws(QueryError) {
                let query = try Query.parse(text, arguments: given, areTextsUntyped: true, schema: schema)
                return .subscribe(
                    .init(session: JSONSession.number, subscription: 1, query: query.canonicalText))
            } catch {
                let refusal = RequestRejection(error)
                let failure = WebFailure(
                    400, refusal.code, refusal.message, position: refusal.position.map(UInt64.init))
                exchange.respond(failure.response.adding(headers))
                return nil
            }
        }
        door.serve(
            exchange.request, from: exchange.peerDescription, in: database, options: [.readOnly, .existing],
            refuse: { exchange.respond($0.response.adding(headers)) }, receive: { query.receive($0) },
            didEnd: { query.end() })
    }

    // MARK: Write

    private func write(_ exchange: HTTPExchange, _ database: String) {
        guard let headers = admitted(exchange) else { return }
        var operations: [JSONValue] = []
        for (number, line) in exchange.body.split(separator: 0x0A, omittingEmptySubsequences: false).enumerated() {
            if line.allSatisfy({ $0 == 0x20 || $0 == 0x0D || $0 == 0x09 }) { continue }
            do throws(JSONError) {
                operations.append(
                    try line.withUnsafeBufferPointer { bytes throws(JSONError) in try JSONParser.parse(bytes) })
            } catch {
                let failure = WebFailure(
                    400, .invalidOperation, "at byte \(error.position): \(error.message)", line: number + 1)
                return exchange.respond(failure.response.adding(headers))
            }
        }
        guard !operations.isEmpty else {
            let failure = WebFailure(400, .invalidOperation, "the body has no line", line: 1)
            return exchange.respond(failure.response.adding(headers))
        }
        let write = WebWrite(
            exchange, headers: headers,
            write: .write(
                .init(
                    session: JSONSession.number, sequence: 1, operations: JSONValue.array(operations).text,
                    operationCount: operations.count)))
        door.serve(
            exchange.request, from: exchange.peerDescription, in: database,
            options: [.shortLived, .existing],
            refuse: { exchange.respond($0.response.adding(headers)) }, receive: { write.receive($0) },
            didEnd: { write.end() })
    }
}
