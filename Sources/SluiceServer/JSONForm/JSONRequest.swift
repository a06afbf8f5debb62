internal import SluiceExchange
internal import SluiceJSON
package import SluiceModel
package import SluiceWire

/// A text message of a client: PROTOCOL.md, "The JSON form".
package enum JSONRequest: Hashable, Sendable {
    case open(Open)
    case subscribe(Subscribe)
    case unsubscribe(UInt64)
    case write(sequence: UInt64, operations: String, operationCount: Int)
    case ask(UInt64, ReportTopic, argument: String)
    case deploy(UInt64, file: String, isTrial: Bool)
    case job(UInt64, JSONJobRequest)
    case renew([WireCredentials])

    package typealias ReportTopic = ClientMessage.ReportTopic

    package struct Open: Hashable, Sendable {
        package var client: JSONClientName?
        package var version: UInt64
        package var acknowledged: UInt64
        package var credentials: [WireCredentials]
        package var variables: ValueMap
        package var isReadOnly: Bool
    }

    package struct Subscribe: Hashable, Sendable {
        package var id: UInt64
        package var query: String
        package var arguments: [Value]
        package var since: UInt64?
        /// Whether the client also wants what the results link to.
        package var showsLinks: Bool
    }

    /// The longest message before the session is open, in bytes: credentials, and variables of at most 1 MiB.
    package static let openByteCountMax = 2 << 20

    /// Reads a message.
    ///
    /// - Throws: ``JSONRequestError``; the message then has no effect.
    package init(_ text: [UInt8]) throws(JSONRequestError) {
        let json: JSONValue
        do throws(JSONError) {
            json = try text.withUnsafeBufferPointer { bytes throws(JSONError) in try JSONParser.parse(bytes) }
        } catch {
            throw JSONRequestError(
                message: "the message is no JSON: \(error.message)", position: max(0, error.position - 1))
        }
        guard case .object = json else { throw JSONRequestError(message: "a message is an object", position: 0) }
        guard let type = json["type"]?.string else {
            throw JSONRequestError(message: "a message has a member 'type', a string")
        }
        switch type {
        case "open": self = try Self.open(json)
        case "sub": self = try Self.subscribe(json)
        case "unsub": self = .unsubscribe(try JSONMembers(json, "unsub", known: ["type", "id"]).number("id"))
        case "write": self = try Self.write(json)
        case "ask": self = try Self.ask(json)
        case "renew":
            let members = try JSONMembers(json, "renew", known: ["type", "credentials"])
            guard let credentials = members["credentials"] else {
                throw JSONRequestError(message: "renew lacks its member 'credentials', an object")
            }
            self = .renew([try Self.credentials(credentials)])
        default:
            throw JSONRequestError(
                message:
                    "there is no message '\(type.prefix(64))'; a client sends open, sub, unsub, write, ask or renew")
        }
    }

    private static func open(_ json: JSONValue) throws(JSONRequestError) -> JSONRequest {
        let members = try JSONMembers(
            json, "open", known: ["type", "client", "v", "acknowledged", "credentials", "variables", "readonly"])
        var client: JSONClientName?
        if let name = try members.optionalText("client") {
            client = JSONClientName(name)
            guard client != nil else {
                throw JSONRequestError(message: "'client' of open is none that a server has given")
            }
        }
        var variables = ValueMap()
        if let given = members["variables"] {
            guard case .object(let entries) = given else {
                throw JSONRequestError(message: "'variables' of open is not an object")
            }
            for entry in entries { variables[entry.name] = try entry.value.untyped("'variables'") }
        }
        return .open(
            Open(
                client: client, version: try members.optionalNumber("v") ?? 0,
                acknowledged: try members.optionalNumber("acknowledged") ?? 0,
                credentials: try members["credentials"].map { json throws(JSONRequestError) in
                    [try credentials(json)]
                } ?? [],
                variables: variables, isReadOnly: try members.flag("readonly")))
    }

    private static func credentials(_ json: JSONValue) throws(JSONRequestError) -> WireCredentials {
        let members = try JSONMembers(
            json, "'credentials'", known: ["token", "session", "user", "password", "secret"])
        if let token = try members.optionalText("token") { return WireCredentials(.token, Array(token.utf8)) }
        if let session = try members.optionalText("session") { return WireCredentials(.session, Array(session.utf8)) }
        if members["secret"] != nil { return WireCredentials(.sharedSecret, try members.data("secret")) }
        let (user, password) = (try members.text("user"), try members.text("password"))
        return WireCredentials(.password, Array(user.utf8) + [0] + Array(password.utf8))
    }

    private static func subscribe(_ json: JSONValue) throws(JSONRequestError) -> JSONRequest {
        let members = try JSONMembers(json, "sub", known: ["type", "id", "q", "args", "since", "links"])
        var arguments: [Value] = []
        if members["args"] != nil {
            for argument in try members.array("args") { arguments.append(try argument.untyped("'args'")) }
        }
        let id = try members.number("id")
        guard id > 0 else { throw JSONRequestError(message: "'id' of sub is above 0") }
        return .subscribe(
            Subscribe(
                id: id, query: try members.text("q"), arguments: arguments,
                since: try members.optionalNumber("since"), showsLinks: try members.flag("links")))
    }

    private static func write(_ json: JSONValue) throws(JSONRequestError) -> JSONRequest {
        let members = try JSONMembers(json, "write", known: ["type", "seq", "ops"])
        let sequence = try members.number("seq")
        guard sequence > 0 else { throw JSONRequestError(message: "'seq' of write is above 0") }
        let operations = try members.array("ops")
        return .write(
            sequence: sequence, operations: JSONValue.array(operations).text, operationCount: operations.count)
    }

    private static func ask(_ json: JSONValue) throws(JSONRequestError) -> JSONRequest {
        let members = try JSONMembers(json, "ask", known: ["type", "id", "report", "argument"])
        let (id, report) = (try members.number("id"), try members.text("report"))
        if report == "deploy" {
            guard let argument = members["argument"] else {
                throw JSONRequestError(message: "deploy needs an argument {\"rules\":TEXT,\"trial\":true|false}")
            }
            let deployment = try JSONMembers(argument, "the argument of deploy", known: ["rules", "trial"])
            return .deploy(id, file: try deployment.text("rules"), isTrial: try deployment.flag("trial"))
        }
        if report == "retry" || report == "discard" {
            guard let argument = members["argument"] else {
                throw JSONRequestError(
                    message: "\(report) needs an argument with members queue or consumer, class and key")
            }
            return .job(id, try job(argument, report))
        }
        guard let topic = ReportTopic(report) else {
            throw JSONRequestError(message: "there is no report '\(report.prefix(64))'")
        }
        let argument =
            switch members["argument"] {
            case nil: ""
            case .string(let text)?: text
            case let json?: json.text
            }
        return .ask(id, topic, argument: argument)
    }
}

