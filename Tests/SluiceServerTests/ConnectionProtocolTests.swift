import SluiceModel
import SluiceServer
import SluiceWire
import Testing

struct ConnectionProtocolTests {
    static let hello = ClientMessage.hello(.init(features: [], agent: "test"))

    static func open(_ session: UInt64, _ path: String = "planes") -> ClientMessage {
        .open(.init(session: session, path: path, schema: Schema()))
    }

    static func fresh() -> ConnectionProtocol {
        ConnectionProtocol(limits: ServerLimits(), login: DevelopmentLogin())
    }

    /// The actions as texts that tests compare.
    static func summary(_ actions: [ConnectionProtocol.Action]) throws -> [String] {
        try actions.map { action in
            switch action {
            case .open(let session, let database, _, _, _): return "open \(session) \(database)"
            case .deliver(let session, let database, _, let messages, _):
                return "deliver \(session) \(database) \(messages.count)"
            case .authenticate(let session, _, let isRenewal, _): return "authenticate \(session) \(isRenewal)"
            case .renewed(let session, let database, _): return "renewed \(session) \(database)"
            case .forget(let session, let database, _, _): return "forget \(session) \(database)"
            case .expel(_, let reason): return "expel: \(reason)"
            case .close(let reason): return "close: \(reason)"
            case .send(let frame):
                switch try Frame.decode(frame, as: ServerMessage.self).first {
                case .hello(let reply): return "hello \(reply.version)"
                case .error(let failure): return "error \(failure.session) \(failure.code)"
                case .login(let login): return "login \(login.session)"
                case .context(let context): return "context \(context.session)"
                case .moved(let moved): return "moved \(moved.session) \(moved.url)"
                default: return "another message"
                }
            }
        }
    }

    /// The actions of a connection for these messages, of which each is sent in its own frame.
    static func run(_ messages: [ClientMessage]) throws -> [String] {
        var connection = fresh()
        return try messages.flatMap { message in
            try summary(connection.receive(Frame.encode(message), now: Timestamp(microseconds: 0)))
        }
    }

    @Test func `a feature that the server does not know is not in its hello, and the session goes on`() throws {
        var connection = Self.fresh()
        func receive(_ message: ClientMessage) -> [ConnectionProtocol.Action] {
            connection.receive(Frame.encode(message), now: Timestamp(microseconds: 0))
        }
        let unknown = Features(rawValue: 1 << 63 | 1 << 40 | 1)
        let greeting = receive(.hello(.init(features: unknown, agent: "from the future")))
        guard case .send(let frame)? = greeting.first,
            case .hello(let reply)? = try Frame.decode(frame, as: ServerMessage.self).first
        else { return #expect(Bool(false), "no hello: \(greeting)") }
        #expect(reply.features == Features.all.intersection(unknown) && greeting.count == 1)
        #expect(try Self.summary(receive(Self.open(1))) == ["open 1 planes"])
    }

    @Test func sessionsAreHandedOverToAnotherServer() throws {
        var connection = Self.fresh()
        func receive(_ message: ClientMessage) throws -> [String] {
            try Self.summary(connection.receive(Frame.encode(message), now: Timestamp(microseconds: 0)))
        }
        func moved(_ session: UInt64, _ database: String) -> String {
            "moved \(session) wss://other:9443/\(database)"
        }
        _ = try receive(.hello(.init(features: .all, agent: "test")))
        _ = try receive(.open(.init(session: 1, path: "planes", schema: Schema())))
        _ = try receive(.open(.init(session: 2, path: "cars", schema: Schema())))
        #expect(
            try Self.summary(connection.handOver(to: "wss://other:9443")) == [
                "forget 1 planes", moved(1, "planes"), "forget 2 cars", moved(2, "cars"),
            ])
        #expect(connection.sessions.isEmpty)
        #expect(try receive(.upload(session: 1, changesets: [])) == [], "what was under way is dropped")
        #expect(try receive(.open(.init(session: 3, path: "cars", schema: Schema()))) == [moved(3, "cars")])
        #expect(connection.handOver(to: nil).isEmpty)
        #expect(try receive(.open(.init(session: 4, path: "cars", schema: Schema()))) == ["open 4 cars"])
    }

    @Test func `sessions whose clients know other servers are sent there, and the others stay`() throws {
        var connection = Self.fresh()
        func receive(_ message: ClientMessage) throws -> [String] {
            try Self.summary(connection.receive(Frame.encode(message), now: Timestamp(microseconds: 0)))
        }
        func open(_ session: UInt64, knowsOthers: Bool) throws -> [String] {
            var open = ClientMessage.Open(session: session, path: "planes", schema: Schema())
            if knowsOthers { open.options = .hasOthers }
            return try receive(.open(open))
        }
        _ = try receive(.hello(.init(features: .all, agent: "test")))
        _ = try open(1, knowsOthers: false)
        _ = try open(2, knowsOthers: true)
        #expect(try Self.summary(connection.handOver(to: "")) == ["forget 2 planes", "moved 2 "])
        #expect(connection.sessions == [1: "planes"])
        #expect(try open(3, knowsOthers: true) == ["moved 3 "])
        #expect(try open(4, knowsOthers: false) == ["open 4 planes"])
        #expect(connection.handOver(to: nil).isEmpty)
        #expect(try open(5, knowsOthers: true) == ["open 5 planes"])
    }

