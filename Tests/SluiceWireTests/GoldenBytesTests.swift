import Foundation
import SluiceModel
import Testing

@testable import SluiceWire

/// The examples of PROTOCOL.md, byte for byte.
@Suite struct GoldenBytesTests {
    @Test(arguments: ["hello", "open", "upload", "commit", "queue", "queue answer"])
    func exampleHasTheBytesThatTheDocumentShows(name: String) throws {
        let document = try String(
            contentsOf: URL(filePath: #filePath).deletingLastPathComponent()
                .appending(path: "../../PROTOCOL.md").standardizedFileURL, encoding: .utf8)
        let lines = document.split(separator: "\n", omittingEmptySubsequences: false)
        let start = try #require(lines.firstIndex(of: "```hex \(name)"), "PROTOCOL.md shows no \(name)")
        var digits = ""
        for line in lines[(start + 1)...].prefix(while: { $0 != "```" }) {
            // The bytes end at the first two spaces in a row.
            let end = line.firstRange(of: "  ")?.lowerBound ?? line.endIndex
            digits += line[..<end].filter { $0 != " " }
        }
        let bytes = Hexadecimal.encode(try #require(Self.examples()[name]))
        #expect(digits == bytes, "the bytes are \(bytes)")
    }

    private static func examples() throws -> [String: [UInt8]] {
        let car = try ClassSchema(
            "Car", primaryKey: "vin",
            properties: [
                Property("vin", .scalar(.string)), Property("price", .scalar(.double), isIndexed: true),
                Property("doors", .scalar(.int), default: .int(4)), Property("dealer", .link("Dealer")),
            ])
        let schema = try Schema([car, try ClassSchema("Dealer", properties: [Property("name", .scalar(.string))])])
        let hello = ClientMessage.hello(.init(features: [], agent: "example/1"))
        let open = ClientMessage.open(
            .init(
                session: 1, path: "cars", credentials: [WireCredentials(.token, Array("abc".utf8))],
                identity: ClientIdentity(
                    databaseID: ObjectID(high: 1, low: 2), epoch: 3, clientID: 300,
                    nonce: ObjectID(high: 0x0123_4567_89AB_CDEF, low: 0xFEDC_BA98_7654_3210)),
                version: 1000, acknowledged: 41, schema: schema))
        let creations = (0..<16).map { index in
            ObjectOperation(
                ObjectRef(0, .string("JT\(index + 10)")),
                .create([FieldOperation(1, .set(.double(9000.5))), FieldOperation(2, .set(.int(4)))]))
        }
        let upload = ClientMessage.upload(
            session: 1,
            changesets: [
                Changeset(
                    sequence: 42, baseVersion: 1000, timestamp: HybridTimestamp(microseconds: 1_357_034_400_000_000),
                    operations: creations + [ObjectOperation(ObjectRef(0, .string("JT9")), .delete)])
            ])
        var block = ObjectBlock()
        for (index, price) in [9000.5, 8999.25, 7000].enumerated() {
            block.append(
                Row(
                    key: .string("JT\(index)"), version: 1001,
                    values: [.string("JT\(index)"), .double(price), .int(4), .null]),
                classIndex: 0, role: .root, properties: [0, 1, 2, 3])
        }
        let commit = ServerMessage.commit(
            .init(
                CommitHeader(
                    session: 1, version: 1001, acceptedAt: Timestamp(microseconds: 1_357_034_400_000_000),
                    acknowledged: 5),
                blocks: [
                    .init(
                        subscriptions: [7],
                        content: ViewBlock(
                            authors: [
                                CommitAuthor(
                                    version: 1001, userID: "ann", clientID: 300, kinds: [.create],
                                    acceptedAt: Timestamp(microseconds: 1_357_034_400_000_000))
                            ],
                            objects: block,
                            departures: [.init(ObjectRef(0, .string("JT9")), role: .root, reason: .window)]))
                ]))
        return [
            "hello": Frame.encode(hello), "open": Frame.encode(open), "upload": Frame.encode(upload),
            "commit": Frame.encode(commit), "queue": Frame.encode(queue()),
            "queue answer": Frame.encode(try queueAnswer()),
        ]
    }

    private static func queue() -> ClientMessage {
        .job(
            .init(
                session: 1, request: 5,
                question: .queue(
                    name: "mail", query: "Mail WHERE isSent == false", after: .string("M1"), rowCountMax: 64,
                    withPartitions: true)))
    }

    private static func queueAnswer() throws -> ServerMessage {
        let mail = try ClassSchema(
            "Mail", primaryKey: "id",
            properties: [Property("id", .scalar(.string)), Property("isSent", .scalar(.bool))])
        let now = Timestamp(microseconds: 1_357_034_400_000_000)
        let claim = JobRecord(
            .init(space: QueueClaim.space("mail"), name: DeadLetterRecord.name(of: "Mail", .string("M2"))),
            due: Timestamp(microseconds: now.microseconds + 30_000_000),
            value: QueueClaim(holder: 0x0123_4567_89AB_CDEF, attemptCount: 1).wireBytes())
        let row = Row(key: .string("M2"), version: 1001, values: [.string("M2"), .bool(false)])
        let rows = QueueRows(
            [QueueRow(row, claim: claim, dead: nil)], after: 0, isLast: true, schema: try Schema([mail]), classIndex: 0,
            at: now, nextDue: claim.due, busyPartitions: ["a"], epochs: [Epoch(id: 0x0102_0304_0506_0708, start: 900)])
        var writer = ByteWriter()
        rows.encode(into: &writer)
        return .report(session: 1, request: 5, json: writer.bytes)
    }
}
