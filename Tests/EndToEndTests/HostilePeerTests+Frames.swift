import Foundation
import Sluice
import SluiceModel
import SluiceWire
import TestSupport
import Testing

/// Frames with wrong numbers, and frames that differ a little from those of a client.
extension HostilePeerTests {
    /// A frame whose compressed envelope expands to `count` zeros.
    private static func bomb(_ count: Int) -> [UInt8] {
        var writer = ByteWriter()
        writer.byte(1)
        writer.varint(UInt64(count))
        // One literal, a match at distance 1, and the five literals that must end a block.
        var block: [UInt8] = [0x1F, 0, 1, 0]
        var rest = count - 6 - 4 - 15
        while rest >= 255 {
            block.append(255)
            rest -= 255
        }
        block += [UInt8(rest), 0x50, 0, 0, 0, 0, 0]
        return writer.bytes + block
    }

    @Test func claimsOfGiantLengthsCostNothing() async throws {
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
            // The maximum size of an expanded frame, and far more than that.
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
            .hello(.init(features: .all, agent: "mutant")),
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
    func mutatedFramesHarmOnlyTheirConnection(seed: UInt64) async throws {
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
                // The answer to the ping, or the end of the connection, shows that the server has read everything.
                peer.send(.ping, [42])
                do {
                    while try peer.receive().opcode != .pong {}
                } catch is RawPeer.Closed {}
                #expect(server.process.isRunning, "seed \(seed), round \(round): \(server.process.crash)")
            }
        }
    }

    /// Numbers at the ends of their ranges, in messages that are otherwise correct.
    @Test func numbersAtTheirEdgesAreTakenOrRefused() async throws {
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
            // The stored edge values can be printed.
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
