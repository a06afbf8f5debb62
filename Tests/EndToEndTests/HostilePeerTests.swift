import Foundation
import Glibc
import Sluice
import SluiceWire
import Testing

/// Peers that send what no client would: they are told why or cut off, and everybody else is served as ever.
@Suite(.serialized)
struct HostilePeerTests {
    /// How much a server may grow under attack, in kilobytes.
    private static let growthMax = 250_000

    /// Runs an attack against a server, which must then serve others without having grown.
    private func attack(
        options: [String] = [], _ body: @escaping @Sendable (TestServer) throws -> Void
    ) async throws {
        try await withServer(options: options) { server in
            try await server.expectService()
            let before = try server.process.memory()
            try await blocking { try body(server) }
            try await server.expectService()
            let peak = try server.process.memory("VmHWM")
            #expect(peak - before < Self.growthMax, "grew from \(before) kB to \(peak) kB")
        }
    }

    // MARK: Before the upgrade

    @Test func bytesThatAreNoRequest_areAnsweredOrCutOff() async throws {
        try await attack { server in
            var generator = SeededGenerator(seed: 1)
            for length in [1, 7, 100, 4_096, 100_000] {
                for _ in 0..<5 {
                    let peer = try RawPeer(server.port)
                    peer.send(generator.bytes(length))
                    peer.endWriting()
                    let answer = peer.receiveToEnd()
                    #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"), "\(answer)")
                }
            }
        }
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\nHost: a\r\nX: " + String(repeating: "x", count: 100_000), "HTTP/1.1 431 "),
        (
            "GET / HTTP/1.1\r\nHost: a\r\n" + String(repeating: "X: y\r\n", count: 500) + "\r\n", "HTTP/1.1 431 "
        ),
        ("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 99999999999\r\n\r\n", "HTTP/1.1 4"),
        ("GET / HTTP/9.9\r\nHost: a\r\n\r\n", "HTTP/1.1 505 "),
        ("GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 400 "),
        ("GET / HTTP/1.1\r\nHost: a\r\n\r\n", "HTTP/1.1 404 "),
        (RawPeer.upgradeRequest.replacingOccurrences(of: "sluice.1", with: "sluice.9"), "HTTP/1.1 400 "),
        (RawPeer.upgradeRequest.replacingOccurrences(of: "Version: 13", with: "Version: 8"), "HTTP/1.1 426 "),
        (RawPeer.upgradeRequest.replacingOccurrences(of: "dGhlIHNhbXBsZSBub25jZQ==", with: "no"), "HTTP/1.1 400 "),
        (String(RawPeer.upgradeRequest.dropLast(20)), ""),
    ])
    func requestsThatCannotBe_areRefusedWithTheirStatus(request: String, answer: String) async throws {
        try await attack { server in
            let peer = try RawPeer(server.port)
            peer.send(request)
            peer.endWriting()
            let got = peer.receiveToEnd()
            #expect(answer.isEmpty ? got.isEmpty : got.hasPrefix(answer), "\(got)")
        }
    }

    @Test func manyHalfRequests_leaveRoomForOthers() async throws {
        try await withServer { server in
            let peers = try (0..<300).map { _ in
                let peer = try RawPeer(server.port)
                peer.send(String(RawPeer.upgradeRequest.prefix(60)))
                return peer
            }
            try await server.expectService()
            withExtendedLifetime(peers) {}
        }
    }

    // MARK: WebSocket

    @Test(arguments: [
        ("text", RawPeer.frame(1, Array("hello".utf8)), 1003 as UInt16),
        ("unmasked", RawPeer.frame(2, [0], isMasked: false), 1002),
        ("an unknown opcode", RawPeer.frame(3, []), 1002),
        ("reserved bits", RawPeer.frame(0x42, []), 1002),
        ("a continuation of nothing", RawPeer.frame(0, [1]), 1002),
        ("a ping in pieces", RawPeer.frame(9, [1], isFinal: false), 1002),
        ("a long ping", RawPeer.frame(9, [UInt8](repeating: 0, count: 200)), 1002),
        ("a length of 2^63", RawPeer.frame(2, [], claimedLength: 1 << 63), 1002),
        ("a length of 2^62", RawPeer.frame(2, [], claimedLength: 1 << 62), 1009),
        ("a length of 17 MiB", RawPeer.frame(2, [], claimedLength: 17 << 20), 1009),
        ("an empty frame", RawPeer.frame(2, []), 1008),
        ("no message of ours", RawPeer.frame(2, [0, 5, 1, 2, 3, 4, 5]), 1008),
        ("a close of one byte", RawPeer.frame(8, [3]), 1002),
    ])
    func framesThatCannotBe_endTheirConnection_withTheCodeForIt(
        name: String, frame: [UInt8], code: UInt16
    ) async throws {
        try await attack { server in
            let peer = try RawPeer(server.port)
            try peer.upgrade()
            peer.send(frame)
            let (failures, closed) = try peer.receiveProblems()
            #expect(closed.code == code, "\(name): \(closed)")
            #expect(!closed.reason.isEmpty, "\(name)")
            if code == 1008 { #expect(failures.map(\.code) == [.protocolViolation], "\(name)") }
        }
    }

    @Test func manyFragmentsOfOneMessage_areCutOffAtTheLimit() async throws {
        try await attack { server in
            let peer = try RawPeer(server.port)
            try peer.upgrade()
            peer.send(RawPeer.frame(2, [0], isFinal: false))
            let piece = RawPeer.frame(0, [UInt8](repeating: 0, count: 1 << 19), isFinal: false)
            for _ in 0..<80 { peer.send(piece) }
            // The rest of what was sent may turn the end into a reset.
            let closed = try peer.receiveProblems().closed
            #expect(closed.code == 1009 || closed.code == nil, "\(closed)")
        }
    }

    @Test func garbageInFrames_isAProtocolViolation() async throws {
        try await attack { server in
            var generator = SeededGenerator(seed: 2)
            for _ in 0..<60 {
                let peer = try RawPeer(server.port)
                try peer.upgrade()
                let length = Int.random(in: 1...3_000, using: &generator)
                peer.send(.binary, [UInt8.random(in: 0...1, using: &generator)] + generator.bytes(length))
                let (failures, closed) = try peer.receiveProblems()
                #expect(failures.map(\.code) == [.protocolViolation] && closed.code == 1008, "\(closed)")
            }
        }
    }

    // MARK: Giant claims

    /// A frame whose envelope is compressed: `count` zeros.
    private static func bomb(_ count: Int) -> [UInt8] {
        var writer = ByteWriter()
        writer.byte(1)
        writer.varint(UInt64(count))
        // One literal, a match at distance 1 for the rest but the five literals that a block ends with.
        var block: [UInt8] = [0x1F, 0, 1, 0]
        var rest = count - 6 - 4 - 15
        while rest >= 255 {
            block.append(255)
            rest -= 255
        }
        block += [UInt8(rest), 0x50, 0, 0, 0, 0, 0]
        return writer.bytes + block
    }

    @Test func claimsOfGiantLengths_costNothing() async throws {
        try await attack { server in
            var generator = SeededGenerator(seed: 4)
            func message(_ type: UInt8, _ fields: [UInt8]) -> [UInt8] {
                var writer = ByteWriter()
                writer.byte(0)
                writer.varint(UInt64(fields.count + 2))
                return writer.bytes + [type, 1] + fields
            }
            let huge: [UInt8] = [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x7F]
            var frames: [[UInt8]] = [
                [1] + huge + [0x10, 0], [0] + huge + [6, 1], message(6, huge), message(3, huge), message(0x0A, huge),
                message(4, [1] + huge), message(4, [1, 0, 1] + huge), message(6, [1, 1, 0, 0] + huge),
                message(6, [1, 1, 0, 0, 1, 0, 0, 2] + huge),
                message(6, [1, 1, 0, 0, 1, 0, 0, 1, 2, 1, 0, 0, 13] + huge),
            ]
            // The most that a frame may expand to, and far more than that.
            frames += [[UInt8]](repeating: Self.bomb(64 << 20), count: 4)
            frames.append([1] + huge.dropLast(5) + [0x7F] + generator.bytes(5_000))
            for (index, frame) in frames.enumerated() {
                let peer = try RawPeer(server.port)
                try peer.upgrade()
                peer.send(ClientMessage.hello(.init(features: [], agent: "hostile")))
                peer.send(.binary, frame)
                let (failures, closed) = try peer.receiveProblems()
                #expect(failures.last?.code == .protocolViolation && closed.code == 1008, "\(index): \(closed)")
            }
        }
    }

    // MARK: Almost right

    private static func conversation() throws -> [[UInt8]] {
        let schema = try Fixture.schema()
        let (counter, plane, flight) = (
            try #require(schema.index(of: "Counter")), try #require(schema.index(of: "Plane")),
            try #require(schema.index(of: "Flight"))
        )
        func changeset(_ sequence: UInt64, _ operations: ObjectOperation...) -> Changeset {
            Changeset(
                sequence: sequence, baseVersion: 0, timestamp: .init(microseconds: 1_700_000_000_000_000),
                operations: operations)
        }
        let query = "Flight WHERE delay > 1 AND plane.seats < 200 SORT(id ASC) LIMIT(5) EXCLUDE(stops)"
        let n1 = ObjectRef(plane, .string("N1"))
        let messages: [ClientMessage] = [
            .hello(.init(features: [.resume, .reports], agent: "mutant")),
            .open(.init(session: 1, path: "hostile", schema: schema)),
            .subscribe(.init(session: 1, subscription: 1, query: query)),
            .subscribe(
                .init(
                    session: 1, subscription: 2, query: "Plane",
                    resume: .init(version: 1, queryHash: ObjectID(high: 1, low: 2), memberCount: 3))),
            .upload(
                session: 1,
                changesets: [
                    changeset(1, .init(n1, .create([.init(1, .set(.int(100)))]))),
                    changeset(
                        2, .init(ObjectRef(counter, .string("a")), .create([])),
                        .init(ObjectRef(counter, .string("a")), .update([.init(1, .add(.int(3)))]))),
                    changeset(
                        3,
                        .init(
                            ObjectRef(flight, .int(7)),
                            .create([
                                .init(1, .set(.link(.string("N1")))),
                                .init(2, .set(.list([.link(.string("N1")), .link(.string("N2"))]))),
                                .init(3, .set(.double(61.5))), .init(4, .set(.string("late"))),
                                .init(5, .set(.date(Timestamp(microseconds: 1_357_034_400_000_000)))),
                            ]))),
                ]),
            .credit(session: 1, pages: 3),
            .reportRequest(.init(session: 1, request: 1, topic: .status)),
            .declare(
                session: 1,
                schema: try Schema([
                    try ClassSchema("Extra", properties: [Property("x", .scalar(.int, isOptional: true))])
                ])),
            .authenticate(session: 1, credentials: []),
            .upload(session: 1, changesets: [changeset(4, .init(n1, .delete))]),
            .unsubscribe(session: 1, subscription: 1),
            .close(session: 1),
        ]
        return messages.map { Frame.encode($0) }
    }

    @Test(arguments: [1 as UInt64, 2, 3])
    func mutatedFrames_harmOnlyTheirConnection(seed: UInt64) async throws {
        let frames = try Self.conversation()
        try await attack { server in
            var generator = SeededGenerator(seed: seed)
            for round in 0..<80 {
                var mutated = frames
                let victim = Int.random(in: frames.indices, using: &generator)
                for _ in 0..<Int.random(in: 1...3, using: &generator) { mutated[victim].mutate(&generator) }
                let peer = try RawPeer(server.port)
                try peer.upgrade()
                for frame in mutated { peer.send(.binary, frame) }
                // An answer to the ping, or the end: whatever was sent has been read.
                peer.send(.ping, [42])
                do {
                    while try peer.receive().opcode != .pong {}
                } catch is RawPeer.Closed {}
                #expect(server.process.isRunning, "seed \(seed), round \(round): \(server.process.crash)")
            }
        }
    }

    /// Numbers at the edge of what they may be, in messages that are otherwise right.
    @Test func numbersAtTheirEdges_areTakenOrRefused() async throws {
        let schema = try Fixture.schema()
        let flight = try #require(schema.index(of: "Flight"))
        let counter = try #require(schema.index(of: "Counter"))
        func upload(_ sequence: UInt64, base: UInt64 = 0, at time: Int64 = 0, _ operation: ObjectOperation)
            -> ClientMessage
        {
            .upload(
                session: 1,
                changesets: [
                    Changeset(
                        sequence: sequence, baseVersion: base, timestamp: .init(microseconds: time),
                        operations: [operation])
                ])
        }
        let create = ObjectOperation(ObjectRef(counter, .string("x")), .create([]))
        let conversations: [[ClientMessage]] = [
            [.credit(session: 1, pages: .max), .credit(session: 1, pages: .max)],
            [upload(.max, create), upload(.max, create), upload(1, create), upload(.max - 1, create)],
            [upload(0, create), upload(1, create)],
            [upload(1, base: .max, at: .max, create), upload(2, base: .max, at: .min, create)],
            [
                upload(1, .init(ObjectRef(counter, .string("n")), .create([.init(1, .set(.int(.max)))]))),
                upload(2, .init(ObjectRef(counter, .string("n")), .update([.init(1, .add(.int(.max)))]))),
                upload(3, .init(ObjectRef(counter, .string("n")), .update([.init(1, .add(.int(.min)))]))),
            ],
            [
                .subscribe(.init(session: 1, subscription: .max, query: "Flight SORT(at ASC, delay DESC) LIMIT(9)")),
                upload(
                    1, .init(ObjectRef(flight, .int(.min)), .create([.init(5, .set(.date(.init(microseconds: .min))))]))
                ),
                upload(
                    2, .init(ObjectRef(flight, .int(.max)), .create([.init(5, .set(.date(.init(microseconds: .max))))]))
                ),
                upload(3, .init(ObjectRef(flight, .int(0)), .create([.init(3, .set(.double(.nan)))]))),
                upload(4, .init(ObjectRef(flight, .int(1)), .create([.init(3, .set(.double(-.infinity)))]))),
            ],
            [
                .subscribe(
                    .init(
                        session: 1, subscription: 0, query: "Plane",
                        resume: .init(version: .max, queryHash: ObjectID(high: .max, low: .max), memberCount: .max))),
                .subscribe(.init(session: 1, subscription: 1, query: "Plane LIMIT(9223372036854775807)")),
                .subscribe(.init(session: 1, subscription: 2, query: "Plane LIMIT(99999999999999999999)")),
                .subscribe(.init(session: 1, subscription: 3, query: "Plane LIMIT(0)")),
                .subscribe(.init(session: 1, subscription: 4, query: "Plane WHERE seats > 9223372036854775807")),
                .subscribe(.init(session: 1, subscription: 5, query: "Flight WHERE delay > 1e999")),
                .subscribe(.init(session: 1, subscription: 6, query: String(repeating: "(", count: 200_000))),
                .subscribe(
                    .init(
                        session: 1, subscription: 7,
                        query: "Plane WHERE " + String(repeating: "NOT ", count: 100_000) + "seats > 1")),
                .subscribe(
                    .init(
                        session: 1, subscription: 8,
                        query: "Plane WHERE " + String(repeating: "seats > 1 AND ", count: 20_000) + "seats > 1")),
                .unsubscribe(session: 1, subscription: .max),
            ],
            [.close(session: .max), .credit(session: 0, pages: 1), .unsubscribe(session: 2, subscription: 1)],
            [.reportRequest(.init(session: 1, request: .max, topic: .init(rawValue: .max), argument: "x"))],
        ]
        try await attack { server in
            for (index, conversation) in conversations.enumerated() {
                let peer = try RawPeer(server.port)
                let failure: ServerMessage.Failure?
                do {
                    try peer.open("edges", schema: schema)
                    for message in conversation { peer.send(message) }
                    failure = try peer.settle()
                } catch {
                    throw Failure("\(index): \(error) \(server.process.crash)")
                }
                #expect(
                    failure.map { $0.code == .protocolViolation } ?? true, "\(index): \(String(describing: failure))")
                #expect(server.process.isRunning, "\(index): \(server.process.crash)")
            }
        }
        try await withServer { server in
            // What was stored at the edges can be printed.
            try await blocking {
                let peer = try RawPeer(server.port)
                try peer.open("edges", schema: schema)
                for message in conversations[5] { peer.send(message) }
                #expect(try peer.settle() == nil)
            }
            for format in ["jsonl", "table"] {
                let exit = try await Tool.run(
                    "query", server.url("edges"), "Flight SORT(at DESC)", "--format=\(format)")
                #expect(exit.code == 0, "\(exit)")
                #expect(exit.lines.count >= 4)
            }
        }
    }

    // MARK: Too much

    @Test func moreSubscriptionsThanAllowed_areRefusedOneByOne() async throws {
        try await attack { server in
            let peer = try RawPeer(server.port)
            try peer.open(schema: Fixture.schema())
            let limit: UInt64 = 10_000
            for start in stride(from: 1, through: limit + 20, by: 500) {
                var frame = FrameBuilder()
                for number in start..<min(start + 500, limit + 21) {
                    frame.append(
                        ClientMessage.subscribe(
                            .init(session: 1, subscription: number, query: "Plane WHERE seats > \(number % 50)")))
                }
                frame.append(ClientMessage.credit(session: 1, pages: 8))
                peer.send(.binary, frame.finish())
            }
            for _ in 0..<20 {
                let refused = try peer.receive {
                    if case .subscriptionError(let error) = $0 { error } else { nil }
                }
                #expect(refused.code == .limitExceeded && refused.subscription > limit)
            }
            #expect(try peer.settle() == nil)
            // One that ends makes room for another.
            peer.send(
                .unsubscribe(session: 1, subscription: 1),
                .subscribe(.init(session: 1, subscription: limit + 99, query: "Boat")))
            let refused = try peer.receive { if case .subscriptionError(let error) = $0 { error } else { nil } }
            #expect(refused.code == .unknownName)
        }
    }

    @Test func moreSessionsThanAllowed_areRefused() async throws {
        try await attack { server in
            let peer = try RawPeer(server.port)
            try peer.open(schema: Fixture.schema())
            for number in 2...70 {
                peer.send(
                    ClientMessage.open(
                        .init(session: UInt64(number), path: "d\(number)", options: .readOnly, schema: Schema())))
            }
            let failure = try peer.receive { if case .error(let failure) = $0 { failure } else { nil } }
            #expect(failure.code == .limitExceeded && failure.session == 65 && failure.action == .stop)
            #expect(try peer.settle() != nil)
        }
    }

    // MARK: Uploads that do not fit the schema

    private static let badOperations: [(name: String, message: String)] = [
        ("an unknown class", "no class"), ("an unknown property", "no property"), ("a wrong type", "Plane.seats"),
        ("a null where none may be", "Plane.seats"), ("an addition to text", "Flight.note"),
        ("an addition of another type", "Plane.seats"), ("a key of the wrong kind", "Plane names"),
        ("another primary key", "primary key"), ("a link whose key is of the wrong kind", "Flight.plane"),
        ("a link in a list whose key is of the wrong kind", "Flight.stops"),
        ("a link where a number belongs", "Plane.seats"),
        ("a list where one value belongs", "Flight.delay"),
    ]

    private static func badOperation(_ index: Int, _ schema: Schema) throws -> ObjectOperation {
        let plane = try #require(schema.index(of: "Plane"))
        let flight = try #require(schema.index(of: "Flight"))
        let n1 = ObjectRef(plane, .string("N1"))
        let f1 = ObjectRef(flight, .int(1))
        return switch index {
        case 0: .init(ObjectRef(77, .int(1)), .create([]))
        case 1: .init(n1, .create([.init(30, .set(.int(1)))]))
        case 2: .init(n1, .create([.init(1, .set(.string("many")))]))
        case 3: .init(n1, .create([.init(1, .set(.null))]))
        case 4: .init(f1, .update([.init(4, .add(.int(1)))]))
        case 5: .init(n1, .update([.init(1, .add(.double(1)))]))
        case 6: .init(ObjectRef(plane, .int(5)), .create([]))
        case 7: .init(n1, .create([.init(0, .set(.string("N2")))]))
        case 8: .init(f1, .create([.init(1, .set(.link(.int(5))))]))
        case 9: .init(f1, .create([.init(2, .set(.list([.link(.string("N1")), .link(.id(.init(high: 1, low: 1)))])))]))
        case 10: .init(n1, .create([.init(1, .set(.link(.string("N2"))))]))
        default: .init(f1, .create([.init(3, .set(.list([.double(1)])))]))
        }
    }

    @Test(arguments: badOperations.indices)
    func anUploadThatDoesNotFit_isRejectedAndReported_andTheSessionLives(index: Int) async throws {
        let schema = try Fixture.schema()
        let expected = Self.badOperations[index]
        let bad = try Self.badOperation(index, schema)
        let good = ObjectOperation(
            ObjectRef(try #require(schema.index(of: "Plane")), .string("N9")), .create([.init(1, .set(.int(9)))]))
        try await attack { server in
            let peer = try RawPeer(server.port)
            try peer.open(schema: schema)
            func upload(_ sequence: UInt64, _ operations: ObjectOperation...) {
                peer.send(
                    ClientMessage.upload(
                        session: 1,
                        changesets: [
                            Changeset(
                                sequence: sequence, baseVersion: 0, timestamp: .init(microseconds: 1),
                                operations: operations)
                        ]))
            }
            // What is right in the same transaction goes with what is not.
            upload(1, good, bad)
            let rejected = try peer.receive { if case .rejected(let rejected) = $0 { rejected } else { nil } }
            #expect(rejected.refusal.sequence == 1, "\(expected.name)")
            #expect(rejected.refusal.reasons.map(\.code) == [.invalidOperation], "\(expected.name)")
            #expect(rejected.refusal.reasons.first?.object == bad.object, "\(expected.name)")
            let message = rejected.refusal.reasons.first?.message ?? ""
            #expect(message.contains(expected.message), "\(expected.name): \(message)")
            let acknowledged = try peer.receive {
                if case .commit(let commit) = $0 { commit.header.acknowledged } else { nil }
            }
            #expect(acknowledged == 1, "\(expected.name)")
            peer.send(ClientMessage.subscribe(.init(session: 1, subscription: 1, query: "Plane")))
            var rows = 0
            func complete() throws {
                _ = try peer.receive { message -> Bool? in
                    if case .page(let page) = message {
                        rows += page.content.objects.groups.reduce(0) { $0 + $1.keys.count }
                    }
                    if case .complete = message { return true }
                    return nil
                }
            }
            try complete()
            #expect(rows == 0, "\(expected.name): part of a rejected transaction was applied")
            upload(2, good)
            let next = try peer.receive {
                if case .commit(let commit) = $0 { commit.header.acknowledged } else { nil }
            }
            #expect(next == 2, "\(expected.name)")
            #expect(try peer.settle() == nil)
        }
    }

    // MARK: Slowness

    @Test func aReaderThatNeverReads_isCutOff_whileOthersWork() async throws {
        try await withServer(options: ["--log-level=warning"]) { server in
            let peer = try await blocking { [port = server.port] in
                let peer = try RawPeer(port, receiveBufferSize: 4_096)
                try peer.open("slow", schema: Fixture.schema())
                peer.send(ClientMessage.subscribe(.init(session: 1, subscription: 1, query: "Entry")))
                return Sole(peer)
            }
            let before = try server.process.memory()
            try await Fixture.withStore(server.url("slow")) { store in
                var generator = SeededGenerator(seed: 3)
                let filling = generator.text(1 << 20)
                for number in 0..<90 {
                    let entry = try Record(
                        Fixture.entry.get(),
                        ["number": .int(Int64(number)), "payload": .string(filling)])
                    try await store.write { try $0.insert(entry) }
                    try await store.uploaded(timeout: waitMax)
                    if number % 30 == 0 { try await server.expectService() }
                }
            }
            try await server.process.line(.diagnostics, with: "too slow")
            let peak = try server.process.memory("VmHWM")
            #expect(peak - before < Self.growthMax, "grew from \(before) kB to \(peak) kB")
            try await server.expectService("slow")
            withExtendedLifetime(peer) {}
        }
    }

    /// One owner at a time.
    private struct Sole: @unchecked Sendable {
        // Sound because the peer is made in one place and only kept alive in the other.
        let peer: RawPeer

        init(_ peer: RawPeer) { self.peer = peer }
    }
}

extension [UInt8] {
    /// Changes a frame a little.
    fileprivate mutating func mutate(_ generator: inout SeededGenerator) {
        guard !isEmpty else { return }
        let position = Int.random(in: indices, using: &generator)
        switch Int.random(in: 0..<7, using: &generator) {
        case 0: self[position] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        case 1: self[position] = UInt8.random(in: 0...255, using: &generator)
        case 2: self[position] = 0xFF
        case 3: removeSubrange(position...)
        case 4: insert(contentsOf: generator.bytes(Int.random(in: 1...9, using: &generator)), at: position)
        case 5: insert(contentsOf: self[position...].prefix(20), at: position)
        default: self[position] = self[position] &+ 1
        }
    }
}
