import SluiceExchange
import SluiceJSON
import SluiceModel
import SluiceWire

@testable import SluiceServer

/// A client of the JSON form in a ``RuledWorld``: what a web page keeps of it.
final class JSONReader {
    /// The results of one query.
    struct Results {
        let query: String
        var isComplete = false
        var version: UInt64 = 0
        /// The rows by class and key, with their properties as JSON.
        var rows: [String: [String: JSONValue]] = [:]
        /// The total of a query with TOTAL.
        var total: Int64?
        var error: String?
    }

    let user: String
    private(set) var number: UInt64 = 0
    private(set) var machine: ConnectionProtocol?
    private var session = JSONSession(database: "documents") { Timestamp(microseconds: 0) }
    private var client: String?
    private var version: UInt64 = 0
    private var lastID: UInt64 = 0
    private var lastQuestion: UInt64 = 0
    private var acknowledged: UInt64 = 0
    private var sequence: UInt64 = 0
    /// The results by query.
    private(set) var results: [String: Results] = [:]
    private var queries: [UInt64: String] = [:]
    /// The texts that came since ``take()``.
    private var texts: [JSONValue] = []
    /// How many changes it was told.
    private(set) var changeCount = 0
    var isConnected: Bool { machine != nil }
    /// What is to be handled by the connection's machine.
    private(set) var requests: [ClientMessage] = []

    init(_ user: String) { self.user = user }

    /// Begins a connection, and subscribes again to what it had, from where it was.
    func connect(_ number: UInt64, _ machine: ConnectionProtocol, now: Timestamp) {
        self.number = number
        self.machine = machine
        session = JSONSession(database: "documents") { now }
        (lastID, lastQuestion) = (0, 0)
        queries = [:]
        let name = client.map { ",\"client\":\"\($0)\"" } ?? ""
        send("{\"type\":\"open\"\(name),\"v\":\(version),\"acknowledged\":\(acknowledged)}")
        for query in results.keys.sorted() { subscribe(query) }
    }

    func disconnect() { machine = nil }

    func observe(_ query: String) {
        results[query] = Results(query: query)
        if machine != nil { subscribe(query) }
    }

    private func subscribe(_ query: String) {
        lastID += 1
        queries[lastID] = query
        let since = results[query].flatMap { $0.isComplete ? ",\"since\":\($0.version)" : nil } ?? ""
        results[query]?.error = nil
        send("{\"type\":\"sub\",\"id\":\(lastID),\"q\":\"\(query)\"\(since)}")
    }

    /// Sends a transaction.
    func write(_ operations: String) {
        sequence += 1
        send("{\"type\":\"write\",\"seq\":\(sequence),\"ops\":\(operations)}")
    }

    /// Asks the server to store rules.
    func deploy(_ rules: String) {
        lastQuestion += 1
        let argument = JSONValue.object([.init(name: "rules", value: .string(rules))]).text
        send("{\"type\":\"ask\",\"id\":\(lastQuestion),\"report\":\"deploy\",\"argument\":\(argument)}")
    }

    private func send(_ text: String) { take(session.receive(Array(text.utf8))) }

    private func take(_ steps: [JSONSession.Step]) {
        for step in steps {
            switch step {
            case .handle(let message, _): requests.append(message)
            case .reply(let text): texts.append((try? JSONParser.parse(String(decoding: text, as: UTF8.self))) ?? .null)
            }
        }
    }

    /// Removes what is to be handled, and has the machine handle it.
    func perform(_ body: (inout ConnectionProtocol) -> [ConnectionProtocol.Action]) -> [ConnectionProtocol.Action] {
        guard var machine else { return [] }
        defer { self.machine = machine }
        return body(&machine)
    }

    func takeRequests() -> [ClientMessage] {
        defer { requests = [] }
        return requests
    }

    /// Takes a frame of the server as the texts that a socket would carry.
    func receive(_ bytes: [UInt8]) {
        guard machine != nil else { return }
        let frame = OutgoingFrame(bytes)
        let told = session.translate(frame.messages)
        let writer = JSONRowWriter(schema: session.schema, messages: told.messages)
        for piece in told.pieces {
            let text =
                switch piece {
                case .text(let text): text
                case .change(let change): writer.text(of: change)
                }
            texts.append((try? JSONParser.parse(String(decoding: text, as: UTF8.self))) ?? .null)
        }
        take(told.steps)
        if told.pageCount > 0 {
            requests.append(.credit(session: JSONSession.number, pages: UInt64(told.pageCount)))
        }
    }

    /// Applies the texts that have come.
    ///
    /// - Returns: the rows that they brought, each as its class and key.
    func apply() -> [(className: String, key: String)] {
        defer { texts = [] }
        var brought: [(String, String)] = []
        for text in texts {
            switch text["type"]?.string {
            case "opened":
                client = text["client"]?.string
                if text["outcome"]?.string != "resumed" { sequence = 0 }
            case "context":
                client = text["client"]?.string
                // What was refused may be allowed now.
                for query in results.keys.sorted() where results[query]?.error != nil { subscribe(query) }
            case "ack": if case .integer(let number)? = text["seq"] { acknowledged = UInt64(number) }
            case "change":
                changeCount += 1
                brought += apply(text)
            case "error":
                guard case .integer(let id)? = text["id"], let query = queries[UInt64(id)] else { continue }
                results[query] = Results(query: query, error: text["code"]?.string)
            default: break
            }
        }
        return brought
    }

    private func apply(_ change: JSONValue) -> [(String, String)] {
        var brought: [(String, String)] = []
        guard case .integer(let version)? = change["v"] else { return [] }
        self.version = max(self.version, UInt64(version))
        for id in change["ids"]?.array ?? [] {
            guard case .integer(let id) = id, let query = queries[UInt64(id)], var found = results[query] else {
                continue
            }
            if change["reset"] == .bool(true) { found.rows = [:] }
            for gone in change["gone"]?.array ?? [] where gone["@linked"] == nil {
                found.rows[Self.name(gone["class"], gone["key"] ?? gone["@id"])] = nil
            }
            for row in change["put"]?.array ?? [] {
                guard case .object(let members) = row else { continue }
                let (className, key) = (row["@class"], row["@key"] ?? row["@id"])
                // A group is no object.
                if key?.array == nil { brought.append((className?.string ?? "", key?.text ?? "")) }
                guard row["@linked"] == nil else { continue }
                for member in members {
                    found.rows[Self.name(className, key), default: [:]][member.name] = member.value
                }
            }
            if case .integer(let total)? = change["total"] { found.total = total }
            found.isComplete = change["state"] == .string("complete")
            found.version = UInt64(version)
            results[query] = found
        }
        return brought
    }

    private static func name(_ className: JSONValue?, _ key: JSONValue?) -> String {
        "\(className?.string ?? "")/\(key?.text ?? "")"
    }

    /// The keys of a query's results in their order.
    func keys(_ query: String) -> [String] {
        (results[query]?.rows.values.sorted { ($0["@sort"]?.string ?? "") < ($1["@sort"]?.string ?? "") } ?? [])
            .map { $0["@key"]?.text ?? "" }
    }

    /// The figures of a query with AGGREGATE, in the order of its groups.
    func figures(_ query: String) -> [[String: JSONValue]] {
        (results[query]?.rows.values.sorted { ($0["@sort"]?.string ?? "") < ($1["@sort"]?.string ?? "") } ?? [])
            .map { $0.filter { !["@class", "@key", "@sort"].contains($0.key) } }
    }
}
