import Foundation
import Sluice
import SluiceModel
import SluiceTesting
import Testing

/// Compares the members of the reports in section 9.8 of PROTOCOL.md with those that are sent.
@Suite(.timeLimit(.minutes(10))) struct ReportShapeTests {
    private let server: TestServer
    private let store: Store
    private let ruledServer: TestServer

    init() async throws {
        server = try TestServer()
        ruledServer = try TestServer(workerID: "w", rules: Self.rules)
        let schema = try Schema([
            ClassSchema(
                "Car", primaryKey: "vin",
                properties: [
                    Property("vin", .scalar(.string)), Property("price", .scalar(.double), isIndexed: true),
                    Property("year", .scalar(.int)), Property("dealer", .link("Dealer")),
                ]),
            ClassSchema("Dealer", properties: [Property("city", .scalar(.string))]),
        ])
        store = try await server.open(schema: schema)
        try await store.connected()
    }

    /// The documented members, and the type of each.
    private func documented(_ report: String) throws -> [String: String] {
        let document = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../../PROTOCOL.md").standardizedFileURL, encoding: .utf8)
        let start = try #require(
            document.range(of: ", **\(report)**:") ?? document.range(of: "\nReport 8 answers *\(report)*"),
            "PROTOCOL.md has no report \(report)")
        let lines = document[start.upperBound...].split(separator: "\n", omittingEmptySubsequences: false)
        let table = lines.drop { !$0.hasPrefix("|---") }.dropFirst().prefix { $0.hasPrefix("|") }
        var members: [String: String] = [:]
        for line in table {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            let types = cells[1].components(separatedBy: ", ")
            for (number, name) in cells[0].components(separatedBy: ", ").enumerated() {
                let path = name.trimmingCharacters(in: ["`"])
                #expect(members[path] == nil, "\(path) is there twice")
                members[path] = types[min(number, types.count - 1)]
            }
        }
        return members
    }

    /// The members that occur in any of the reports, and the type of each.
    private func sent(_ reports: [String]) throws -> [String: String] {
        var members: [String: String] = [:]
        for report in reports {
            try JSONDecoder().decode(JSONTree.self, from: Data(report.utf8)).collect(into: &members)
        }
        return members
    }

    @Test func theStatusHasTheDocumentedMembers() async throws {
        #expect(try sent([try await store.core.report(.status, timeout: nil)]) == documented("status"))
        // The value has every member that is sent.
        let encoded = try JSONEncoder().encode(try await store.serverStatus())
        #expect(try sent([String(decoding: encoded, as: UTF8.self)]) == documented("status"))
    }

    @Test func theSubscriptionsHaveTheDocumentedMembers() async throws {
        let recorder = try EventRecorder(store.records("Car WHERE price > 3"))
        try await recorder.complete()
        #expect(try sent([try await store.core.report(.subscriptions, timeout: nil)]) == documented("subscriptions"))
        let encoded = try JSONEncoder().encode(try await store.serverSubscriptions())
        #expect(try sent([String(decoding: encoded, as: UTF8.self)]) == documented("subscriptions"))
    }

    @Test func theCostsHaveTheDocumentedMembers() async throws {
        let recorder = try EventRecorder(store.records("Car WHERE price > 3"))
        try await recorder.complete()
        #expect(try sent([try await store.core.report(.top, timeout: nil)]) == documented("top"))
    }

    @Test func theSchemaHasTheDocumentedMembers() async throws {
        #expect(try sent([try await store.core.report(.schema, timeout: nil)]) == documented("schema"))
    }

    @Test func anExplanationHasTheDocumentedMembers() async throws {
        var reports: [String] = []
        for query in [
            "Car WHERE price > 3 AND year == 4 SORT(price ASC) LIMIT(3) TOTAL", "Car WHERE dealer.city > vin",
            "Car WHERE price > 3 GROUP(year) AGGREGATE(@avg.price)",
        ] {
            reports.append(try await store.records(query).explainOnServer().json)
        }
        #expect(try sent(reports) == documented("explain"))
    }

    // MARK: Reports about rules

    private static let rules = """
        {"user": {"garages": "Dealer WHERE city == $user.id"},
         "roles": {"boss": "$user.id == 'root'", "staff": "$user.claims.place == 'here'"},
         "database": {"schema": "$role.boss", "reports": "$role.boss", "rules": "$role.boss"},
         "classes": {"Dealer": {"read": true, "create": "$role.boss"},
                     "Car": {"read": "dealer IN $user.garages OR ($role.boss AND price > 0)", "create": "$role.boss",
                             "fields": {"year": {"write": "$role.boss AND year > 2000"}}}}}
        """

    /// A store of somebody who has every right, on a server with rules and one car.
    private func ruled() async throws -> Store {
        let store = try await ruledServer.open(schema: self.store.schema, user: "root")
        try await store.connected()
        let car = try #require(store.schema.classSchema(named: "Car"))
        try await store.write { try $0.insert(Record(car, ["vin": .string("1"), "price": .double(3)])) }
        try await store.uploaded()
        return store
    }

    @Test func theRulesHaveTheDocumentedMembers() async throws {
        let store = try await ruled()
        var reports = [try await store.core.report(.rules, timeout: nil)]
        for file in [Self.rules, Self.rules.replacing("2000", with: "1999"), Self.rules] {
            _ = try await store.core.deploy(rules: Array(file.utf8), isTrial: false, timeout: nil)
        }
        for question in [#"{"version":1}"#, #"{"history":true}"#] {
            reports.append(try await store.core.report(.formerRules(question), timeout: nil))
        }
        #expect(try sent(reports) == documented("rules"))
    }

    @Test func privilegesHaveTheDocumentedMembers() async throws {
        let store = try await ruled()
        var reports: [String] = []
        for question in ["{}", #"{"class":"Car"}"#, #"{"class":"Car","key":"1"}"#] {
            reports.append(try await store.core.report(.privileges(question), timeout: nil))
        }
        #expect(try sent(reports) == documented("privileges"))
    }

    @Test func aVerdictHasTheDocumentedMembers() async throws {
        let store = try await ruled()
        let set = Proposal.text(ValueMap([(key: "vin", value: .string("2"))]))
        var reports: [String] = []
        for question in [
            #"{"user":"root","action":"update","class":"Car","key":"1"}"#,
            #"{"user":"ada","claims":{"place":["here"]},"action":"read","class":"Car","key":"1"}"#,
            #"{"user":"root","action":"create","class":"Car","set":"\#(set)"}"#,
            #"{"user":null,"action":"delete","class":"Dealer","key":"00000000000000000000000000000001"}"#,
        ] {
            reports.append(try await store.core.report(.verdict(question), timeout: nil))
        }
        var members = try sent(reports)
        let parts = members.keys.filter { $0.hasPrefix("rules[].parts[]") }
        for path in parts {
            #expect(["condition", "outcome"].contains(path.split(separator: ".").last ?? ""), "\(path)")
            members[path] = nil
        }
        #expect(parts.contains { $0.hasPrefix("rules[].parts[].parts[]") })
        members["rules[].parts[]"] = "object"
        let known = try documented("verdict")
        #expect(Set(members.keys).symmetricDifference(known.keys) == [])
        #expect(members == known)
    }

    @Test func anExplanationForSomebodyElseIsAnExplanation() async throws {
        let store = try await ruled()
        let question = #"{"user":"ada","query":"Car WHERE price > 3 AND year == 4 SORT(price ASC) LIMIT(3)"}"#
        let members = try sent([try await store.core.report(.explainAs(question), timeout: nil)])
        let known = try documented("explain")
        #expect(members["query"] == "string")
        for (member, type) in members { #expect(known[member] == type, "\(member)") }
    }

    @Test func whatADeploymentAnswersHasTheDocumentedMembers() async throws {
        let store = try await ruled()
        let file = Self.rules.replacing("{\"read\": true", with: "{\"read\": \"wheels > 3\", \"delete\": true")
        let report = try await store.core.deploy(rules: Array(file.utf8), isTrial: true, timeout: nil)
        #expect(try sent([report]) == documented("deploy"))
    }

    @Test func whatIsOptionalIsLeftOut() async throws {
        let id = String(repeating: "0", count: 31) + "1"
        let members = try sent([try await store.records("OBJECT(" + id + ")").explainOnServer().json])
        #expect(members["query"] == "string")
        #expect(!members.keys.contains { $0.hasPrefix("plan") })
        #expect(!members.keys.contains { $0.hasPrefix("totalPlan") })
        for member in ["view.property", "view.condition", "view.windowCapacity"] { #expect(members[member] == nil) }
    }
}

/// JSON of any shape.
private indirect enum JSONTree: Decodable {
    case null
    case scalar(String)
    case array([JSONTree])
    case object([String: JSONTree])

    init(from decoder: any Decoder) throws {
        let container = try decoder.singleValueContainer()
        if container.decodeNil() {
            self = .null
        } else if (try? container.decode(Bool.self)) != nil {
            self = .scalar("bool")
        } else if (try? container.decode(UInt64.self)) != nil {
            self = .scalar("number")
        } else if (try? container.decode(String.self)) != nil {
            self = .scalar("string")
        } else if let elements = try? container.decode([JSONTree].self) {
            self = .array(elements)
        } else {
            self = .object(try container.decode([String: JSONTree].self))
        }
    }

    func collect(at path: String = "", into members: inout [String: String]) {
        switch self {
        case .null: break
        case .scalar(let type): members[path] = type
        case .array(let elements): for element in elements { element.collect(at: path + "[]", into: &members) }
        case .object(let object):
            for (name, member) in object {
                member.collect(at: path.isEmpty ? name : "\(path).\(name)", into: &members)
            }
        }
    }
}
