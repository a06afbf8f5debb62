internal import SluiceTransport

/// What a server answers to plain HTTP requests, by path and method. A value without sockets: the door gives it heads of
/// requests, and carries out what it says.
///
/// A path that nobody has answers 404, another method than a path has 405. Who may `GET` something may `HEAD` it.
struct WebRoutes: Sendable {
    private struct Entry {
        var bodyByteCountMax: Int
        var answer: @Sendable (HTTPExchange) -> Void
    }

    private var paths: [String: [String: Entry]] = [:]
    /// The last parts of paths such as `/DATABASE/query`, of which the first part is any name of a database.
    private var ofDatabases: [String: [String: Entry]] = [:]

    /// Adds an answer.
    ///
    /// - Parameters:
    ///   - method: such as `GET`, which also answers `HEAD`.
    ///   - bodyByteCountMax: the longest body that is read.
    ///   - answer: called on the event loop once the request is whole; it may answer later.
    mutating func add(
        _ method: String, _ path: String, bodyByteCountMax: Int = 0,
        _ answer: @escaping @Sendable (HTTPExchange) -> Void
    ) {
        paths[path, default: [:]][method] = Entry(bodyByteCountMax: bodyByteCountMax, answer: answer)
    }

    /// Adds an answer of each database.
    ///
    /// - Parameters:
    ///   - name: the part of the path after the database's name.
    ///   - bodyByteCountMax: the longest body that is read.
    ///   - answer: as for ``add(_:_:bodyByteCountMax:_:)``; it is also given the database's name.
    mutating func add(
        _ method: String, ofDatabases name: String, bodyByteCountMax: Int = 0,
        _ answer: @escaping @Sendable (HTTPExchange, _ database: String) -> Void
    ) {
        ofDatabases[name, default: [:]][method] = Entry(bodyByteCountMax: bodyByteCountMax) { exchange in
            answer(exchange, String(exchange.request.path.split(separator: "/").first ?? ""))
        }
    }

    private func methods(_ path: String) -> [String: Entry]? {
        if let methods = paths[path] { return methods }
        let parts = path.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].isEmpty, DatabaseName.isValid(String(parts[1])) else { return nil }
        return ofDatabases[String(parts[2])]
    }

    /// Says what to do with a request.
    func route(_ request: HTTPRequest) -> HTTPRoute {
        guard let methods = methods(request.path) else { return .notFound }
        guard let entry = methods[request.method == "HEAD" ? "GET" : request.method] else {
            let allowed = methods.keys.flatMap { $0 == "GET" ? ["GET", "HEAD"] : [$0] }.sorted()
            var response = HTTPResponse(
                status: 405, text: "\(request.path) takes \(allowed.joined(separator: ", ")) only")
            response.headers.append("Allow", allowed.joined(separator: ", "))
            return .respond(response)
        }
        return .take(bodyByteCountMax: entry.bodyByteCountMax, answer: entry.answer)
    }
}

extension HTTPRequest {
    /// Whether a page of a browser asks, rather than a program or a person who has typed the address.
    ///
    /// Browsers send `Origin` with whatever may reach another site's page, and the newer ones say how a request came
    /// about (Fetch Metadata, W3C).
    var isOfPage: Bool {
        headers["Origin"] != nil || headers["Sec-Fetch-Mode"].map { $0 != "navigate" } ?? false
    }
}
