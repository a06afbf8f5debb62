import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceServer

/// Text messages of clients in the JSON form, and the operations of their writes.
enum JSONMessageTarget {
    private static let schema: Schema = {
        do {
            return try Schema([
                ClassSchema(
                    "Car", primaryKey: "vin",
                    properties: [
                        Property("vin", .scalar(.string)), Property("price", .scalar(.double)),
                        Property("doors", .scalar(.int)),
                        Property("tags", PropertyType(.scalar(.string), container: .list)),
                        Property("rooms", PropertyType(.scalar(.int), container: .map)),
                        Property("dealer", .link("Dealer")),
                    ]),
                ClassSchema("Dealer", properties: [Property("since", .scalar(.date))]),
            ])
        } catch { preconditionFailure("\(error)") }
    }()

    static func run(_ bytes: [UInt8]) {
        let message: JSONRequest
        do throws(JSONRequestError) { message = try JSONRequest(bytes) } catch {
            precondition((error.position ?? 0) <= bytes.count, "a fault beyond the text")
            precondition(!error.message.isEmpty)
            return
        }
        precondition((try? JSONRequest(bytes)) == message, "the same text is another message")
        switch message {
        case .open(let open):
            if let client = open.client { precondition(JSONClientName(client.text) == client) }
        case .write(_, let operations, let count):
            guard let lines = try? JSONParser.parse(operations), let array = lines.array else {
                preconditionFailure("the operations are no array")
            }
            precondition(array.count == count)
            let parser = WriteRequestParser(schema: schema)
            for line in array { _ = try? parser.parse(line) }
        case .subscribe, .unsubscribe, .ask, .deploy, .job, .renew: break
        }
    }
}
