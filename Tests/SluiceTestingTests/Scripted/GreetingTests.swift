import SluiceModel
import SluiceQuery
import SluiceStorage
import SluiceWire
import Synchronization
import Testing

@testable import Sluice

/// How a client reacts to the ways in which a server can greet it.
@Suite struct GreetingTests {
    private func failure(_ server: ScriptedSession) throws -> SyncError? {
        var error: SyncError?
        _ = server.engine.whenConnected { result in
            if case .failure(let failure) = result { error = failure }
            return true
        }
        return error
    }

    private func uploads(_ messages: [ClientMessage]) -> [[Changeset]] {
        messages.compactMap { if case .upload(_, let changesets) = $0 { changesets } else { nil } }
    }

    private func insert(_ id: Int64, _ server: ScriptedSession) throws {
        try server.engine.write { try $0.insert(ScriptedSession.user(id, age: id), ofClass: 0) }
    }

    @Test func aVersionThatIsNotSpokenEndsSyncing() throws {
        let server = try ScriptedSession()
        server.greet(version: 9)
        #expect(try failure(server)?.code == .protocolViolation)
        #expect(server.actions().last == .disconnect)
        // Messages that follow a failed greeting are ignored.
        server.opened(.created)
        #expect(try failure(server) != nil && server.actions().isEmpty)
    }

    @Test func aSessionThatIsOpenedWithoutHelloIsLeft() throws {
        let server = try ScriptedSession()
        server.engine.handle(.start)
        server.engine.handle(.opened())
        server.opened(.created)
        #expect(server.actions().contains(.disconnect))
        #expect(server.storage.syncState == nil)
    }

    @Test func whatIsDeclaredWhileASessionOpensReachesTheServerAndLetsUploadsGo() throws {
        let server = try ScriptedSession()
        server.greet()
        let more = try ClassSchema(
            "User", primaryKey: "id", properties: [Property("id", .scalar(.int)), Property("name", .scalar(.string))])
        try insert(1, server)
        try server.engine.declare([more])
        _ = server.sent()
        server.opened(.created)
        let sent = server.sent()
        let declared = sent.compactMap { if case .declare(_, let schema) = $0 { schema } else { nil } }
        #expect(declared.count == 1 && declared.first?.classSchema(named: "User")?.index(of: "name") != nil)
        server.receive([.schema(session: 1, schema: server.storage.schema)])
        #expect(uploads(sent + server.sent()).count == 1)
    }

    @Test func `a feature that the client does not know changes nothing`() throws {
        let server = try ScriptedSession()
        _ = try server.engine.observe(try server.query("User")) { _ in }
        server.greet(features: Features.all.union(Features(rawValue: 1 << 63 | 1 << 40)))
        #expect(server.engine.session.features == Features.all)
        server.opened(.created)
        server.bootstrap(1, [ScriptedSession.user(1, age: 40)])
        #expect(try server.age(of: 1) == .int(40))
    }

    @Test func uploadsKeepToWhatTheServerTakesInAFrame() throws {
        let server = try ScriptedSession()
        for id in 1...20 { try insert(Int64(id), server) }
        server.greet(limits: ServerLimits(frameLengthMax: 400))
        server.opened(.created)
        let frames = server.actions().compactMap { if case .send(let frame) = $0 { frame } else { nil } }
        #expect(frames.dropFirst().allSatisfy { $0.count <= 400 })
        let batches = uploads(try frames.flatMap { try Frame.decode($0, as: ClientMessage.self) })
        #expect(batches.count > 1 && batches.flatMap { $0 }.map(\.sequence) == Array(1...20))
    }