extension JSONRequest {
    /// What a message is about, as far as it can be read.
    enum Subject: Hashable {
        case subscription(UInt64)
        case question(UInt64)
        case write(sequence: UInt64)

        /// - Returns: nil for a message that has no number, or none that can be read.
        init?(_ text: [UInt8]) {
            let members = text.withUnsafeBufferPointer { JSONParser.leadingMembers($0) }
            func value(_ name: String) -> JSONValue? { members.first { $0.name == name }?.value }
            let subject: Subject? =
                switch value("type")?.string {
                case "sub"?: value("id")?.safeNumber.map(Self.subscription)
                case "ask"?: value("id")?.safeNumber.map(Self.question)
                case "write"?: value("seq")?.safeNumber.flatMap { $0 > 0 ? .write(sequence: $0) : nil }
                default: nil
                }
            guard let subject else { return nil }
            self = subject
        }
    }

    private static func job(_ json: JSONValue, _ report: String) throws(JSONRequestError) -> JSONJobRequest {
        let members = try JSONMembers(json, "the argument of \(report)", known: ["queue", "consumer", "class", "key"])
        let job: JSONJobRequest.Job
        if let consumer = try members.optionalText("consumer") {
            guard members["queue"] == nil else {
                throw JSONRequestError(message: "the argument of \(report) names a queue or a consumer, and not both")
            }
            job = .consumer(consumer)
        } else {
            job = .queue(try members.text("queue"))
        }
        let key: String
        if case .integer(let number)? = members["key"] { key = String(number) } else { key = try members.text("key") }
        return JSONJobRequest(
            job: job, className: try members.text("class"), key: key, isRetried: report == "retry")
    }
}

extension ClientMessage.ReportTopic {
    /// The name of each report.
    private static let names: [String: ClientMessage.ReportTopic] = [
        "status": .status, "subscriptions": .subscriptions, "explain": .explain, "schema": .schema, "rules": .rules,
        "privileges": .privileges, "verdict": .verdict, "explainAs": .explainAs, "top": .top,
        "sessions": .sessions, "endSession": .endSession, "databases": .databases, "health": .health,
        "metrics": .metrics, "log": .log, "consumers": .consumers, "queues": .queues, "dead": .dead,
    ]

    init?(_ name: String) {
        guard let topic = Self.names[name] else { return nil }
        self = topic
    }
}
