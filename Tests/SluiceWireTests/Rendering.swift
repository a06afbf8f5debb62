import FoundationEssentials
import SluiceModel

@testable import SluiceWire

/// Renders messages as text in the same way as the client in Python.
enum Rendering {
    static func message(_ message: ServerMessage) -> String {
        switch message {
        case .page(let page):
            "page \(page.session) \(page.subscriptions) \(page.version) \(Int((page.progress * 1000).rounded())) "
                + "\(page.kind.rawValue) "
                + content(page.content)
        case .commit(let commit):
            "commit \(commit.header.session) \(commit.header.version) \(commit.header.acceptedAt.microseconds) "
                + (commit.header.acknowledged.map { "\($0)" } ?? "none") + " "
                + commit.blocks.map { "\($0.subscriptions) \(content($0.content))" }.joined(separator: " ")
                + commit.figures.map { " \($0.subscriptions) \(figures($0.values))" }.joined()
        case .complete(let complete):
            "complete \(complete.session) \(complete.subscription) \(complete.version) "
                + "\(complete.acceptedAt.microseconds) \(complete.kind.rawValue)"
                + (complete.figures.map { " " + figures($0) } ?? "")
        case .opened(let opened): "opened \(opened.session) \(opened.schema.map(schema) ?? "as declared")"
        case .schema(let session, let own): "schema \(session) \(schema(own))"
        case .hello: "hello 0"
        case .subscriptionError(let error): "subscriptionError \(error.session)"
        case .rejected(let rejected): "rejected \(rejected.session)"
        case .error(let failure): "error \(failure.session)"
        case .report(let session, _, _): "report \(session)"
        case .listMembers(let session, let subscription): "listMembers \(session) \(subscription)"
        case .digest(let check): "digest \(check.session) \(check.subscription) \(check.version) \(check.digest)"
        case .login(let login): "login \(login.session)"
        case .context(let context): "context \(context.session)"
        case .withdrawn(let withdrawn):
            "withdrawn \(withdrawn.session) \(withdrawn.request) "
                + withdrawn.content.rows.map { "\($0.object.classIndex) \(value($0.object.key.value))" }
                .joined(separator: ";")
        case .reportError(let error): "reportError \(error.session)"
        case .places(let places): "places \(places.session)"
        case .moved(let moved): "moved \(moved.session) \(Hexadecimal.encode(Array(moved.url.utf8)))"
        case .message(let message):
            "message \(message.session) \(Hexadecimal.encode(Array(message.topic.utf8))) "
                + (message.userID.map { Hexadecimal.encode(Array($0.utf8)) } ?? "none")
                + " \(message.sentAt.microseconds) \(Hexadecimal.encode(message.payload))"
        }
    }

    private static func schema(_ schema: Schema) -> String {
        schema.classes.map { declared in
            let properties = declared.properties.map { property in
                switch property.type.element {
                case .link: "\(property.name):link"
                case .scalar(let type): "\(property.name):\(type.rawValue)"
                }
            }
            return "\(declared.name)/\(declared.primaryKeyIndex ?? -1)(\(properties.joined(separator: ",")))"
        }.joined(separator: ",")
    }

    private static func content(_ content: ViewBlock) -> String {
        let authors = content.authors.map { author in
            let kinds = author.kinds.reduce(0) { $0 | 1 << $1.code }
            return "\(author.version)/\(author.clientID)/\(kinds)/\(author.acceptedAt.microseconds)"
        }
        let rows = content.objects.rows.map { row in
            let values = zip(row.properties, row.values).map { "\($0)=\(value($1))" }
            return "\(row.object.classIndex) \(value(row.object.key.value)) \(row.version) \(row.role) "
                + values.joined(separator: " ")
        }
        let departures = content.departures.map {
            "\($0.object.classIndex) \(value($0.object.key.value)) \($0.role) \($0.reason)"
        }
        return "authors[\(authors.joined(separator: ","))] rows[\(rows.joined(separator: ";"))] "
            + "left[\(departures.joined(separator: ";"))]"
    }

    private static func figures(_ values: [Value]) -> String {
        "figures[" + values.map { value($0) }.joined(separator: ",") + "]"
    }

    private static func value(_ value: Value) -> String {
        switch value {
        case .null: "null"
        case .bool(let value): "bool:\(value)"
        case .int(let value): "int:\(value)"
        case .float(let value): "float:" + (value.isNaN ? "nan" : hex(value.bitPattern))
        case .double(let value): "double:" + (value.isNaN ? "nan" : hex(value.bitPattern))
        case .string(let value): "string:" + Hexadecimal.encode(Array(value.utf8))
        case .data(let value): "data:" + Hexadecimal.encode(value)
        case .date(let value): "date:\(value.microseconds)"
        case .uuid(let value): "uuid:" + Hexadecimal.encode(value.bytes)
        case .objectID(let value): "objectId:\(value)"
        case .decimal(let value): "decimal:" + DecimalText.text(of: value)
        case .link(let key): "link:" + self.value(key.value)
        case .list(let elements): "list(" + elements.map { self.value($0) }.joined(separator: ",") + ")"
        case .set(let elements): "set(" + elements.map { self.value($0) }.joined(separator: ",") + ")"
        case .map(let map):
            "map("
                + map.entries.map { Hexadecimal.encode(Array($0.key.utf8)) + "=" + self.value($0.value) }
                .joined(separator: ",") + ")"
        }
    }

    private static func hex(_ bits: some FixedWidthInteger) -> String {
        withUnsafeBytes(of: bits.bigEndian) { Hexadecimal.encode(Array($0)) }
    }
}