    @Test func aSessionIsGreetedOpenedSpokenToAndClosed() throws {
        let actions = try Self.run([
            Self.hello, Self.open(1), .credit(session: 1, pages: 1), .close(session: 1), .credit(session: 1, pages: 1),
        ])
        #expect(actions == ["hello 1", "open 1 planes", "deliver 1 planes 1", "deliver 1 planes 1"])
    }

    @Test(arguments: [open(1), .credit(session: 1, pages: 1), .close(session: 1)])
    func anythingBeforeHelloClosesTheConnection(message: ClientMessage) throws {
        let reason = "the first message of a connection is hello"
        #expect(try Self.run([message]) == ["error 0 protocolViolation", "close: \(reason)"])
    }

    @Test func helloIsSaidOnce() throws {
        let actions = try Self.run([Self.hello, Self.hello])
        #expect(actions == ["hello 1", "error 0 protocolViolation", "close: hello is said once"])
    }

    @Test func aClientOfOtherVersionsIsToldBothRanges() throws {
        let future = ClientMessage.hello(.init(versionMin: 8, versionMax: 9, features: [], agent: "test"))
        let reason = "the client speaks protocol versions 8 to 9, the server 1 to 1"
        #expect(try Self.run([future]) == ["error 0 unsupportedVersion", "close: \(reason)"])
    }

    @Test func aBadDatabaseNameRefusesTheSessionAndKeepsTheConnection() throws {
        let actions = try Self.run([Self.hello, Self.open(1, "../etc"), Self.open(2)])
        #expect(actions == ["hello 1", "error 1 unknownDatabase", "open 2 planes"])
    }

    @Test(arguments: [0, 1, 2] as [UInt64])
    func aSessionNumberThatIsZeroOrWasUsedClosesTheConnection(session: UInt64) throws {
        let actions = try Self.run([Self.hello, Self.open(2), .close(session: 2), Self.open(session)])
        let reason = "session \(session) cannot be opened: numbers ascend, and the next one is above 2"
        #expect(actions.suffix(2) == ["error 0 protocolViolation", "close: \(reason)"])
    }

    @Test(arguments: [[], [0xFF], [0, 0xFF], [0, 3, 1]] as [[UInt8]])
    func anUnreadableFrameClosesTheConnection(frame: [UInt8]) throws {
        var connection = Self.fresh()
        let actions = try Self.summary(connection.receive(frame, now: Timestamp(microseconds: 0)))
        #expect(actions.first == "error 0 protocolViolation")
        #expect(actions.last?.hasPrefix("close: this frame cannot be read: ") == true)
    }

    @Test func asManyMessagesAsAFrameCanHaveAreHandedOverAtOnce() throws {
        var connection = Self.fresh()
        for message in [Self.hello, Self.open(1)] {
            _ = connection.receive(Frame.encode(message), now: Timestamp(microseconds: 0))
        }
        var frame = FrameBuilder()
        for _ in 0..<65_536 { frame.append(ClientMessage.credit(session: 1, pages: 1)) }
        let actions = connection.receive(frame.finish(), now: Timestamp(microseconds: 0))
        #expect(try Self.summary(actions) == ["deliver 1 planes 65536"])
    }

    @Test func messagesForUnknownAndEndedSessionsAreDropped() throws {
        #expect(try Self.run([Self.hello, .credit(session: 4, pages: 1), .close(session: 4)]) == ["hello 1"])
        var connection = Self.fresh()
        for message in [Self.hello, Self.open(1)] {
            _ = connection.receive(Frame.encode(message), now: Timestamp(microseconds: 0))
        }
        connection.ended(session: 1)
        let frame = Frame.encode(ClientMessage.credit(session: 1, pages: 1))
        #expect(connection.receive(frame, now: Timestamp(microseconds: 0)).isEmpty)
    }

    @Test(arguments: [
        ("a", true), ("A-z_09", true), (String(repeating: "a", count: 64), true), ("", false), (".", false),
        ("a/b", false), ("a b", false), ("\u{E9}", false), ("a\0", false), (String(repeating: "a", count: 65), false),
    ])
    func aDatabaseIsNamedBy1To64LettersDigitsUnderscoresAndHyphens(name: String, isValid: Bool) {
        #expect(DatabaseName.isValid(name) == isValid)
    }
}
