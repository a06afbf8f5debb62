import Sluice
import SluiceJSON
import SluiceModel
import SluiceRules
import SluiceServer
import SluiceStorage
import SluiceWire
import Testing

/// What users are told of the rules, and who may store others.
@Suite struct AccessReportTests {
    private typealias World = RuledWorld

    private static let rules = RuledWorld.rules.replacing(
        "\"reports\": \"$role.admin\"", with: "\"reports\": \"$role.admin\", \"rules\": \"$role.admin\"")

    private func world(
        _ rules: String = Self.rules, limits: DatabaseLimits = DatabaseLimits()
    ) throws -> RuledWorld {
        let world = try World(rules: rules, users: ["ada", "bob"], limits: limits)
        try world.setTeam(7, ["ada"])
        try world.create(
            World.document(1, owner: "ada"), World.document(2, owner: "bob"), World.document(3, team: 7),
            World.document(4, isPublic: true))
        return world
    }

    private func answers(_ user: String, _ message: ClientMessage, _ world: RuledWorld) -> [ServerMessage] {
        let count = world[user].frames.count
        world.inject(message, from: SessionID(connection: world[user].number, session: 1))
        return world[user].frames[count...].flatMap { $0 }
    }

    /// The report that answers a question, or the code of the error.
    private func ask(
        _ user: String, _ topic: ClientMessage.ReportTopic, _ argument: String, _ world: RuledWorld
    ) throws -> JSONValue {
        let request = ClientMessage.reportRequest(.init(session: 1, request: 5, topic: topic, argument: argument))
        return try report(answers(user, request, world))
    }

    private func report(_ messages: [ServerMessage]) throws -> JSONValue {
        for message in messages {
            switch message {
            case .report(_, _, let json): return try JSONParser.parse(String(decoding: json, as: UTF8.self))
            case .reportError(let error): return .string(error.code.rawValue)
            default: continue
            }
        }
        return .null
    }

    private func deploy(_ user: String, _ file: String, isTrial: Bool = false, _ world: RuledWorld) throws -> JSONValue
    {
        let message = ClientMessage.deploy(
            .init(session: 1, request: 6, isTrial: isTrial, file: Array(file.utf8)))
        return try report(answers(user, message, world))
    }

    // MARK: Privileges

