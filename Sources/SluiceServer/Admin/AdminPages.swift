internal import SluiceJSON
internal import SluiceModel
internal import SluiceTransport

/// What the admin socket answers: to the operator alone, since the socket is a file of the server's user.
struct AdminPages: Sendable {
    /// The most bytes of a question.
    private static let bodyByteCountMax = 1 << 16

    let administration: Administration
    let sessions: @Sendable () async -> JSONText
    /// Ends a session; false if there is none of that name.
    let endSession: @Sendable (String) -> Bool
    let top: @Sendable () async -> JSONText
    let drain: @Sendable () -> Void

    /// Adds the pages.
    func add(to routes: inout WebRoutes) {
        add("GET", "/sessions", to: &routes) { _ in .ok(await sessions()) }
        add("GET", "/top", to: &routes) { _ in .ok(await top()) }
        add("POST", "/sessions/end", to: &routes) { body in
            guard case .string(let id)? = body["session"] else {
                return .refused(400, "name a session: {\"session\":\"7.1\"}")
            }
            guard endSession(id) else { return .refused(404, "there is no session '\(id)'; it may have ended") }
            return .ok(.object([("ended", .string(id))]))
        }
        add("GET", "/log-level", to: &routes) { _ in .ok(levels) }
        add("POST", "/log-level", to: &routes) { body in setLevels(body) }
        add("POST", "/reload", to: &routes) { _ in
            do { return .text(200, try await administration.reload()) } catch { return .refused(409, "\(error)") }
        }
        add("POST", "/drain", to: &routes) { _ in
            drain()
            return .ok(.object([("state", .string("draining"))]))
        }
    }

    private enum Answer {
        case text(Int, String)

        static func ok(_ json: JSONText) -> Answer { .text(200, json.text) }

        static func refused(_ status: Int, _ reason: String) -> Answer {
            .text(status, JSONText.object([("error", .string(reason))]).text)
        }
    }

    private func add(
        _ method: String, _ path: String, to routes: inout WebRoutes,
        _ answer: @escaping @Sendable ([String: JSONValue]) async -> Answer
    ) {
        routes.add(method, path, bodyByteCountMax: method == "GET" ? 0 : Self.bodyByteCountMax) { exchange in
            Task {
                let (status, json): (Int, String)
                if let body = Self.members(exchange.body) {
                    switch await answer(body) {
                    case .text(let code, let text): (status, json) = (code, text)
                    }
                } else {
                    (status, json) = (400, "{\"error\":\"the body is no JSON object\"}")
                }
                exchange.respond(HTTPResponse(status: status, type: "application/json", json + "\n"))
            }
        }
    }

    /// The members of an object; none of an empty text, and nil for anything else.
    private static func members(_ body: [UInt8]) -> [String: JSONValue]? {
        if body.isEmpty { return [:] }
        guard let text = String(validating: body, as: UTF8.self),
            case .object(let members)? = try? JSONParser.parse(text)
        else { return nil }
        return Dictionary(members.map { ($0.name, $0.value) }) { _, last in last }
    }

    // MARK: Levels

    private var levels: JSONText {
        let levels = administration.levels
        let domains = levels.domains.sorted { $0.key.description < $1.key.description }
        return .object([
            ("level", .string(levels.level.rawValue)),
            ("domains", .object(domains.map { ($0.key.description, .string($0.value?.rawValue ?? "off")) })),
        ])
    }

    private func setLevels(_ body: [String: JSONValue]) -> Answer {
        let old = administration.levels
        var (level, domains) = (old.level, old.domains)
        switch body["level"] {
        case nil: break
        case .string(let text)?:
            guard let known = LogLevel(rawValue: text) else { return .refused(400, Self.unknown(text)) }
            level = known
        default: return .refused(400, "level is a text")
        }
        switch body["domains"] {
        case nil: break
        case .object(let members)?:
            domains = [:]
            for member in members {
                guard let domain = LogDomain.all.first(where: { $0.description == member.name }) else {
                    let known = LogDomain.all.map(\.description).joined(separator: ", ")
                    return .refused(400, "'\(member.name)' is no domain; the domains are \(known)")
                }
                guard case .string(let text) = member.value else { return .refused(400, "a level is a text") }
                if text == "off" {
                    domains.updateValue(nil, forKey: domain)
                } else if let known = LogLevel(rawValue: text) {
                    domains[domain] = .some(known)
                } else {
                    return .refused(400, Self.unknown(text))
                }
            }
        default: return .refused(400, "domains is an object, such as {\"network\":\"warning\"}")
        }
        administration.levels.set(level, domains: domains)
        return .ok(levels)
    }

    private static func unknown(_ level: String) -> String {
        "'\(level)' is no level; the levels are \(LogLevel.allCases.map(\.rawValue).joined(separator: ", "))"
    }
}