    @Test(arguments: [(150, 65_536), (16 << 20, 7)])
    func moreSubscriptionsThanFitAFrameAreAskedForInSeveral(byteCountMax: Int, messageCountMax: Int) throws {
        let server = try ScriptedSession { $0.dataLimits.messageCount = messageCountMax }
        for age in 1...40 { _ = try server.engine.observe(try server.query("User WHERE age == \(age)")) { _ in } }
        server.greet(limits: ServerLimits(frameLengthMax: UInt64(byteCountMax)))
        _ = server.actions()
        server.opened(.created)
        let frames = server.actions().compactMap { if case .send(let frame) = $0 { frame } else { nil } }
        let messages = try frames.map { try Frame.decode($0, as: ClientMessage.self) }
        #expect(frames.count > 1 && frames.allSatisfy { $0.count <= byteCountMax })
        #expect(messages.allSatisfy { $0.count <= messageCountMax })
        let numbers = messages.joined().compactMap { message -> UInt64? in
            if case .subscribe(let subscribe) = message { subscribe.subscription } else { nil }
        }
        #expect(numbers == Array(1...40))
    }

    @Test func aTransactionThatTheServerDoesNotTakeIsRefusedWhenItIsMade() throws {
        let server = try ScriptedSession()
        server.greet(limits: ServerLimits(frameLengthMax: 400))
        server.opened(.created)
        let error = #expect(throws: StoreError.self) {
            try server.engine.write { writer in
                for id in 1...20 { try writer.insert(ScriptedSession.user(Int64(id), age: 1), ofClass: 0) }
            }
        }
        #expect(error?.code == .transactionTooLarge)
        #expect(try server.age(of: 1) == nil)
    }

    @Test func aTransactionThatWasMadeBeforeAndThatTheServerDoesNotAcceptIsSetAsideAndReported() throws {
        let server = try ScriptedSession()
        try server.engine.write { writer in
            // Ages that no column makes small.
            for id in 1...200 as ClosedRange<Int64> {
                try writer.insert(ScriptedSession.user(id, age: id * id * id * 7_919 % 999_983), ofClass: 0)
            }
        }
        var rejections: [WriteRejection] = []
        server.engine.onRejection = { rejections.append($0) }
        server.greet(limits: ServerLimits(expandedLengthMax: 400))
        server.opened(.created)
        let sent = uploads(server.sent()).flatMap { $0 }.flatMap(\.operations)
        #expect(sent.map(\.object.classIndex) == [Int(Int32.max)])
        let rejection = ServerMessage.Rejection(
            sequence: 1, reasons: [.init(code: .invalidOperation, message: "no class")])
        server.receive([.rejected(.init(session: 1, rejection: rejection))])
        server.commit(4, to: 99, [], acknowledged: 1)
        #expect(rejections.map(\.reason.code) == [.limitExceeded])
        #expect(server.storage.outboxCount == 0)
        #expect(try server.age(of: 1) == nil)
    }

    @Test func aHeartbeatThatIsTooSlowForTheServerIsWarnedOf() throws {
        let lines = LogLines()
        let server = try ScriptedSession(log: lines.sink) { $0.heartbeat = .seconds(60) }
        server.greet(limits: ServerLimits(idleTimeoutMilliseconds: 120_000))
        #expect(lines.all.filter { $0.level == .warning }.isEmpty)
        server.loseConnection()
        server.greet(limits: ServerLimits(idleTimeoutMilliseconds: 90_000))
        #expect(lines.all.filter { $0.level == .warning }.count == 1)
    }

    @Test func theNamesOfVariablesAreLoggedAndNeverTheirValues() throws {
        let lines = Mutex<[String]>([])
        let log = LogSink(level: .debug) { line in lines.withLock { $0.append("\(line.message) \(line.metadata)") } }
        let server = try ScriptedSession(log: log) { options in
            options.variables = ValueMap([(key: "region", value: .string("north-4711"))])
        }
        server.open()
        server.engine.setVariables(
            ValueMap([(key: "fruits", value: .list([.string("apple-4711"), .string("fig-4711")]))]))
        let text = lines.withLock { $0.joined(separator: "\n") }
        #expect(text.contains("region") && text.contains("fruits") && text.contains("2 elements"), "\(text)")
        #expect(!text.contains("4711"))
    }
}