    @Test func questionsTakeOfTheSessionsShareOfTheTurn() throws {
        var limits = DatabaseLimits()
        limits.shareStepCountMax = 2_000
        let world = try world(limits: limits)
        let session = SessionID(connection: world["ada"].number, session: 1)
        func answers(_ count: UInt64) throws -> [JSONValue] {
            let questions = (1...count).map { number in
                ClientMessage.reportRequest(
                    .init(session: 1, request: number, topic: .privileges, argument: #"{"class":"Document","key":"3"}"#)
                )
            }
            let before = world["ada"].frames.count
            world.inject(questions, from: session)
            return try world["ada"].frames[before...].flatMap { $0 }.map { try report([$0]) }
        }
        let many = try answers(1_000)
        #expect(many.count == 1_000 && many[0] != .string("overloaded"))
        #expect(many.last == .string("overloaded"))
        // The next turn has a share again.
        #expect(try answers(1) == [many[0]])
    }

    @Test func aUserIsToldWhatTheRulesAllow() throws {
        let world = try world()
        func privileges(_ user: String, _ argument: String) throws -> [String] {
            guard case .object(let members) = try ask(user, .privileges, argument, world) else { return ["?"] }
            return members.filter { $0.value == .bool(true) }.map(\.name)
        }
        #expect(try privileges("ada", #"{"class":"Document","key":"1"}"#) == ["read", "update", "delete"])
        #expect(try privileges("ada", #"{"class":"Document","key":"3"}"#) == ["read", "update"])
        #expect(try privileges("ada", #"{"class":"Document","key":"4"}"#) == ["read"])
        #expect(try privileges("ada", #"{"class":"Document","key":"2"}"#) == [])
        #expect(try privileges("ada", #"{"class":"Document","key":"77"}"#) == [])
        #expect(try privileges("ada", #"{"class":"Document"}"#) == ["read", "create", "update", "delete"])
        #expect(try privileges("ada", #"{"class":"User"}"#) == ["read"])
        #expect(try privileges("ada", "") == [])
        #expect(try privileges("root", "{}") == ["schema", "reports", "rules"])
        #expect(try ask("ada", .privileges, #"{"class":"Nobody"}"#, world) == .string("unknownName"))
        #expect(try ask("ada", .privileges, #"{"class":"Document","key":"x"}"#, world) == .string("invalidQuery"))
        #expect(try ask("ada", .privileges, "[", world) == .string("invalidQuery"))
    }

    private func values(_ values: [(String, Value)]) -> String {
        Proposal.text(ValueMap(values.map { (key: $0.0, value: $0.1) }))
    }

    @Test func aUserIsToldWhetherAnObjectMayBeCreatedAndNotWhetherItsKeyIsTaken() throws {
        let world = try world()
        func mayCreate(_ user: String, _ key: Int64, owner: String, _ others: [(String, Value)] = []) throws -> Bool {
            let set = values([("id", .int(key)), ("owner", .link(.string(owner)))] + others)
            let argument = "{\"class\":\"Document\",\"key\":\"\(key)\",\"set\":\"\(set)\"}"
            return try ask(user, .privileges, argument, world)["create"] == .bool(true)
        }
        // 2 is bob's, which ada may not know, and 77 is nobody's.
        for key in [2, 77] as [Int64] {
            #expect(try mayCreate("ada", key, owner: "ada"))
            #expect(try !mayCreate("ada", key, owner: "bob"))
            #expect(try mayCreate("root", key, owner: "bob"))
            #expect(try !mayCreate("ada", key, owner: "ada", [("grade", .int(3))]))
            #expect(try mayCreate("ada", key, owner: "ada", [("grade", .int(0))]))
        }
        for set in [
            "x", "0", "00ff", values([("nothing", .int(1))]), values([("text", .int(1))]),
            values([("id", .int(78))]), values([("owner", .link(.int(1)))]),
        ] {
            #expect(
                try ask("ada", .privileges, "{\"class\":\"Document\",\"key\":\"77\",\"set\":\"\(set)\"}", world)
                    == .string("invalidQuery"), "\(set)")
        }
    }

    @Test func aVerdictAboutValuesIsTheOneThatAWriteOfThemGets() throws {
        let world = try world()
        func verdict(_ action: String, _ key: String?, _ set: [(String, Value)]) throws -> JSONValue {
            let object = key.map { ",\"key\":\"\($0)\"" } ?? ""
            return try ask(
                "root", .verdict,
                "{\"user\":\"ada\",\"action\":\"\(action)\",\"class\":\"Document\"\(object),\"set\":\"\(values(set))\"}",
                world)
        }
        let cases: [(String, String?, [(String, Value)], String)] = [
            ("create", nil, [("id", .int(9)), ("owner", .link(.string("ada")))], "allowed"),
            ("create", nil, [("id", .int(9)), ("owner", .link(.string("bob")))], "denied"),
            ("create", nil, [("id", .int(2)), ("owner", .link(.string("ada")))], "denied"),
            ("update", "1", [("text", .string("x"))], "allowed"), ("update", "1", [("grade", .int(1))], "denied"),
            ("update", "1", [("grade", .int(0))], "allowed"), ("update", "4", [("text", .string("x"))], "denied"),
            ("update", "2", [("text", .string("x"))], "missing"), ("update", "77", [("text", .string("x"))], "missing"),
        ]
        for (action, key, set, expected) in cases {
            let answer = try verdict(action, key, set)
            #expect(answer["verdict"] == .string(expected), "\(action) \(key ?? "") \(set): \(answer)")
        }
        #expect(try verdict("delete", "1", []) == .string("invalidQuery"))
        #expect(try verdict("create", nil, [("text", .string("x"))]) == .string("invalidQuery"))
        // The rule of what an update leads to is judged on that.
        world.deploy(
            try RulesFile(
                Self.rules.replacing(
                    "\"updateAfter\": \"TRUEPREDICATE\", \"delete\": \"owner",
                    with: "\"updateAfter\": \"owner.id == $user.id\", \"delete\": \"owner")))
        let given = try verdict("update", "1", [("owner", .link(.string("bob")))])
        #expect(given["verdict"] == .string("denied"))
        let outcomes = given["rules"]?.array?.map { "\($0["rule"]?.string ?? "") \($0["outcome"]?.string ?? "")" }
        #expect(outcomes == ["read holds", "update holds", "updateAfter fails"])
    }

