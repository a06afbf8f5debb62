internal import SluiceExchange
internal import SluiceModel
internal import SluiceWire

/// The texts of the server's messages other than changes: PROTOCOL.md, "The JSON form".
enum JSONMessage {
    /// Writes an object with a member `type`.
    static func make(_ type: StaticString, _ body: (inout JSONWriter) -> Void = { _ in }) -> [UInt8] {
        var writer = JSONWriter(quotesLargeIntegers: true)
        writer.raw("{\"type\":\"")
        writer.raw(type)
        writer.raw("\"")
        body(&writer)
        writer.raw("}")
        return writer.bytes
    }

    static func error(
        _ code: ErrorCode, _ message: String, subscription: UInt64? = nil, ask: UInt64? = nil, position: UInt64? = nil,
        action: ErrorAction? = nil, wait: UInt64 = 0
    ) -> [UInt8] {
        make("error") { writer in
            if let subscription { writer.member("id", subscription) }
            if let ask { writer.member("ask", ask) }
            writer.member("code", code.rawValue)
            writer.member("message", message)
            if let position { writer.member("position", position) }
            if let action { writer.member("action", "\(action)") }
            if wait > 0 { writer.member("wait", wait) }
        }
    }

    /// What a message that cannot be read is answered with.
    static func error(_ error: JSONRequestError, subscription: UInt64? = nil, ask: UInt64? = nil) -> [UInt8] {
        Self.error(
            .protocolViolation, error.message, subscription: subscription, ask: ask,
            position: error.position.map(UInt64.init), action: .report)
    }

    static func opened(
        _ opened: ServerMessage.Opened, client: JSONClientName, database: String, time: Timestamp, _ schema: Schema
    ) -> [UInt8] {
        make("opened") { writer in
            writer.member("client", client.text)
            writer.member("outcome", "\(opened.outcome)")
            writer.name("user", isFirst: false)
            if let user = opened.userID { writer.string(user) } else { writer.raw("null") }
            writer.member("database", database)
            writer.member("v", opened.version)
            writer.member("acknowledged", opened.acknowledged)
            writer.name("rejected", isFirst: false)
            writer.array(opened.rejections) { writer, rejection in
                writer.raw("{")
                writer.name("seq", isFirst: true)
                writer.integer(rejection.sequence)
                write(rejection, schema, to: &writer)
                writer.raw("}")
            }
            write(schema, to: &writer)
            writer.member("time", time.description)
        }
    }

    static func rejected(_ rejection: ServerMessage.Rejection, _ schema: Schema) -> [UInt8] {
        make("rejected") { writer in
            writer.member("seq", rejection.sequence)
            write(rejection, schema, to: &writer)
        }
    }

    /// Rejects a transaction as a whole.
    static func rejected(_ sequence: UInt64, _ code: ErrorCode, _ message: String) -> [UInt8] {
        make("rejected") { writer in
            writer.member("seq", sequence)
            writer.member("code", code.rawValue)
            writer.member("message", message)
            writer.raw(",\"objects\":[]")
        }
    }

    static func acknowledged(_ sequence: UInt64, at version: UInt64) -> [UInt8] {
        make("ack") { writer in
            writer.member("seq", sequence)
            writer.member("v", version)
        }
    }

    static func schema(_ schema: Schema) -> [UInt8] { make("schema") { write(schema, to: &$0) } }

    static func login(_ login: ServerMessage.Login) -> [UInt8] {
        make("login") { writer in
            if let until = login.expiresAt { writer.member("until", until.description) }
            if let credential = login.credential, credential.kind == .session {
                writer.member("session", String(decoding: credential.payload, as: UTF8.self))
            }
        }
    }

    // MARK: Parts

    private static func write(
        _ rejection: ServerMessage.Rejection, _ schema: Schema, to writer: inout JSONWriter
    ) {
        let first = rejection.reasons.first
        writer.member("code", first?.code.rawValue ?? ErrorCode.invalidOperation.rawValue)
        writer.member("message", first?.message ?? "")
        writer.name("objects", isFirst: false)
        writer.array(rejection.reasons.filter { $0.object != nil }) { writer, reason in
            guard let object = reason.object else { return }
            writer.raw("{")
            writer.object(object, schema)
            writer.member("code", reason.code.rawValue)
            writer.member("message", reason.message)
            writer.raw("}")
        }
    }

    private static func write(_ schema: Schema, to writer: inout JSONWriter) {
        writer.name("schema", isFirst: false)
        writer.raw("{\"classes\":")
        writer.array(schema.classes.filter { !$0.isRetired && !$0.isLocal }) { writer, declared in
            writer.raw("{\"name\":")
            writer.string(declared.name)
            writer.name("key", isFirst: false)
            if let key = declared.primaryKey { writer.string(key) } else { writer.raw("null") }
            writer.name("properties", isFirst: false)
            writer.array(declared.properties.filter { !$0.isRetired }) { writer, property in
                writer.raw("{\"name\":")
                writer.string(property.name)
                writer.member("type", property.type.jsonName)
                if property.type.isOptional { writer.raw(",\"optional\":true") }
                if let target = property.type.targetClass { writer.member("target", target) }
                writer.raw("}")
            }
            writer.raw("}")
        }
        writer.raw("}")
    }
}

extension PropertyType {
    /// The type as the JSON form names it: `int`, `link`, `list<string>` …
    var jsonName: String {
        let element =
            switch element {
            case .scalar(let type): type == .objectID ? "objectId" : type.rawValue
            case .link: "link"
            }
        return container == .single ? element : "\(container)<\(element)>"
    }
}

extension JSONWriter {
    mutating func member(_ name: String, _ text: String) {
        self.name(name, isFirst: false)
        string(text)
    }

    mutating func member(_ name: String, _ number: UInt64) {
        self.name(name, isFirst: false)
        integer(number)
    }

    /// The class of an object, and its primary key or id, as the first members of an object.
    mutating func object(_ object: ObjectRef, _ schema: Schema) {
        let declared = schema.classes.indices.contains(object.classIndex) ? schema[object.classIndex] : nil
        raw("\"class\":")
        string(declared?.name ?? "")
        name(declared?.primaryKey == nil ? "@id" : "key", isFirst: false)
        write(object.key)
    }
}
