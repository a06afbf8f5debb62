internal import Glibc
internal import SluiceJSON
internal import SluiceModel
internal import SluiceTransport

/// What the admin socket answers: to the operator alone, since the socket is a file of the server's user.
struct AdminPages: Sendable {
    /// The most bytes of a question.
    private static let bodyByteCountMax = 1 << 16

    let administration: Administration
    let sessions: @Sendable () async -> JSONText
    /// Ends a session for somebody, whom the audit log names so; false if there is none of that name.
    let endSession: @Sendable (_ name: String, _ asker: String) -> Bool
    let top: @Sendable () async -> JSONText
    /// The state of each database.
    let databases: @Sendable () -> JSONText
    let drain: @Sendable () -> Void

    /// Adds the pages.
    func add(to routes: inout WebRoutes) {
        add("GET", "/sessions", to: &routes) { _, _ in .ok(await sessions()) }
        add("GET", "/top", to: &routes) { _, _ in .ok(await top()) }
        add("GET", "/databases", to: &routes) { _, _ in .ok(databases()) }
        add("POST", "/sessions/end", to: &routes) { body, user in
            guard case .string(let id)? = body["session"] else {
                return .refused(400, "name a session: {\"session\":\"7.1\"}")
            }
            guard endSession(id, OperatorName.text(of: user)) else {
                return .refused(404, "there is no session '\(id)'; it may have ended")
            }
            return .ok(.object([("ended", .string(id))]))
        }
        add("GET", "/log-level", to: &routes) { _, _ in .ok(levels) }
        add("POST", "/log-level", to: &routes) { body, _ in setLevels(body) }
        add("POST", "/reload", to: &routes) { _, _ in
            do { return Answer(text: try await administration.reload()) } catch { return .refused(409, "\(error)") }
        }
        add("POST", "/drain", to: &routes) { _, _ in
            drain()
            return .ok(.object([("state", .string("draining"))]))
        }
    }

    private struct Answer {
        var status = 200
        /// JSON.
        let text: String

        static func ok(_ json: JSONText) -> Answer { Answer(text: json.text) }

        static func refused(_ status: Int, _ reason: String) -> Answer {
            Answer(status: status, text: JSONText.object([("error", .string(reason))]).text)
        }
    }

    private func add(
        _ method: String, _ path: String, to routes: inout WebRoutes,
        _ answer: @escaping @Sendable (_ body: [String: JSONValue], _ user: uid_t?) async -> Answer
    ) {
        routes.add(method, path, bodyByteCountMax: method == "GET" ? 0 : Self.bodyByteCountMax) { exchange in
            Task {
                let result =
                    if let body = Self.members(exchange.body) {
                        await answer(body, exchange.peerUser)
                    } else {
                        Answer.refused(400, "the body is no JSON object")
                    }
                exchange.respond(
                    HTTPResponse(status: result.status, type: "application/json", result.text + "\n"))
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
        return .object([
            ("level", .string(levels.level.rawValue)),
            ("domains", .object(levels.domainNames.map { ($0.domain, .string($0.level)) })),
        ])
    }

    /// Sets what the body names; the rest stays.
    private func setLevels(_ body: [String: JSONValue]) -> Answer {
        let old = administration.levels
        var (level, domains) = (old.level, old.domains)
        do throws(LogLevels.UnknownName) {
            switch body["level"] {
            case nil: break
            case .string(let name)?: level = try LogLevels.level(named: name)
            default: return .refused(400, "level is a text")
            }
            switch body["domains"] {
            case nil: break
            case .object(let members)?:
                let names = members.compactMap { member in member.value.string.map { (member.name, $0) } }
                guard names.count == members.count else { return .refused(400, "a level is a text") }
                domains = try LogLevels.domains(named: names)
            default: return .refused(400, "domains is an object, such as {\"network\":\"warning\"}")
            }
        } catch { return .refused(400, error.message) }
        administration.levels.set(level, domains: domains)
        return .ok(levels)
    }
}