    @Test func otherRightsToWriteAreToldAlsoWhereTheSameIsReadable() throws {
        let world = try world()
        let count = world["ada"].frames.count
        world.deploy(
            try RulesFile(Self.rules.replacing("\"create\": \"owner.id == $user.id OR", with: "\"create\": \"")))
        let contexts = world["ada"].frames[count...].flatMap { $0 }.filter {
            if case .context = $0 { true } else { false }
        }
        #expect(contexts.count == 1)
    }

    // MARK: Others

    @Test func whyAUserMayOrMayNotIsToldWithoutClaims() throws {
        let world = try world()
        func verdict(_ action: String, _ key: String?, user: String = "ada") throws -> JSONValue {
            let object = key.map { ",\"key\":\"\($0)\"" } ?? ""
            let claims = #""claims":{"role":"guest","secret":"4711"}"#
            return try ask(
                "root", .verdict,
                "{\"user\":\"\(user)\",\(claims),\"action\":\"\(action)\",\"class\":\"Document\"\(object)}",
                world)
        }
        for (action, key, expected) in [
            ("read", "4", "allowed"), ("read", "2", "missing"), ("read", "77", "missing"), ("update", "3", "allowed"),
            ("update", "4", "denied"), ("delete", "3", "denied"), ("delete", "1", "allowed"),
            ("create", nil, "depends"),
        ] {
            let answer = try verdict(action, key)
            #expect(answer["verdict"] == .string(expected), "\(action) \(key ?? ""): \(answer)")
            #expect(!"\(answer)".contains("4711") && !"\(answer)".contains("guest"))
        }
        let denied = try verdict("update", "4")
        let parts = denied["rules"]?.array?.first { $0["rule"] == .string("update") }?["parts"]?.array ?? []
        #expect(
            parts.contains { $0["condition"] == .string("owner.id == $user.id") && $0["outcome"] == .string("fails") })
        #expect(denied["sets"]?.array?.first?["count"] == .integer(1))
        #expect(try verdict("update", "1")["properties"] == .array([.string("grade")]))
    }

    @Test func whoLacksTheRightAsksOnlyAboutHimself() throws {
        let world = try world()
        let question = #"{"user":"bob","action":"read","class":"Document","key":"2","query":"Document"}"#
        for topic in [ClientMessage.ReportTopic.verdict, .explainAs, .rules, .status] {
            #expect(try ask("ada", topic, question, world) == .string("permissionDenied"))
        }
        #expect(try ask("root", .explainAs, question, world)["query"] != nil)
    }

    // MARK: Deploying

    @Test func whoHasTheRightStoresOtherRulesWhichHoldAtOnce() throws {
        let world = try world()
        try world.observe("ada", "Document")
        #expect(try world.held("ada") == [1, 3, 4])
        let other = Self.rules.replacing("isPublic == TRUE OR ", with: "")
        world.skipsOracle = true
        let trial = try deploy("root", other, isTrial: true, world)
        #expect(trial["isNew"] == .bool(false) && trial["changes"]?.array?.count == 1)
        #expect(try world.held("ada") == [1, 3, 4])
        let first = try deploy("root", other, world)
        #expect(
            first["isNew"] == .bool(true) && first["changes"]?.array?[0]["place"] == .string("classes.Document.read"))
        #expect(first["mayDeploy"] == .bool(true))
        #expect(try world.held("ada") == [1, 3])
        let again = try deploy("root", other, world)
        #expect(again["isNew"] == .bool(false) && again["changes"] == .array([]))
        #expect(again["version"] == first["version"])
    }

    @Test func formerRulesAreToldToWhoMayStoreOthers() throws {
        let world = try world()
        // Those of the server's file hold before they are stored.
        #expect(try ask("root", .rules, "", world)["file"]?.string?.contains("isPublic == TRUE") == true)
        world.skipsOracle = true
        #expect(
            try deploy("root", Self.rules.replacing("isPublic == TRUE OR ", with: ""), world)["isNew"] == .bool(true))
        let last = try world.server.rulesVersion
        #expect(last == 2)
        let history = try ask("root", .rules, #"{"history":true}"#, world)
        #expect(history["history"]?.array?.compactMap { $0["version"] } == [.integer(2), .integer(1)])
        let former = try ask("root", .rules, #"{"version":1}"#, world)
        #expect(former["version"] == .integer(1) && former["file"]?.string?.contains("isPublic == TRUE") == true)
        #expect(try ask("root", .rules, "", world)["version"] == .integer(2))
        #expect(try ask("root", .rules, #"{"version":99}"#, world) == .string("unknownName"))
        #expect(try ask("root", .rules, #"{"version":"x"}"#, world) == .string("invalidQuery"))
        for question in ["", #"{"history":true}"#, #"{"version":1}"#] {
            #expect(try ask("ada", .rules, question, world) == .string("permissionDenied"))
        }
    }

    @Test func aVerdictNamesTheRuleOfAPropertyThatDecidesIt() throws {
        let world = try world()
        let set = values([("grade", .int(1))])
        let answer = try ask(
            "root", .verdict,
            "{\"user\":\"ada\",\"claims\":{\"role\":[\"admin\"]},\"action\":\"update\",\"class\":\"Document\",\"key\":\"1\",\"set\":\"\(set)\"}",
            world)
        #expect(answer["verdict"] == .string("denied"))
        #expect(answer["reason"]?.string == "Document.grade may not be written: the rule 'Document.grade.write' fails")
        let rule = answer["rules"]?.array?.last
        #expect(rule?["rule"] == .string("grade.write") && rule?["outcome"] == .string("fails"))
        // The claim is a list, and the role compares it with one value.
        let hint = answer["hints"]?.array?.first?.string ?? ""
        #expect(
            hint.contains("$user.claims.role is a list here") && hint.contains("write 'admin' IN $user.claims.role"),
            "\(hint)")
    }

    @Test func whoLacksTheRightStoresNothing() throws {
        let world = try world()
        let version = try world.server.rulesVersion
        let open = #"{"classes":{"Document":{"read":true}}}"#
        for isTrial in [false, true] {
            #expect(try deploy("ada", open, isTrial: isTrial, world) == .string("permissionDenied"))
        }
        #expect(try world.server.rulesVersion == version)
        // Without the right in the rules, not even who may do everything else.
        let closed = try self.world(RuledWorld.rules)
        #expect(try deploy("root", open, closed) == .string("permissionDenied"))
    }

    @Test func badRulesAreRefusedWholeWithTheirPlaces() throws {
        let world = try world()
        let message = ClientMessage.deploy(
            .init(session: 1, request: 6, isTrial: false, file: Array("{\"classes\": {,}}".utf8)))
        let errors = answers("root", message, world).compactMap { message -> ServerMessage.ReportError? in
            if case .reportError(let error) = message { error } else { nil }
        }
        #expect(errors.map(\.code) == [.invalidRules] && errors[0].message.contains("line 1"))
        #expect(
            try deploy("root", #"{"classes":{"Nobody":{"read":true}}}"#, isTrial: true, world)["warnings"]?.array?.count
                == 1)
        #expect(try deploy("root", #"{"classes":{}}"#, isTrial: true, world)["mayDeploy"] == .bool(false))
    }
}
